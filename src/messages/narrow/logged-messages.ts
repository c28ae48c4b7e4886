import { userOfStandIn } from '../../access/address.ts';
import { RESOLVED_PREFIX } from '../../channels/topic-name.ts';
import { topicKey } from '../../contract/topic-key.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { sameInLowerCase } from '../../platform/db/letter-case.ts';

const { sql } = Prisma;

const isDirect = sql`jsonb_typeof(payload->'channel') = 'null'`;
const isOfChannel = sql`jsonb_typeof(payload->'channel') IS DISTINCT FROM 'null'`;

const whole = (text: string): string => `^${sameInLowerCase(text)}$`;

/**
 * Returns a prefilter for new messages in the event log: an SQL condition over the payload that is true for every message that a
 * term of a queue's narrow matches. It may also be true for others.
 *
 * @returns Undefined if the database does not check the term.
 * @see `matches` in ../events.ts, which makes the decision.
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
 * The empty topic has several names, one of which is stored with the message. The most selective condition is first, because
 * detoasting a long payload dominates the cost and each condition detoasts it again.
 */
function mayHaveTopic(operand: string): Prisma.Sql {
  // OFFSET prevents the planner from reading the payload once for each part of the function.
  const key = sql`(SELECT topic_key(sent.topic) FROM (SELECT payload->>'topic' AS topic OFFSET 0) AS sent)`;
  const isNamedOrEmpty = sql`${key} IN ('', ${topicKey(operand)})`;
  const isNamed = ['', '(no topic)'].includes(operand)
    ? sql`true`
    : sql`(payload->>'topic' <> '' OR payload->>'emptyTopicName' = ${operand})`;
  return sql`(${isNamedOrEmpty} AND ${isNamed} AND ${isOfChannel})`;
}

/** Matches either address of the sender, regardless of which one the API shows. */
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
