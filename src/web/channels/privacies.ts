import type { useRights } from '../conversation/use-viewer.ts';

export type Privacy = 'public' | 'private' | 'private-shared' | 'web-public';

export const PRIVACIES = [
  ['public', 'Public: everyone but guests can find and join it'],
  ['private', 'Private: who joins sees what comes after'],
  ['private-shared', 'Private, with all of its history'],
  ['web-public', 'Open to the web: read without an account'],
] as const satisfies readonly (readonly [Privacy, string])[];

/** As the service takes it. */
export const privacyInput = (privacy: Privacy) => ({
  isPrivate: privacy === 'private' || privacy === 'private-shared',
  isWebPublic: privacy === 'web-public',
  historyPublicToSubscribers: privacy !== 'private',
});

/** Those that the viewer may give a channel. */
export function privaciesFor(rights: ReturnType<typeof useRights>): readonly Privacy[] {
  const may = {
    public: rights.viewerCanCreatePublicChannels,
    private: rights.viewerCanCreatePrivateChannels,
    'private-shared': rights.viewerCanCreatePrivateChannels,
    'web-public': rights.viewerCanCreateWebPublicChannels,
  };
  return PRIVACIES.flatMap(([privacy]) => (may[privacy] === true ? [privacy] : []));
}
