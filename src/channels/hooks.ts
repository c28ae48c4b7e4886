import type { Emit } from '../events/log.ts';
import type { Channel } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

// What happens to channels is told to features that stand above them, and that channels know nothing of. Who is told is
// said where the service is put together (server/start.ts).

/** Acts, in the same change, on a channel's new name. */
type WhenRenamed = (tx: Tx, emit: Emit, channel: Pick<Channel, 'id' | 'realmId' | 'name'>) => Promise<void>;

/** That a user was subscribed to a channel. */
export interface LeftChannel {
  readonly userId: number;
  readonly channelId: number;
}

/** Acts, in the same change, on users' leaving channels. */
interface WhenLeft {
  /** Before the organisation waits: may take locks of users. */
  before(tx: Tx, realmId: number, left: readonly LeftChannel[]): Promise<void>;
  /** With the id of the event that tells of it, when nothing more can be sent before it. */
  atTheEnd(tx: Tx, realmId: number, left: readonly LeftChannel[]): Promise<void>;
}

const renamed = new Set<WhenRenamed>();
const left = new Set<WhenLeft>();

/** Has a feature told of channels' new names. Saying it again changes nothing. */
export const whenRenamed = (act: WhenRenamed): void => void renamed.add(act);

/** Has a feature told of those who leave channels. Saying it again changes nothing. */
export const whenLeft = (act: WhenLeft): void => void left.add(act);

/** Tells of a channel's new name. */
export const tellRenamed: WhenRenamed = async (...change) => {
  for (const act of renamed) await act(...change);
};

/** Tells of those who leave channels. */
export const tellLeft: WhenLeft = {
  async before(...change) {
    for (const act of left) await act.before(...change);
  },
  async atTheEnd(...change) {
    for (const act of left) await act.atTheEnd(...change);
  },
};
