import type { Ctx } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { auditChanges } from '../../events/audit.ts';
import { type Emit, transact } from '../../events/log.ts';
import { Prisma, type ProfileField } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isAlike, requireReadable } from '../../platform/names.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { profileValueChanged } from '../events.ts';
import { lockOrganization } from '../locks.ts';
import { requireWholeOrder } from '../order.ts';
import { profileFieldsChanged } from './events.ts';
import { choicesOf, type FieldData, requireFieldData } from './field-data.ts';
import { canBeInSummary, canMatchUsers, isFieldType } from './field-types.ts';

/** Maximum lengths of the name and the hint of a field, in code points. Longer texts are refused with `ValidationError`. */
const MAX_NAME_LENGTH = 40;
const MAX_HINT_LENGTH = 80;
const MAX_IN_SUMMARY = 2;

/** Name of the parameter that determines whether the summary of a profile shows a field. */
const IN_SUMMARY = 'display_in_profile_summary';

/** Properties of a field. Absent properties stay unchanged. In a new field, they get their defaults. */
export interface FieldEdit {
  /** Name of 1 to 40 code points, after surrounding white space is removed; unique among all fields, ignoring case. */
  readonly name?: string | undefined;
  /** Hint that helps users to fill in the field: at most `MAX_HINT_LENGTH` code points. */
  readonly hint?: string | undefined;
  /** Data of a list of options or an external account. @see requireFieldData */
  readonly fieldData?: FieldData | undefined;
  /** Whether clients show the field in the summary of a profile. At most two fields can be shown. */
  readonly displayInProfileSummary?: boolean | undefined;
  readonly required?: boolean | undefined;
  /** Whether users can change the value themselves. False: only administrators. */
  readonly editableByUser?: boolean | undefined;
  readonly useForUserMatching?: boolean | undefined;
}

/** Returns the organization's fields in order. All users can read them. */
export function listProfileFields({ work, organizationId }: Ctx): Promise<ProfileField[]> {
  return readProfileFields(work.db, organizationId);
}

/** Returns the organization's fields in order. */
export function readProfileFields(db: Pick<Tx, 'profileField'>, organizationId: number): Promise<ProfileField[]> {
  return db.profileField.findMany({ where: { organizationId }, orderBy: [{ order: 'asc' }, { id: 'asc' }] });
}

export const noSuchField = (id: number) =>
  new NotFoundError(`Field id ${id} not found.`, { type: 'CustomProfileField', id, parameter: 'field_id' });

async function requireField(db: Pick<Tx, 'profileField'>, organizationId: number, id: number): Promise<ProfileField> {
  const field = isRowId(id) ? await db.profileField.findFirst({ where: { organizationId, id } }) : null;
  if (field === null) throw noSuchField(id);
  return field;
}

type Content = Omit<ProfileField, 'id' | 'organizationId' | 'type' | 'order'>;

/** Default properties of a new field. */
const INITIAL: Content = {
  name: '',
  hint: '',
  fieldData: '',
  displayInProfileSummary: false,
  required: false,
  editableByUser: true,
  useForUserMatching: false,
};

/**
 * Creates a field at the end of the list, and notifies all users.
 *
 * @param type 1 short text, 2 paragraph, 3 choice, 4 date, 5 link, 6 users, 7 external account, 8 pronouns.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if the type is unknown, the name is blank or too long, or the data is invalid.
 * @throws ValidationError if the type cannot be shown in the summary of a profile or used to find users.
 * @throws ConflictError if the name is in use, or the summary already shows two fields.
 * @throws TotalReachedError if the organization would have more than 100 fields.
 */
