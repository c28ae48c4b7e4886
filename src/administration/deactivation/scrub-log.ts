import { standInAddress } from '../../access/address.ts';
import type { Scope } from '../../access/context.ts';
import { noRecipients } from '../../events/audience.ts';
import { logErased } from '../../events/erase-logged.ts';
import { type Emit, transact } from '../../events/log.ts';
import { readCounter } from '../../events/log-reads.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';

/** Number of consecutive event ids in one batch. */
const BATCH = 5_000;

/** Name that replaces the name of an erased user. */
export const ERASED_NAME = 'Deleted user';

/** A user whose data is scrubbed from the event log. */
export interface Scrubbed extends Pick<User, 'id' | 'email' | 'botType'> {
  /** Email addresses in lower case that the user had or requested before, and that no other user has now. */
  readonly formerAddresses: readonly string[];
}

/**
 * Replaces the names, email addresses, time zones, status texts and profile values of users in the organization's event log, up
 * to its current end. Events about other users stay unchanged. Each batch of event ids has its own transaction, so that other
 * changes of the organization wait for one batch at most.
 *
 * @param after Id of the event up to which the log is already scrubbed.
 * @returns Id of the event up to which the log is scrubbed now.
 */
export async function scrubLog(scope: Scope, users: readonly Scrubbed[], after: number): Promise<number> {
  const { organizationId } = scope;
  const { lastId, prunedThrough } = await readCounter(scope.work.db, organizationId);
  for (let from = Math.max(after, prunedThrough); from < lastId; from += BATCH) {
    await transact(scope, async (tx, emit) => {
      const through = await scrubBatch(tx, organizationId, users, from);
      if (through !== undefined) emit(logErased(through), noRecipients());
    });
  }
  return lastId;
}

/**
 * Removes the personal data of the users, as `scrubLog` does, from events that were logged after `scrubLog` has read the log.
 * This runs in the transaction of `emit`, when that transaction logs its own events. The event log is locked at that time, so
 * no other change can log data of the users afterwards. The transaction's own events must not contain such data.
 *
 * @param after Id of the event up to which the log is already scrubbed.
 */
export function scrubRest(emit: Emit, organizationId: number, users: readonly Scrubbed[], after: number): void {
  let scrubbedThrough = after;
  let changedThrough: number | undefined;
  emit.reading(async (tx) => {
    const { lastId, prunedThrough } = await readCounter(tx, organizationId);
    for (let from = Math.max(scrubbedThrough, prunedThrough); from < lastId; from += BATCH) {
      changedThrough = (await scrubBatch(tx, organizationId, users, from)) ?? changedThrough;
    }
    scrubbedThrough = lastId;
    return changedThrough === undefined ? [] : [{ event: logErased(changedThrough), audience: noRecipients() }];
  }, []);
}

/**
 * Removes the personal data of the users from one batch of events: the `BATCH` ids after `from`.
 *
 * @returns Id of the last event that was changed. Undefined if no event was changed.
 */
async function scrubBatch(
  tx: Tx,
  organizationId: number,
  users: readonly Scrubbed[],
  from: number,
): Promise<number | undefined> {
  const needles = users.flatMap((user) => addressesOf(user).map((email) => JSON.stringify(email)));
  const rows = await tx.$queryRaw<{ id: bigint; payload: unknown }[]>`
    SELECT id, payload FROM event WHERE realm_id = ${organizationId} AND id > ${from} AND id <= ${from + BATCH}
      AND (type IN ('realm_user', 'user_status') OR payload::text ~ ${aboutAny(users)} OR EXISTS (
        SELECT FROM unnest(${needles}::text[]) AS needle WHERE strpos(lower(payload::text), needle) > 0))`;
  const changed = rows.flatMap(({ id, payload }) => {
    const scrubbed = withoutPersons(payload, users);
    return JSON.stringify(scrubbed) === JSON.stringify(payload) ? [] : [{ id: Number(id), payload: scrubbed }];
  });
  if (changed.length === 0) return undefined;
  await tx.$executeRaw`
    UPDATE event e SET payload = scrubbed.payload
    FROM jsonb_to_recordset(${JSON.stringify(changed)}::jsonb) AS scrubbed(id bigint, payload jsonb)
    WHERE e.realm_id = ${organizationId} AND e.id = scrubbed.id`;
  return Math.max(...changed.map(({ id }) => id));
}

const ID_KEYS = ['user_id', 'userId', 'sender_id', 'id'] as const;

/**
 * Returns a regular expression that matches the text of event payloads in which an object has the id of one of the users.
 * Searches for ids and not for names, because a user's previous names are stored only in the event log.
 */
const aboutAny = (users: readonly Scrubbed[]): string =>
  `"(${ID_KEYS.join('|')})": (${users.map(({ id }) => id).join('|')})[,}]`;

const addressesOf = ({ email, formerAddresses }: Scrubbed): string[] => [email.toLowerCase(), ...formerAddresses];

/** Returns a copy of an event payload without the names, email addresses and other data of the users. The users' ids stay. */
export function withoutPersons(payload: unknown, users: readonly Scrubbed[]): unknown {
  if (typeof payload === 'string') return withoutAddress(payload, users);
  if (Array.isArray(payload)) return payload.map((item) => withoutPersons(item, users));
  if (payload === null || typeof payload !== 'object') return payload;
  const about = ID_KEYS.map((key) => users.find(({ id }) => Reflect.get(payload, key) === id)).find(Boolean);
  return Object.fromEntries(
    Object.entries(payload).map(([key, value]) => {
      const replaced = about === undefined ? undefined : REPLACEMENTS.get(key);
      return [
        key,
        about === undefined || replaced === undefined ? withoutPersons(value, users) : replaced(value, about),
      ];
    }),
  );
}

function withoutAddress(text: string, users: readonly Scrubbed[]): string {
  const address = text.toLowerCase();
  const owner = users.find((user) => user.botType === null && addressesOf(user).includes(address));
  return owner === undefined ? text : standInAddress(owner.id);
}

type Replacement = (value: unknown, user: Scrubbed) => unknown;

/**
 * Returns the placeholder address of an erased user, in place of any address of the user. A bot's address stays, because it is
 * the name of the bot in the API.
 */
const replaceAddress: Replacement = (value, { id, botType }) =>
  typeof value === 'string' && botType === null ? standInAddress(id) : value;

/** Functions that replace values of an object about an erased user, by key of the value. */
const REPLACEMENTS: ReadonlyMap<string, Replacement> = new Map<string, Replacement>([
  ...['full_name', 'fullName', 'sender_full_name'].map((key) => [key, () => ERASED_NAME] as const),
  ...['email', 'new_email', 'sender_email'].map((key) => [key, replaceAddress] as const),
  ...['timezone', 'status_text'].map((key) => [key, () => ''] as const),
  ['delivery_email', () => null],
  ['custom_profile_field', (value) => ({ id: (value as { id?: unknown }).id, value: null })],
  ['profile_data', () => ({})],
]);
