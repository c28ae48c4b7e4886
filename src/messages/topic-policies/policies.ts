import { Prisma } from '../../generated/prisma/client.ts';

// Visibility policies of users for topics. The numbers are those of the REST API and of the database.

/** The topic is as visible as its channel. This value is never stored. */
export const INHERITED = 0;
export const MUTED = 1;
/** The topic is visible even if its channel is muted. */
export const UNMUTED = 2;
/** The topic is visible, and the user is notified of its new messages. */
export const FOLLOWED = 3;

export type TopicPolicy = typeof INHERITED | typeof MUTED | typeof UNMUTED | typeof FOLLOWED;

/** The policies that a user's settings can assign to topics in which the user gets involved. */
export type AutomaticPolicy = typeof UNMUTED | typeof FOLLOWED;

/** Policies in ascending order of visibility. */
const BY_VISIBILITY: readonly number[] = [MUTED, INHERITED, UNMUTED, FOLLOWED];

/** Returns whether a topic is more visible with the policy `a` than with `b`. */
export const isMoreVisible = (a: number, b: number): boolean => BY_VISIBILITY.indexOf(a) > BY_VISIBILITY.indexOf(b);

/** Returns a policy as a literal in SQL, so that the planner knows its value. */
export const literal = (policy: TopicPolicy): Prisma.Sql => Prisma.raw(`${policy}`);

/** SQL condition that `t`, a row of `user_topic`, mutes its topic. */
export const MUTES_TOPIC = Prisma.sql`t.policy = ${literal(MUTED)}`;

/**
 * SQL condition that a user has muted a topic. `t` is the user's policy for the topic. If there is no policy, the user's
 * subscription `s` to the channel decides.
 */
export const IS_TOPIC_MUTED = Prisma.sql`CASE WHEN ${MUTES_TOPIC} THEN true
  WHEN t.policy IN (${literal(UNMUTED)}, ${literal(FOLLOWED)}) THEN false ELSE COALESCE(s.is_muted, false) END`;
