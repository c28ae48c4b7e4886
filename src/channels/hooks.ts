import type { Ctx } from '../access/context.ts';
import type { Emit } from '../events/log.ts';
import type { Channel, Organization } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';

// Features that depend on channels register callbacks here, because the files of this folder cannot import those features.
// `server/start.ts` registers the callbacks.

/** A callback that runs in the transaction that renames a channel. */
type WhenRenamed = (tx: Tx, emit: Emit, channel: Pick<Channel, 'id' | 'organizationId' | 'name'>) => Promise<void>;

/** A channel that the viewer of `ctx` creates or changes. */
export interface ChannelChange {
  readonly ctx: Ctx;
  /** The channel before the change. Undefined for a new channel. */
  readonly before: Channel | undefined;
  readonly channel: Channel;
  /** Whether the viewer wants a new channel to be announced. */
  readonly isAnnounced?: boolean | undefined;
}

/** A callback that runs in the transaction that creates or changes a channel, while messages can be added to the channel. */
type WhenChanged = (tx: Tx, emit: Emit, change: ChannelChange) => Promise<void>;

/** The channels to which the viewer of `ctx` has subscribed another user. */
export interface SubscribedByOther {
  readonly ctx: Ctx;
  readonly userId: number;
  readonly channels: readonly Channel[];
}

/** A callback that runs in the transaction in which the viewer subscribes another user. */
type WhenSubscribed = (tx: Tx, emit: Emit, subscribed: SubscribedByOther) => Promise<void>;

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
const changed = new Set<WhenChanged>();
const subscribed = new Set<WhenSubscribed>();
const left = new Set<WhenLeft>();
const accessChanged = new Set<WhenAccessChanged>();

/** Registers a callback that runs when a channel is renamed. Idempotent. */
export const whenRenamed = (act: WhenRenamed): void => void renamed.add(act);

/** Registers a callback that runs when a channel is created or changed. Idempotent. */
export const whenChanged = (act: WhenChanged): void => void changed.add(act);

/** Registers a callback that runs when a user subscribes another user. Idempotent. */
export const whenSubscribed = (act: WhenSubscribed): void => void subscribed.add(act);

/** Registers a callback that runs when users leave channels. Idempotent. */
export const whenLeft = (act: WhenLeft): void => void left.add(act);

/** Registers a callback that runs when users may have lost access to channels. Idempotent. */
export const whenAccessChanged = (act: WhenAccessChanged): void => void accessChanged.add(act);

/** Runs the callbacks for a renamed channel. */
export const publishRename: WhenRenamed = async (...change) => {
  for (const act of renamed) await act(...change);
};

/** Runs the callbacks for a new or changed channel. */
export const publishChange: WhenChanged = async (...change) => {
  for (const act of changed) await act(...change);
};

/** Runs the callbacks for a user whom the viewer has subscribed. */
export const publishSubscribed: WhenSubscribed = async (...change) => {
  for (const act of subscribed) await act(...change);
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
