import { userOfStandIn } from '../../access/address.ts';
import { RESOLVED_PREFIX } from '../../channels/topic-name.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import { sameInLowerCase } from '../../platform/db/letter-case.ts';

const { sql } = Prisma;

const isDirect = sql`jsonb_typeof(payload->'channel') = 'null'`;
const isOfChannel = sql`jsonb_typeof(payload->'channel') IS DISTINCT FROM 'null'`;

const whole = (text: string): string => `^${sameInLowerCase(text)}$`;

/**
 * A condition over the payload of a new message in the log that holds for every message that a term of a queue's narrow
 * takes: what it leaves out, the queue is never asked about. It may let more through.
 *
 * @returns Undefined for terms that the database is not asked about.
 * @see `matches` in ../events.ts, which judges.
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
 * The empty topic goes by names of its own, one of which stands with the message. What most messages fail at is asked first: to
 * open a long payload is what takes the time, and each condition opens it again.
 */
function mayHaveTopic(operand: string): Prisma.Sql {
  const isNamedOrEmpty = sql`payload->>'topic' ~ ${`^(${sameInLowerCase(operand)})?$`}`;
  const isNamed = ['', '(no topic)'].includes(operand)
    ? sql`true`
    : sql`(payload->>'topic' <> '' OR payload->>'emptyTopicName' = ${operand})`;
  return sql`(${isNamedOrEmpty} AND ${isNamed} AND ${isOfChannel})`;
}

/** By either address: which of them the API knows the sender by is not asked. */
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