export async function createProfileField(ctx: Ctx, type: number, input: FieldEdit): Promise<ProfileField> {
  requireAdministrator(ctx);
  const { organizationId } = ctx;
  if (!isFieldType(type)) throw new ValidationError('Invalid field type.', { parameter: 'field_type', value: type });
  const content = contentAfter({ type, ...INITIAL }, { name: '', fieldData: {}, ...given(input) });
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    requireAdministrator(await asOfNow(tx, ctx));
    const others = await readProfileFields(tx, organizationId);
    requireWithin('custom_profile_fields', 1 + others.length);
    await requireFreeLabel(tx, organizationId, content.name);
    requireRoomInSummary(others, content);
    const { id } = await tx.profileField.create({ data: { ...content, organizationId, type, order: 0 } });
    // Ids increase, so the id as the order puts the new field after all other fields.
    const field = await tx.profileField.update({
      where: { organizationId_id: { organizationId, id } },
      data: { order: id },
    });
    emit.audit({ action: 'profile_field_created', ...auditedField(field), changes: { field_type: { new: type } } });
    emit(profileFieldsChanged([...others, field]), everyone());
    return field;
  });
}

/**
 * Changes the given properties of a field, and notifies all users. If no value changes, there is no effect. If an option is
 * removed, users' values that selected it are deleted.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws NotFoundError if the field does not exist.
 * @throws ValidationError if the name is blank or too long, the data is invalid, or the type cannot be shown in the summary of
 *   a profile or used to find users.
 * @throws ConflictError if the name is in use, or the summary already shows two fields.
 */
export async function updateProfileField(ctx: Ctx, fieldId: number, edit: FieldEdit): Promise<ProfileField> {
  requireAdministrator(ctx);
  const { organizationId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    requireAdministrator(await asOfNow(tx, ctx));
    const field = await requireField(tx, organizationId, fieldId);
    const content = contentAfter(field, edit);
    if (Object.entries(content).every(([name, value]) => field[name as keyof Content] === value)) return field;
    const others = (await readProfileFields(tx, organizationId)).filter(({ id }) => id !== fieldId);
    await requireFreeLabel(tx, organizationId, content.name, fieldId);
    requireRoomInSummary(others, content);
    const changed = await tx.profileField.update({
      where: { organizationId_id: { organizationId, id: fieldId } },
      data: content,
    });
    const changes = Object.entries(auditChanges(field, content)).filter(([, change]) => change.old !== change.new);
    emit.audit({
      ...{ action: 'profile_field_changed', ...auditedField(field) },
      changes: Object.fromEntries(changes),
    });
    await publishFields(tx, emit, organizationId);
    if (content.fieldData !== field.fieldData) await dropLostChoices(tx, emit, changed);
    return changed;
  });
}

/**
 * Deletes a field and all its values, and notifies all users. No event is emitted for the values: clients delete the values of
 * fields that are not in the new list of fields.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws NotFoundError if there is no such field.
 */
export async function deleteProfileField(ctx: Ctx, fieldId: number): Promise<void> {
  requireAdministrator(ctx);
  await transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, ctx.organizationId);
    requireAdministrator(await asOfNow(tx, ctx));
    const field = await requireField(tx, ctx.organizationId, fieldId);
    emit.audit({ action: 'profile_field_deleted', ...auditedField(field) });
    await tx.profileField.delete({ where: { organizationId_id: { organizationId: ctx.organizationId, id: fieldId } } });
    await publishFields(tx, emit, ctx.organizationId);
  });
}

/**
 * Reorders the organization's fields. If the order does not change, no event is emitted.
 *
 * @param fieldIds Every field's id once.
 * @returns All fields in the new order.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws ValidationError if a field is repeated.
 * @throws NotFoundError if a field is unknown.
 * @throws ConflictError if a field is missing.
 */
export async function reorderProfileFields(ctx: Ctx, fieldIds: readonly number[]): Promise<ProfileField[]> {
  requireAdministrator(ctx);
  const { organizationId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    requireAdministrator(await asOfNow(tx, ctx));
    const fields = await readProfileFields(tx, organizationId);
    requireWholeOrder('CustomProfileField', fieldIds, new Set(fields.map(({ id }) => id)));
    if (fields.every(({ id }, i) => id === fieldIds[i])) return fields;
    await tx.$executeRaw`
      UPDATE profile_field SET position = places.place - 1
      FROM unnest(${[...fieldIds]}::int[]) WITH ORDINALITY AS places(id, place)
      WHERE profile_field.realm_id = ${organizationId} AND profile_field.id = places.id`;
    const order = { old: fields.map(({ id }) => id), new: fieldIds };
    emit.audit({ action: 'profile_fields_reordered', objectType: 'profile_field', changes: { order } });
    return publishFields(tx, emit, organizationId);
  });
}

