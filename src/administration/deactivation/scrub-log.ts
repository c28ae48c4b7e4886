import { standInAddress } from '../../access/address.ts';
import { noRecipients } from '../../events/audience.ts';
import { logErased } from '../../events/erase-logged.ts';
import { type ChangeScope, type Emit, transact } from '../../events/log.ts';
import { readCounter } from '../../events/log-reads.ts';
import type { User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';

/** Number of event ids that one transaction covers. */
const BATCH = 5_000;

/** Name that replaces the name of an erased user. */
export const ERASED_NAME = 'Deleted user';

/** A user whose data is scrubbed from the event log. */
export interface Scrubbed extends Pick<User, 'id' | 'email' | 'botType'> {
  /** Addresses that the user had or requested before, and that no other user has. In lower case. */
  readonly formerAddresses: readonly string[];
}

/**
 * Replaces the names, email addresses, time zones, status texts and profile values of users in the organization's event log, up
 * to its current end. Events about other users stay unchanged. Each batch of ids is one transaction, so that other changes of
 * the organization do not wait for all of them.
 *
 * @param after Id up to which the events are already scrubbed.
 * @returns Id up to which the events are scrubbed now.
 */
export async function scrubLog(scope: ChangeScope, users: readonly Scrubbed[], after: number): Promise<number> {
  const { realmId } = scope;
  const { lastId, prunedThrough } = await readCounter(scope.app.db, realmId);
  for (let from = Math.max(after, prunedThrough); from < lastId; from += BATCH) {
    await transact(scope, async (tx, emit) => {
      const through = await scrubBatch(tx, realmId, users, from);
      if (through !== undefined) emit(logErased(through), noRecipients());
    });
  }
  return lastId;
}

/**
 * Scrubs the rest of the log when the events of a change are logged. Other changes may have logged events with the users'
 * data in the meantime. These are scrubbed while the log is locked. Events of the change itself must not contain such
 * data.
 */
export function scrubRest(emit: Emit, realmId: number, users: readonly Scrubbed[], after: number): void {
  let scrubbedThrough = after;
  let changedThrough: number | undefined;
  emit.reading(async (tx) => {
    const { lastId, prunedThrough } = await readCounter(tx, realmId);
    for (let from = Math.max(scrubbedThrough, prunedThrough); from < lastId; from += BATCH) {
      changedThrough = (await scrubBatch(tx, realmId, users, from)) ?? changedThrough;
    }
    scrubbedThrough = lastId;
    return changedThrough === undefined ? [] : [{ event: logErased(changedThrough), audience: noRecipients() }];
  }, []);
}

/**
 * Scrubs the events of one batch of ids after `from`.
 *
 * @returns Id of the last event that was changed. Undefined if there was none.
 */
async function scrubBatch(
  tx: Tx,
  realmId: number,
  users: readonly Scrubbed[],
  from: number,
): Promise<number | undefined> {
  const needles = users.flatMap((user) => addressesOf(user).map((email) => JSON.stringify(email)));
  const rows = await tx.$queryRaw<{ id: bigint; payload: unknown }[]>`
    SELECT id, payload FROM event WHERE realm_id = ${realmId} AND id > ${from} AND id <= ${from + BATCH}
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
    WHERE e.realm_id = ${realmId} AND e.id = scrubbed.id`;
  return Math.max(...changed.map(({ id }) => id));
}

const ID_KEYS = ['user_id', 'userId', 'sender_id', 'id'] as const;

/**
 * Returns a regular expression that matches the text of payloads in which an object has the id of one of the users. The
 * previous names of a user are not stored elsewhere, so they cannot be searched for.
 */
const aboutAny = (users: readonly Scrubbed[]): string =>
  `"(${ID_KEYS.join('|')})": (${users.map(({ id }) => id).join('|')})[,}]`;

const addressesOf = ({ email, formerAddresses }: Scrubbed): string[] => [email.toLowerCase(), ...formerAddresses];

/** Returns a copy of a payload without the names, email addresses and other data of the users. Their ids stay. */
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
 * Returns the API address of an erased user, in place of any earlier address. A bot's address stays, because the API uses it as
 * the bot's name.
 */
const replaceAddress: Replacement = (value, { id, botType }) =>
  typeof value === 'string' && botType === null ? standInAddress(id) : value;

/** Replacements for the values of an object about an erased user, by key. */
const REPLACEMENTS: ReadonlyMap<string, Replacement> = new Map<string, Replacement>([
  ...['full_name', 'fullName', 'sender_full_name'].map((key) => [key, () => ERASED_NAME] as const),
  ...['email', 'new_email', 'sender_email'].map((key) => [key, replaceAddress] as const),
  ...['timezone', 'status_text'].map((key) => [key, () => ''] as const),
  ['delivery_email', () => null],
  ['custom_profile_field', (value) => ({ id: (value as { id?: unknown }).id, value: null })],
  ['profile_data', () => ({})],
]);
