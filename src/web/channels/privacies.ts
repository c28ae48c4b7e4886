import type { ChannelPrivacy } from '../generated/graphql.ts';
import type { useRights } from '../people/use-viewer.ts';

export const PRIVACIES = [
  ['PUBLIC', 'Public: all users except guests can find and join it'],
  ['PRIVATE', 'Private: new subscribers see only messages sent after they join'],
  ['PRIVATE_SHARED_HISTORY', 'Private: new subscribers see the full history'],
  ['WEB_PUBLIC', 'Public on the web: can be read without an account'],
] as const satisfies readonly (readonly [ChannelPrivacy, string])[];

/** Returns whether users who are not subscribed can find the channel. */
export const isPublic = (privacy: ChannelPrivacy): boolean => privacy === 'PUBLIC' || privacy === 'WEB_PUBLIC';

/** Returns the privacy levels that the viewer can give to a channel. */
export function privaciesFor(rights: ReturnType<typeof useRights>): readonly ChannelPrivacy[] {
  const may = {
    PUBLIC: rights.viewerCanCreatePublicChannels,
    PRIVATE: rights.viewerCanCreatePrivateChannels,
    PRIVATE_SHARED_HISTORY: rights.viewerCanCreatePrivateChannels,
    WEB_PUBLIC: rights.viewerCanCreateWebPublicChannels,
  };
  return PRIVACIES.flatMap(([privacy]) => (may[privacy] === true ? [privacy] : []));
}
