import { Prisma } from '../../generated/prisma/client.ts';

// How visible a topic is to a user, as clients have it and as it is stored.

/** As its channel is; never stored. */
export const INHERITED = 0;
export const MUTED = 1;
/** Visible, although its channel is muted. */
export const UNMUTED = 2;
/** Visible, and the user is told of when something is written to it. */
export const FOLLOWED = 3;

export type TopicPolicy = typeof INHERITED | typeof MUTED | typeof UNMUTED | typeof FOLLOWED;

/** What a user's settings can make of a topic that they involve themselves in. */
export type AutomaticPolicy = typeof UNMUTED | typeof FOLLOWED;

/** From the least visible to the most. */
const BY_VISIBILITY: readonly number[] = [MUTED, INHERITED, UNMUTED, FOLLOWED];

/** Whether a topic is more visible with the policy `a` than with `b`. */
export const isMoreVisible = (a: number, b: number): boolean => BY_VISIBILITY.indexOf(a) > BY_VISIBILITY.indexOf(b);

/** A policy as part of a statement's text. */
export const literal = (policy: TopicPolicy): Prisma.Sql => Prisma.raw(`${policy}`);

/** Whether the policy `t`, a row of `user_topic`, mutes its topic. */
export const MUTES_TOPIC = Prisma.sql`t.policy = ${literal(MUTED)}`;

/** Whether a topic is muted for a user: by their policy `t` of it, or, where they have none, by their subscription `s`. */
export const IS_TOPIC_MUTED = Prisma.sql`CASE WHEN ${MUTES_TOPIC} THEN true
  WHEN t.policy IN (${literal(UNMUTED)}, ${literal(FOLLOWED)}) THEN false ELSE COALESCE(s.is_muted, false) END`;
