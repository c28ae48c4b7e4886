import { userOfStandIn } from '../../access/address.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { addressChanged } from '../email-changes/address-change.ts';

/** Email addresses, in lower case, that users had or requested before, by user id. */
export type FormerAddresses = ReadonlyMap<number, readonly string[]>;

/**
 * Returns the email addresses that people had or requested, besides their current addresses. Searches the event log, pending
 * changes of addresses, and emails about such changes. Leaves out bots, and addresses that another user has now.
 */
export async function readFormerAddresses(
  db: SqlClient,
  organizationId: number,
  users: readonly Pick<User, 'id' | 'email' | 'botType'>[],
): Promise<FormerAddresses> {
  const former = new Map<number, string[]>();
  for (const { id, email } of users.filter(({ botType }) => botType === null)) {
    const found = new Set([email.toLowerCase(), ...(await loggedAddresses(db, organizationId, id))]);
    for (const wanted of await wantedAddresses(db, organizationId, id)) found.add(wanted);
    await addPredecessors(db, organizationId, found);
    const taken = await takenAddresses(db, organizationId, [...found], id);
    found.delete(email.toLowerCase());
    former.set(
      id,
      [...found].filter((address) => !taken.has(address) && userOfStandIn(address) === undefined),
    );
  }
  return former;
}

/**
 * Returns the user's email addresses in the event log, in lower case. Every event with an email address has a `max_role`: the
 * highest role number whose users receive the event. The condition on `max_role` lets the query use the index by role, which
 * excludes most of the log.
 */
async function loggedAddresses(db: SqlClient, organizationId: number, userId: number): Promise<string[]> {
  const rows = await db.$queryRaw<{ address: string }[]>`
    SELECT DISTINCT lower(found.address #>> '{}') AS address FROM event e, LATERAL jsonb_path_query(
      e.payload,
      'lax $.** ? (@.user_id == $id || @.id == $id).keyvalue()
        ? (@.key == "email" || @.key == "new_email" || @.key == "delivery_email").value ? (@.type() == "string")',
      jsonb_build_object('id', ${userId}::int)) AS found(address)
    WHERE e.realm_id = ${organizationId} AND e.max_role IS NOT NULL AND e.type = 'realm_user' AND strpos(e.payload::text, '@') > 0`;
  return rows.map(({ address }) => address);
}

async function wantedAddresses(db: SqlClient, organizationId: number, userId: number): Promise<string[]> {
  const rows = await db.$queryRaw<{ address: string }[]>`
    SELECT lower(new_email) AS address FROM email_change WHERE realm_id = ${organizationId} AND user_id = ${userId}`;
  return rows.map(({ address }) => address);
}

/**
 * Adds, to `addresses`, the addresses that the user had before one of `addresses`, and repeats this for each added address.
 * Each change of address sent an email to the previous address, and the text of this email contains the new address. This
 * search finds more addresses than a search of the event log, because emails are stored longer than events.
 */
async function addPredecessors(db: SqlClient, organizationId: number, addresses: Set<string>): Promise<void> {
  for (let added = [...addresses]; added.length > 0; ) {
    const sentences = added.map((address) => addressChanged(address).toLowerCase());
    const rows = await db.$queryRaw<{ address: string }[]>`
      SELECT DISTINCT lower(recipient) AS address FROM outgoing_mail WHERE realm_id = ${organizationId} AND EXISTS (
        SELECT FROM unnest(${sentences}::text[]) AS sentence WHERE strpos(lower(body), sentence) > 0)`;
    added = rows.map(({ address }) => address).filter((address) => !addresses.has(address));
    for (const address of added) addresses.add(address);
  }
}

/** Returns the addresses among `addresses` that a user other than `userId` has now. */
async function takenAddresses(
  db: SqlClient,
  organizationId: number,
  addresses: readonly string[],
  userId: number,
): Promise<Set<string>> {
  const rows = await db.$queryRaw<{ address: string }[]>`
    SELECT lower(email) AS address FROM user_account
    WHERE realm_id = ${organizationId} AND lower(email) = ANY(${[...addresses]}::text[]) AND id <> ${userId}`;
  return new Set(rows.map(({ address }) => address));
}
