import { GUEST } from '../platform/roles.ts';

/**
 * Who hears an event, as a rule and never as a row per recipient: (a role and all above it, or no role)
 * ∪ subscribers of the channels as of the event's id ∪ the users − the excepted users.
 */
export interface Audience {
  /** Heard by users whose role number is at most this; null: by no role. */
  readonly maxRole: number | null;
  /** At most two. */
  readonly channelIds: readonly number[];
  readonly userIds: readonly number[];
  readonly exceptUserIds: readonly number[];
  /** The public channel of a message, for queues that asked for all of them. */
  readonly publicChannelId: number | null;
}

const NOBODY: Audience = { maxRole: null, channelIds: [], userIds: [], exceptUserIds: [], publicChannelId: null };

/** Nobody: the event is for the service itself. */
export const nobody = (): Audience => NOBODY;

/** Every user of the organisation. */
export const everyone = (): Audience => roleAtMost(GUEST);

/** The users with `role` or more rights: `ADMINISTRATOR` is administrators and owners. */
export const roleAtMost = (role: number): Audience => ({ ...NOBODY, maxRole: role });

/** Who is subscribed to the channel when the event happens. */
export const subscribersOf = (channelId: number): Audience => ({ ...NOBODY, channelIds: [channelId] });

/** The users listed. */
export const users = (userIds: readonly number[]): Audience => ({ ...NOBODY, userIds: [...new Set(userIds)] });

/** Whoever hears at least one of the two. */
export function either(a: Audience, b: Audience): Audience {
  if (a.exceptUserIds.length > 0 || b.exceptUserIds.length > 0) throw new Error('Except users last');
  return {
    maxRole: a.maxRole === null ? b.maxRole : b.maxRole === null ? a.maxRole : Math.max(a.maxRole, b.maxRole),
    channelIds: [...new Set([...a.channelIds, ...b.channelIds])],
    userIds: [...new Set([...a.userIds, ...b.userIds])],
    exceptUserIds: [],
    publicChannelId: a.publicChannelId ?? b.publicChannelId,
  };
}

/** `audience` without the users listed. */
export function except(audience: Audience, userIds: readonly number[]): Audience {
  return { ...audience, exceptUserIds: [...new Set([...audience.exceptUserIds, ...userIds])] };
}

/** Whether the audience may be anybody at all. */
export const canBeHeard = ({ maxRole, channelIds, userIds, publicChannelId }: Audience): boolean =>
  maxRole !== null || channelIds.length > 0 || userIds.length > 0 || publicChannelId !== null;

/** What decides whether one user hears an event: what they are at its id. */
export interface Listener {
  readonly userId: number;
  roleAt(eventId: number): number;
  isSubscribedAt(channelId: number, eventId: number): boolean;
}

/**
 * Whether `listener` hears the event `eventId` with this audience. The one place that decides it, live and on replay.
 *
 * @param allPublicChannels Whether the queue asked for the messages of every public channel.
 */
export function hears(audience: Audience, listener: Listener, eventId: number, allPublicChannels: boolean): boolean {
  const { maxRole, channelIds, userIds, exceptUserIds, publicChannelId } = audience;
  if (exceptUserIds.includes(listener.userId)) return false;
  return (
    userIds.includes(listener.userId) ||
    (maxRole !== null && listener.roleAt(eventId) <= maxRole) ||
    channelIds.some((channelId) => listener.isSubscribedAt(channelId, eventId)) ||
    // Who registered as a member may be a guest by now.
    (publicChannelId !== null && allPublicChannels && listener.roleAt(eventId) < GUEST)
  );
}
