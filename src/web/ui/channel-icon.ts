import type { ChannelPrivacy } from '../generated/graphql.ts';
import type { IconName } from './icons.tsx';

/** Returns the icon that shows which users can read a channel. @param privacy Undefined if it is not known yet. */
export function channelIcon(privacy: ChannelPrivacy | undefined): IconName {
  if (privacy === 'WEB_PUBLIC') return 'globe';
  return privacy === 'PRIVATE' || privacy === 'PRIVATE_SHARED_HISTORY' ? 'lock' : 'hash';
}
