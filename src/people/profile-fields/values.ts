import type { Ctx } from '../../access/context.ts';
import { requirePerson } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { Prisma, type ProfileField, type ProfileValue, type User } from '../../generated/prisma/client.ts';
import { renderMarkdown } from '../../markdown/render.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { ADMINISTRATOR, isAdministrator } from '../../platform/roles.ts';
import { profileValueChanged } from '../events.ts';
import { lockOrganization } from '../locks.ts';
import { parameterAt } from '../parameter.ts';
import { toWireValue, type ValueEntry, type WireProfileData } from '../wire-profile-fields.ts';
import { FIELD_TYPES, isMarkdown } from './field-types.ts';
import { noSuchField, readProfileFields } from './fields.ts';
import { idsIn, isEmptyValue, type NamedUsers, requireValue } from './value-rules.ts';

/**
 * Reads the profiles of users, in one query.
 *
 * @returns Profiles by user id. Users without values are absent.
 */
export async function profileDataOf(
  db: SqlClient,
  organizationId: number,
  userIds: readonly number[],
): Promise<Map<number, WireProfileData>> {
  type Entry = readonly [fieldId: number, value: ProfileValue['value'], renderedValue: string | null];
  // Returns one row for each user: aggregating the values takes less time than decoding one row for each value.
  const rows = await readRows<{ userId: number; entries: readonly Entry[] }>(
    db,
    Prisma.sql`
    SELECT user_id AS "userId", json_agg(json_build_array(field_id, value, rendered_value)) AS entries FROM profile_value
    WHERE realm_id = ${organizationId} AND user_id = ANY(${[...userIds]}::int[]) GROUP BY user_id`,
  );
  const ofUser = (entries: readonly Entry[]) =>
    Object.fromEntries(entries.map(([id, value, renderedValue]) => [id, toWireValue({ value, renderedValue })]));
  return new Map(rows.map(({ userId, entries }) => [userId, ofUser(entries)]));
}

/**
 * Changes the viewer's profile, and notifies all users of each field that changed. All changes are made, or none.
 *
 * @throws ForbiddenError for a bot.
 * @throws NotFoundError if a field, or a user in a value, does not exist.
 * @throws ForbiddenError if the viewer cannot change a field.
 * @throws ValidationError if a field does not accept its value, or a user in it is a bot.
 * @throws ConflictError if a user in a value is deactivated.
 */
export async function updateOwnProfile(ctx: Ctx, entries: readonly ValueEntry[]): Promise<void> {
  const { user } = ctx.viewer;
  requirePerson(ctx);
  await transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    const { role } = (await asOfNow(tx, ctx)).viewer;
    await setProfileValues(tx, emit, user, entries, { changesAll: isAdministrator(role), parameter: 'data' });
  });
}

/**
 * Empties fields of the viewer's profile. Fields that are already empty are not changed.
 *
 * @throws ForbiddenError for a bot, or if the viewer cannot change a field.
 * @throws NotFoundError if a field does not exist.
 */
export function removeOwnValues(ctx: Ctx, fieldIds: readonly number[]): Promise<void> {
  return updateOwnProfile(
    ctx,
    fieldIds.map((fieldId) => ({ fieldId, value: null })),
  );
}

/**
 * Changes a person's profile, within a transaction that locked the organization's row. Because of the lock, no concurrent
 * request can change the fields, or the users to whom the values refer. All entries are validated before the first write. If
 * two entries are for one field, the last one is stored.
 *
 * A required field can be emptied, because the REST documentation has no error for this case. Clients ask users to fill in
 * required fields.
 *
 * @param by `changesAll`: whether the actor can also change fields that people cannot edit themselves. `parameter`: name of the
 *   parameter that contains the entries.
 * @throws NotFoundError if a field, or a user in a value, does not exist.
 * @throws ForbiddenError if the actor cannot change a field.
 * @throws ValidationError if a field does not accept its value, or a user in it is a bot.
 * @throws ConflictError if a user in a value is deactivated.
 */
export async function setProfileValues(
  tx: Tx,
  emit: Emit,
  { id: userId, organizationId }: Pick<User, 'id' | 'organizationId'>,
  entries: readonly ValueEntry[],
  { changesAll, parameter = 'profile_data' }: { changesAll: boolean; parameter?: string },
): Promise<void> {
  if (entries.length === 0) return;
  const fields = new Map((await readProfileFields(tx, organizationId)).map((field) => [field.id, field]));
  const users = await namedUsers(tx, organizationId, fields, entries);
  const wanted = new Map<ProfileField, string | null>();
  for (const [i, { fieldId, value }] of entries.entries()) {
    const place = `${parameter}[${i}]`;
    const field = fields.get(fieldId);
    if (field === undefined) throw noSuchField(fieldId);
    if (!changesAll && !field.editableByUser) {
      throw new ForbiddenError('You are not allowed to change this field. Contact an administrator to update it.', {
        role: ADMINISTRATOR,
        parameter: place,
      });
    }
    wanted.set(field, isEmptyValue(value) ? null : requireValue(field, value, users, parameterAt(place, 'value')));
  }
  const stored = await tx.profileValue.findMany({ where: { organizationId, userId } });
  const before = new Map(stored.map(({ fieldId, value }) => [fieldId, value]));
  const changed = [...wanted].filter(([{ id }, value]) => value !== (before.get(id) ?? null));
  if (changed.length > 0) await writeValues(tx, emit, { organizationId, userId }, changed);
}

/** Returns the users whose ids occur in entries for fields of type USER. Ids of no user of the organization are left out. */
async function namedUsers(
  tx: Tx,
  organizationId: number,
  fields: ReadonlyMap<number, ProfileField>,
  entries: readonly ValueEntry[],
): Promise<NamedUsers> {
  const ids = entries
    .filter(({ fieldId }) => fields.get(fieldId)?.type === FIELD_TYPES.USER.id)
    .flatMap(({ value }) => idsIn(value))
    .filter(isRowId);
  if (ids.length === 0) return new Map();
  const users = await tx.$queryRaw<Pick<User, 'id' | 'isActive' | 'botType'>[]>`
    SELECT id, is_active AS "isActive", bot_type AS "botType" FROM user_account
    WHERE realm_id = ${organizationId} AND id = ANY(${[...new Set(ids)]}::int[])`;
  return new Map(users.map((user) => [user.id, user]));
}

async function writeValues(
  tx: Tx,
  emit: Emit,
  owner: { readonly organizationId: number; readonly userId: number },
  changed: readonly (readonly [ProfileField, string | null])[],
): Promise<void> {
  const fieldIds = changed.map(([{ id }]) => id);
  const rows = changed.flatMap(([{ id, type }, value]) =>
    value === null
      ? []
      : [{ ...owner, fieldId: id, value, renderedValue: isMarkdown(type) ? renderMarkdown(value) : null }],
  );
  await tx.profileValue.deleteMany({ where: { ...owner, fieldId: { in: fieldIds } } });
  if (rows.length > 0) await tx.profileValue.createMany({ data: rows });
  const written = new Map(rows.map((row) => [row.fieldId, toWireValue(row)]));
  for (const fieldId of fieldIds) {
    emit(profileValueChanged(owner.userId, fieldId, written.get(fieldId)), everyone());
  }
}
