import type { Emit } from '../events/log.ts';
import type { Channel, Organization } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

// Features that depend on channels register callbacks here, because the files of this folder cannot import those features.
// `server/start.ts` registers the callbacks.

/** A callback that runs in the transaction that renames a channel. */
type WhenRenamed = (tx: Tx, emit: Emit, channel: Pick<Channel, 'id' | 'organizationId' | 'name'>) => Promise<void>;

/** A subscription of a user that ended. */
export interface LeftChannel {
  readonly userId: number;
  readonly channelId: number;
}

/** Callbacks that run in the transaction in which users leave channels. */
interface WhenLeft {
  /**
   * Runs before the transaction locks the event counter. Other changes of the organization wait for that lock, so slow work
   * belongs in this callback. It can lock rows of users.
   */
  before(tx: Tx, organizationId: number, left: readonly LeftChannel[]): Promise<void>;
  /**
   * Runs after the event that ends the subscriptions received its id. The event log is locked, so messages that are sent later
   * come after this event in the log.
   */
  atTheEnd(tx: Tx, organizationId: number, left: readonly LeftChannel[]): Promise<void>;
}

/** The organization and the time of a change. */
export interface AccessContext {
  readonly organization: Organization;
  readonly now: Date;
}

/** The channels and the users for which a change can have revoked access. An absent field means all channels or all users. */
export interface AccessScope {
  readonly channelIds?: readonly number[];
  readonly userIds?: readonly number[];
}

/** A callback that runs in the transaction of a change, after the rows that may remove access to channels are written. */
type WhenAccessChanged = (tx: Tx, emit: Emit, context: AccessContext, scope: AccessScope) => Promise<void>;

const renamed = new Set<WhenRenamed>();
const left = new Set<WhenLeft>();
const accessChanged = new Set<WhenAccessChanged>();

/** Registers a callback that runs when a channel is renamed. Idempotent. */
export const whenRenamed = (act: WhenRenamed): void => void renamed.add(act);

/** Registers a callback that runs when users leave channels. Idempotent. */
export const whenLeft = (act: WhenLeft): void => void left.add(act);

/** Registers a callback that runs when users may have lost access to channels. Idempotent. */
export const whenAccessChanged = (act: WhenAccessChanged): void => void accessChanged.add(act);

/** Runs the callbacks for a renamed channel. */
export const publishRename: WhenRenamed = async (...change) => {
  for (const act of renamed) await act(...change);
};

/** Runs the callbacks for users who leave channels. */
export const afterLeaving: WhenLeft = {
  async before(...change) {
    for (const act of left) await act.before(...change);
  },
  async atTheEnd(...change) {
    for (const act of left) await act.atTheEnd(...change);
  },
};

/** Runs the callbacks for users who may have lost access to channels. */
export const publishAccessChange: WhenAccessChanged = async (...change) => {
  for (const act of accessChanged) await act(...change);
};
