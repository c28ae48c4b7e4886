import { userOfStandIn } from '../access/address.ts';
import { RESOLVED_PREFIX } from '../channels/topic-name.ts';
import { topicKey } from '../contract/topic-key.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { sameInLowerCase } from '../platform/db/letter-case.ts';

const { sql } = Prisma;

const isDirect = sql`jsonb_typeof(payload->'channel') = 'null'`;
const isOfChannel = sql`jsonb_typeof(payload->'channel') IS DISTINCT FROM 'null'`;

const whole = (text: string): string => `^${sameInLowerCase(text)}$`;

/**
 * Builds an SQL condition on the payload of a logged `message` event. It is true for every message that a term of a queue's
 * narrow matches, and can be true for other messages too.
 *
 * @returns Undefined if the term has no such condition.
 * @see `matches` in ../events.ts, which makes the final decision.
 */
export function mayMatch(operator: string, operand: string, userId: number): Prisma.Sql | undefined {
  switch (operator) {
    case 'channel':
    case 'stream':
      return sql`payload->'channel'->>'name' ~ ${whole(operand)}`;
    case 'topic':
      return mayHaveTopic(operand);
    case 'sender':
      return mayBeSentBy(operand);
    case 'is':
      return mayBe(operand, userId);
    default:
      return undefined;
  }
}

/**
 * Builds the condition for a topic. The empty topic has several names, one of which is stored with the message. The most
 * selective part of the condition is first: each part detoasts the payload again, which dominates the cost if it is long.
 */
function mayHaveTopic(operand: string): Prisma.Sql {
  // OFFSET prevents the planner from inlining the subquery, which would read the payload again in each part of `topic_key`.
  const key = sql`(SELECT topic_key(sent.topic) FROM (SELECT payload->>'topic' AS topic OFFSET 0) AS sent)`;
  const isNamedOrEmpty = sql`${key} IN ('', ${topicKey(operand)})`;
  const isNamed = ['', '(no topic)'].includes(operand)
    ? sql`true`
    : sql`(payload->>'topic' <> '' OR payload->>'emptyTopicName' = ${operand})`;
  return sql`(${isNamedOrEmpty} AND ${isNamed} AND ${isOfChannel})`;
}

/**
 * Builds the condition for a sender. It accepts both email addresses of the sender (the real one, and the one that is shown if
 * the real one is hidden).
 */
function mayBeSentBy(operand: string): Prisma.Sql {
  const id = userOfStandIn(operand);
  const hasAddress = sql`payload->'sender'->>'email' ~ ${whole(operand)}`;
  return id === undefined ? hasAddress : sql`(${hasAddress} OR payload->'sender'->>'id' = ${String(id)})`;
}

function mayBe(operand: string, userId: number): Prisma.Sql | undefined {
  switch (operand) {
    case 'dm':
    case 'private':
      return isDirect;
    case 'starred':
      return sql`false`;
    case 'mentioned':
    case 'alerted':
      return sql`payload->'mentioned' @> ${String(userId)}::jsonb`;
    case 'resolved':
      return sql`(${isOfChannel} AND starts_with(payload->>'topic', ${RESOLVED_PREFIX}))`;
    default:
      return undefined;
  }
}