/** Returns the object of an entry in the audit log. */
const auditedField = ({ id, name }: ProfileField) =>
  ({ objectType: 'profile_field', objectId: id, objectName: name }) as const;

/** Removes undefined properties from an edit. */
const given = (edit: FieldEdit): FieldEdit =>
  Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));

/** Returns the content of a field after an edit is applied. Checks only the rules that do not depend on other fields. */
function contentAfter(field: Content & Pick<ProfileField, 'type'>, edit: FieldEdit): Content {
  const { type } = field;
  const content = {
    name: edit.name === undefined ? field.name : requireLabel(edit.name),
    hint: edit.hint === undefined ? field.hint : requireText('hint', edit.hint, { max: MAX_HINT_LENGTH }),
    fieldData: edit.fieldData === undefined ? field.fieldData : requireFieldData(type, edit.fieldData),
    displayInProfileSummary: edit.displayInProfileSummary ?? field.displayInProfileSummary,
    required: edit.required ?? field.required,
    editableByUser: edit.editableByUser ?? field.editableByUser,
    useForUserMatching: edit.useForUserMatching ?? field.useForUserMatching,
  };
  if (content.displayInProfileSummary && !canBeInSummary(type)) {
    throw new ValidationError('Field type not supported for display in profile summary.', { parameter: IN_SUMMARY });
  }
  if (content.useForUserMatching && !canMatchUsers(type)) {
    throw new ValidationError('Field type not supported for user matching.', { parameter: 'use_for_user_matching' });
  }
  return content;
}

function requireLabel(name: string): string {
  const label = requireText('name', name, { strip: true, max: MAX_NAME_LENGTH });
  if (label === '') throw new ValidationError('Label cannot be blank.', { parameter: 'name', minimum: 1 });
  return label;
}

/**
 * Checks that no other field has the name, within a transaction that locked the organization's row. The database compares the
 * names in the same way as its unique index.
 *
 * @throws ValidationError if the name is not readable.
 * @throws ConflictError if a field other than `exceptId` has the name, ignoring case.
 */
async function requireFreeLabel(tx: Tx, organizationId: number, name: string, exceptId = 0): Promise<void> {
  requireReadable('label', name);
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM profile_field
    WHERE realm_id = ${organizationId} AND ${isAlike(Prisma.sql`name`, name)} AND id <> ${exceptId} LIMIT 1`;
  if (taken.length > 0) throw new ConflictError('A field with that label already exists.', { parameter: 'name' });
}

/** Checks that the profile summary shows at most two fields. @throws ConflictError if the field would be the third one. */
function requireRoomInSummary(others: readonly ProfileField[], { displayInProfileSummary }: Content): void {
  const shown = others.filter((other) => other.displayInProfileSummary).length;
  if (displayInProfileSummary && shown >= MAX_IN_SUMMARY) {
    const message = `Only ${MAX_IN_SUMMARY} custom profile fields can be displayed in the profile summary.`;
    throw new ConflictError(message, { parameter: IN_SUMMARY });
  }
}

async function publishFields(tx: Tx, emit: Emit, organizationId: number): Promise<ProfileField[]> {
  const fields = await readProfileFields(tx, organizationId);
  emit(profileFieldsChanged(fields), everyone());
  return fields;
}

/** Deletes the values that selected a removed option, and notifies all users. */
async function dropLostChoices(tx: Tx, emit: Emit, field: ProfileField): Promise<void> {
  const choices = choicesOf(field);
  if (choices === undefined) return;
  const lost = await tx.$queryRaw<{ userId: number }[]>`
    DELETE FROM profile_value
    WHERE realm_id = ${field.organizationId} AND field_id = ${field.id} AND value <> ALL(${choices.map(({ key }) => key)}::text[])
    RETURNING user_id AS "userId"`;
  for (const userId of lost.map((row) => row.userId).sort((a, b) => a - b)) {
    emit(profileValueChanged(userId, field.id, undefined), everyone());
  }
}
