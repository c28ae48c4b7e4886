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
 * Builds an SQL condition on the payload of a logged `message` event, for one term of a queue's narrow (message filter). The
 * condition is true for every message that matches the term, and can be true for other messages too.
 *
 * @returns Undefined if the term cannot be expressed as a condition.
 * @see `matches` in events.ts, which makes the final decision.
 */
export function mayMatch(operator: string, operand: string, userId: number): Prisma.Sql | undefined {
  switch (operator) {
    case 'channel':
    case 'stream':
      return sql`payload->'channel'->>'name' ~ ${whole(operand)}`;
    case 'channel-id':
      return sql`payload->'channel'->>'id' = ${operand}`;
    case 'sender-id':
      return sql`payload->'sender'->>'id' = ${operand}`;
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
 * Builds the SQL condition for a term that names a topic. The empty topic has several names, and the payload contains one of
 * them (`emptyTopicName`). The most selective part of the condition comes first, because each part detoasts the payload again.
 * For long payloads, detoasting is most of the cost.
 */
function mayHaveTopic(operand: string): Prisma.Sql {
  // OFFSET prevents the planner from inlining the subquery. Inlined, each use of the topic in `topic_key` would read the
  // payload again.
  const key = sql`(SELECT topic_key(sent.topic) FROM (SELECT payload->>'topic' AS topic OFFSET 0) AS sent)`;
  const isNamedOrEmpty = sql`${key} IN ('', ${topicKey(operand)})`;
  const isNamed = ['', '(no topic)'].includes(operand)
    ? sql`true`
    : sql`(payload->>'topic' <> '' OR payload->>'emptyTopicName' = ${operand})`;
  return sql`(${isNamedOrEmpty} AND ${isNamed} AND ${isOfChannel})`;
}

/**
 * Builds the SQL condition for a term that names a sender. It accepts both email addresses of the sender: the real one, and the
 * one that is shown if the real one is hidden.
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
