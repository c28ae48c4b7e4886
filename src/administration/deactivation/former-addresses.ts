import { userOfStandIn } from '../../access/address.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { SqlClient } from '../../platform/db/client.ts';
import { addressChanged } from '../email-changes/address-change.ts';

/** Former email addresses in lower case, by user id. */
export type FormerAddresses = ReadonlyMap<number, readonly string[]>;

/**
 * Returns the email addresses that people had or requested, besides their current ones. Reads the event log, pending changes of
 * addresses, and emails about changes. Leaves out bots, and addresses that another user has now.
 */
export async function readFormerAddresses(
  db: SqlClient,
  realmId: number,
  users: readonly Pick<User, 'id' | 'email' | 'botType'>[],
): Promise<FormerAddresses> {
  const former = new Map<number, string[]>();
  for (const { id, email } of users.filter(({ botType }) => botType === null)) {
    const found = new Set([email.toLowerCase(), ...(await loggedAddresses(db, realmId, id))]);
    for (const wanted of await wantedAddresses(db, realmId, id)) found.add(wanted);
    await addPredecessors(db, realmId, found);
    const taken = await takenAddresses(db, realmId, [...found], id);
    found.delete(email.toLowerCase());
    former.set(
      id,
      [...found].filter((address) => !taken.has(address) && userOfStandIn(address) === undefined),
    );
  }
  return former;
}

/**
 * Returns the user's email addresses in the event log. Events about users have a `max_role`, so the index by role excludes most
 * of the log.
 */
async function loggedAddresses(db: SqlClient, realmId: number, userId: number): Promise<string[]> {
  const rows = await db.$queryRaw<{ address: string }[]>`
    SELECT DISTINCT lower(found.address #>> '{}') AS address FROM event e, LATERAL jsonb_path_query(
      e.payload,
      'lax $.** ? (@.user_id == $id || @.id == $id).keyvalue()
        ? (@.key == "email" || @.key == "new_email" || @.key == "delivery_email").value ? (@.type() == "string")',
      jsonb_build_object('id', ${userId}::int)) AS found(address)
    WHERE e.realm_id = ${realmId} AND e.max_role IS NOT NULL AND e.type = 'realm_user' AND strpos(e.payload::text, '@') > 0`;
  return rows.map(({ address }) => address);
}

async function wantedAddresses(db: SqlClient, realmId: number, userId: number): Promise<string[]> {
  const rows = await db.$queryRaw<{ address: string }[]>`
    SELECT lower(new_email) AS address FROM email_change WHERE realm_id = ${realmId} AND user_id = ${userId}`;
  return rows.map(({ address }) => address);
}

/**
 * Adds earlier email addresses: if a user's address was changed to one of `addresses`, an email about it was sent to the
 * previous address. Repeats this for each added address. This finds more than the log, because emails are stored longer than
 * events.
 */
async function addPredecessors(db: SqlClient, realmId: number, addresses: Set<string>): Promise<void> {
  for (let added = [...addresses]; added.length > 0; ) {
    const sentences = added.map((address) => addressChanged(address).toLowerCase());
    const rows = await db.$queryRaw<{ address: string }[]>`
      SELECT DISTINCT lower(recipient) AS address FROM outgoing_mail WHERE realm_id = ${realmId} AND EXISTS (
        SELECT FROM unnest(${sentences}::text[]) AS sentence WHERE strpos(lower(body), sentence) > 0)`;
    added = rows.map(({ address }) => address).filter((address) => !addresses.has(address));
    for (const address of added) addresses.add(address);
  }
}

/** Returns those of the email addresses that a user other than `userId` has now. */
async function takenAddresses(
  db: SqlClient,
  realmId: number,
  addresses: readonly string[],
  userId: number,
): Promise<Set<string>> {
  const rows = await db.$queryRaw<{ address: string }[]>`
    SELECT lower(email) AS address FROM user_account
    WHERE realm_id = ${realmId} AND lower(email) = ANY(${[...addresses]}::text[]) AND id <> ${userId}`;
  return new Set(rows.map(({ address }) => address));
}
