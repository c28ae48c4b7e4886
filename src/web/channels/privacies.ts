import type { useRights } from '../conversation/use-viewer.ts';

export type Privacy = 'public' | 'private' | 'private-shared' | 'web-public';

export const PRIVACIES = [
  ['public', 'Public: all users except guests can find and join it'],
  ['private', 'Private: new subscribers see only messages sent after they join'],
  ['private-shared', 'Private: new subscribers see the full history'],
  ['web-public', 'Public on the web: can be read without an account'],
] as const satisfies readonly (readonly [Privacy, string])[];

/** Returns a privacy level as input for the service. */
export const privacyInput = (privacy: Privacy) => ({
  isPrivate: privacy === 'private' || privacy === 'private-shared',
  isWebPublic: privacy === 'web-public',
  historyPublicToSubscribers: privacy !== 'private',
});

/** Returns the privacy levels that the viewer can give to a channel. */
export function privaciesFor(rights: ReturnType<typeof useRights>): readonly Privacy[] {
  const may = {
    public: rights.viewerCanCreatePublicChannels,
    private: rights.viewerCanCreatePrivateChannels,
    'private-shared': rights.viewerCanCreatePrivateChannels,
    'web-public': rights.viewerCanCreateWebPublicChannels,
  };
  return PRIVACIES.flatMap(([privacy]) => (may[privacy] === true ? [privacy] : []));
}
