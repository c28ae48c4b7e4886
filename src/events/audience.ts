import { ADMINISTRATOR, GUEST, isOwner, OWNER } from '../platform/roles.ts';

/**
 * The recipients of an event, described by conditions instead of a list of users: (users with a role of at most `maxRole`) ∪
 * (subscribers of `channelIds` at the event's id) ∪ `userIds` − `exceptUserIds`.
 */
export interface Audience {
  /** Users with this role number or a lower one, which means more rights, receive the event. Null: the role is irrelevant. */
  readonly maxRole: number | null;
  /** Channels whose subscribers receive the event, at most two. */
  readonly channelIds: readonly number[];
  readonly userIds: readonly number[];
  readonly exceptUserIds: readonly number[];
  /** The public channel of a message, for queues that receive the messages of all public channels. Null for other events. */
  readonly publicChannelId: number | null;
}

const NO_RECIPIENTS: Audience = {
  maxRole: null,
  channelIds: [],
  userIds: [],
  exceptUserIds: [],
  publicChannelId: null,
};

/** Returns an audience without recipients: the event is for the service itself. */
export const noRecipients = (): Audience => NO_RECIPIENTS;

/** Returns the audience of all users of the organization. */
export const everyone = (): Audience => roleAtMost(GUEST);

/** Returns the audience of users with `role` or more rights: `ADMINISTRATOR` means administrators and owners. */
export const roleAtMost = (role: number): Audience => ({ ...NO_RECIPIENTS, maxRole: role });

/**
 * Returns the audience of the users who administer the account of a user with `role`: owners and, unless it is the account of an
 * owner, administrators.
 */
export const administratorsOf = (role: number): Audience => roleAtMost(isOwner(role) ? OWNER : ADMINISTRATOR);

/** Returns the audience of the users who are subscribed to the channel when the event happens. */
export const subscribersOf = (channelId: number): Audience => ({ ...NO_RECIPIENTS, channelIds: [channelId] });

/** Returns the audience of the listed users. */
export const users = (userIds: readonly number[]): Audience => ({ ...NO_RECIPIENTS, userIds: [...new Set(userIds)] });

/**
 * Returns the union of two audiences.
 *
 * @throws Error if one of the audiences excludes users.
 */
export function either(a: Audience, b: Audience): Audience {
  if (a.exceptUserIds.length > 0 || b.exceptUserIds.length > 0)
    throw new Error('Combine audiences before you exclude users');
  return {
    maxRole: a.maxRole === null ? b.maxRole : b.maxRole === null ? a.maxRole : Math.max(a.maxRole, b.maxRole),
    channelIds: [...new Set([...a.channelIds, ...b.channelIds])],
    userIds: [...new Set([...a.userIds, ...b.userIds])],
    exceptUserIds: [],
    publicChannelId: a.publicChannelId ?? b.publicChannelId,
  };
}

/** Returns `audience` without the listed users. */
export function except(audience: Audience, userIds: readonly number[]): Audience {
  return { ...audience, exceptUserIds: [...new Set([...audience.exceptUserIds, ...userIds])] };
}

/** Returns whether any user can be in the audience. */
export const hasRecipients = ({ maxRole, channelIds, userIds, publicChannelId }: Audience): boolean =>
  maxRole !== null || channelIds.length > 0 || userIds.length > 0 || publicChannelId !== null;

/** The roles and subscriptions of one user, which decide whether the user receives an event. */
export interface Listener {
  readonly userId: number;
  roleAt(eventId: number): number;
  isSubscribedAt(channelId: number, eventId: number): boolean;
}

/**
 * Returns whether `listener` receives the event `eventId` with this audience. Both live delivery and replay call this function.
 *
 * @param allPublicChannels Whether the listener's queue receives the messages of all public channels.
 */
export function receives(audience: Audience, listener: Listener, eventId: number, allPublicChannels: boolean): boolean {
  const { maxRole, channelIds, userIds, exceptUserIds, publicChannelId } = audience;
  if (exceptUserIds.includes(listener.userId)) return false;
  return (
    userIds.includes(listener.userId) ||
    (maxRole !== null && listener.roleAt(eventId) <= maxRole) ||
    channelIds.some((channelId) => listener.isSubscribedAt(channelId, eventId)) ||
    // The user may have become a guest since the queue was registered. Guests receive only messages of their own channels.
    (publicChannelId !== null && allPublicChannels && listener.roleAt(eventId) < GUEST)
  );
}
