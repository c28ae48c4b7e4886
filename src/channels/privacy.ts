import type { Privacy } from './settings.ts';

/** How open a channel is: the users who can read it, and whether new subscribers can read its history. */
export const CHANNEL_PRIVACIES = {
  public: { inviteOnly: false, isWebPublic: false, historyPublicToSubscribers: true },
  'web-public': { inviteOnly: false, isWebPublic: true, historyPublicToSubscribers: true },
  private: { inviteOnly: true, isWebPublic: false, historyPublicToSubscribers: false },
  'private-shared-history': { inviteOnly: true, isWebPublic: false, historyPublicToSubscribers: true },
} as const satisfies Readonly<Record<string, Privacy>>;

export type ChannelPrivacy = keyof typeof CHANNEL_PRIVACIES;

export function privacyOf({ isWebPublic, inviteOnly, historyPublicToSubscribers }: Privacy): ChannelPrivacy {
  if (isWebPublic) return 'web-public';
  if (!inviteOnly) return 'public';
  return historyPublicToSubscribers ? 'private-shared-history' : 'private';
}

/** Returns the properties of a channel that a privacy determines, as `createChannel` and `updateChannel` take them. */
export function privacyOptions(privacy: ChannelPrivacy) {
  const { inviteOnly, ...options } = CHANNEL_PRIVACIES[privacy];
  return { ...options, isPrivate: inviteOnly };
}
