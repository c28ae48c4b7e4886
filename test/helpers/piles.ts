import type { InProcess } from './in-process.ts';
import type { Parameters, Person, RestReply } from './person.ts';
import { createOrganization, type Organization } from './server.ts';
import { channelOf, say } from './talk.ts';

/** An organization whose users can create objects up to their limits. */
export interface Hoard extends Organization {
  readonly channelId: number;
  /** A message of the member with 9,500 characters. */
  readonly messageId: number;
  /** Runs an SQL statement. `$1` is the organization's id, `$2` the member's id, and the given values follow. */
  sql(statement: string, ...values: unknown[]): Promise<number>;
}

/** One kind of object with a limit on its number or total size. */
export interface Pile {
  /** The user who adds the objects. Default: the member. */
  readonly adder?: 'owner';
  /** Creates objects up to the limit directly in the database, which is fast. */
  readonly fill: (hoard: Hoard) => Promise<unknown>;
  /** Adds one more object over REST. Each number results in a different object. */
  readonly rest: (hoard: Hoard, i: number) => Promise<RestReply>;
  /** Mutation and input that add one more object. */
  readonly graphql: (hoard: Hoard, i: number) => readonly [mutation: string, input: Parameters];
  /** SQL query for the current number or total size of the objects. Returns one row with the column `held`. */
  readonly held: string;
  /** Removes one object that `fill` created. An SQL statement if neither API can remove the object. */
  readonly free: string | ((hoard: Hoard) => Promise<unknown>);
}

export async function makeHoard({ app, ...on }: InProcess): Promise<Hoard> {
  const people = await createOrganization({}, { on });
  const { owner, member, guest } = people;
  const channelId = await channelOf(owner, 'general', [owner, member, guest]);
  const messageId = await say(member, channelId, 'ships', 'x'.repeat(9_500));
  return {
    ...people,
    channelId,
    messageId,
    sql: (statement, ...values) => {
      const all = [people.organization.id, member.id, ...values];
      // Some statements use only one of the first two parameters.
      const used = `WITH given AS (SELECT $1::int, $2::int) ${statement}`;
      return app.db.$executeRawUnsafe(used, ...all);
    },
  };
}

/** Returns SQL that inserts scheduled messages of one kind: `$3` of them, with `$4` characters each. */
export const waiting = (kind: string, target: string) => `
  INSERT INTO scheduled_message (realm_id, owner_id, kind, recipient_ids, content, rendered_content, scheduled_at,
                                 client_name, reminder_target_id)
  SELECT $1, $2, '${kind}', ARRAY[$2::int], repeat('x', $4::int), repeat('x', $4::int), '2099-01-01', 'test', ${target}
  FROM generate_series(1, $3::int)`;
/** Returns the SQL query of `Pile.held` for the rows of a table. */
export const heldBy = (table: string, who: string, what = 'count(*)') =>
  `SELECT ${what}::int AS held FROM ${table} WHERE ${who}`;
/** Deletes the first object of a list over REST. */
export const removeFirst = async (by: Person, list: string, id: string) => {
  const {
    [list.slice(1)]: [first],
  } = await by.ok('GET', list);
  await by.ok('DELETE', `${list}/${first[id]}`);
};
