import type { Ctx } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { asOfNow } from '../../access/sign-in.ts';
import { everyone } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { Prisma, type ProfileField } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { isAlike, requireReadable } from '../../platform/names.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { profileValueChanged } from '../events.ts';
import { lockRealm } from '../locks.ts';
import { profileFieldsChanged } from './events.ts';
import { choicesOf, type FieldData, requireFieldData } from './field-data.ts';
import { canBeInSummary, canMatchUsers, isFieldType } from './field-types.ts';

/** Maximum lengths of a name and a hint, in code points. */
const MAX_NAME_LENGTH = 40;
const MAX_HINT_LENGTH = 80;
const MAX_IN_SUMMARY = 2;

/** Properties of a field. Absent properties are not changed, or have their defaults in a new field. */
export interface FieldEdit {
  /** 1 to 40 code points, after surrounding white space is removed. No other field has the name, ignoring case. */
  readonly name?: string | undefined;
  /** Hint that helps users to fill in the field: at most 80 code points. */
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
export function listProfileFields({ app, realmId }: Ctx): Promise<ProfileField[]> {
  return readProfileFields(app.db, realmId);
}

/** Returns the organization's fields in order. */
export function readProfileFields(db: Pick<Tx, 'profileField'>, realmId: number): Promise<ProfileField[]> {
  return db.profileField.findMany({ where: { realmId }, orderBy: [{ order: 'asc' }, { id: 'asc' }] });
}

export const noSuchField = (fieldId: number) => new BadRequestError(`Field id ${fieldId} not found.`);

async function requireField(db: Pick<Tx, 'profileField'>, realmId: number, id: number): Promise<ProfileField> {
  const field = isRowId(id) ? await db.profileField.findFirst({ where: { realmId, id } }) : null;
  if (field === null) throw noSuchField(id);
  return field;
}

type Content = Omit<ProfileField, 'id' | 'realmId' | 'type' | 'order'>;

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
 * Creates a field, last in the order.
 *
 * @param type 1 short text, 2 paragraph, 3 choice, 4 date, 5 link, 6 users, 7 external account, 8 pronouns.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if the type is unknown, the label is blank, too long or in use, or the data is invalid. Also
 *   if the type cannot be shown in the summary or used for matching, or the summary is full.
 * @throws TotalReachedError if the organization would have more than 100 fields.
 */
export async function createProfileField(ctx: Ctx, type: number, input: FieldEdit): Promise<ProfileField> {
  requireAdministrator(ctx);
  const { realmId } = ctx;
  if (!isFieldType(type)) throw new BadRequestError('Invalid field type.');
  const content = contentAfter({ type, ...INITIAL }, { name: '', fieldData: {}, ...given(input) });
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, realmId);
    requireAdministrator(await asOfNow(tx, ctx));
    const others = await readProfileFields(tx, realmId);
    requireWithin('custom_profile_fields', 1 + others.length);
    await requireFreeLabel(tx, realmId, content.name);
    requireRoomInSummary(others, content);
    const { id } = await tx.profileField.create({ data: { ...content, realmId, type, order: 0 } });
    // Ids increase, so the new field comes after all others, whatever their order.
    const field = await tx.profileField.update({ where: { realmId_id: { realmId, id } }, data: { order: id } });
    emit(profileFieldsChanged([...others, field]), everyone());
    return field;
  });
}

/**
 * Changes the given properties of a field. If the field already has all the values, there is no effect. Values that selected a
 * removed option are deleted, and all users are notified.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if there is no such field, and in the cases in which `createProfileField` throws it.
 */
export async function updateProfileField(ctx: Ctx, fieldId: number, edit: FieldEdit): Promise<ProfileField> {
  requireAdministrator(ctx);
  const { realmId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, realmId);
    requireAdministrator(await asOfNow(tx, ctx));
    const field = await requireField(tx, realmId, fieldId);
    const content = contentAfter(field, edit);
    if (Object.entries(content).every(([name, value]) => field[name as keyof Content] === value)) return field;
    const others = (await readProfileFields(tx, realmId)).filter(({ id }) => id !== fieldId);
    await requireFreeLabel(tx, realmId, content.name, fieldId);
    requireRoomInSummary(others, content);
    const changed = await tx.profileField.update({ where: { realmId_id: { realmId, id: fieldId } }, data: content });
    await publishFields(tx, emit, realmId);
    if (content.fieldData !== field.fieldData) await dropLostChoices(tx, emit, changed);
    return changed;
  });
}

/**
 * Deletes a field and all its values. Clients drop the values of fields that are no longer listed.
 *
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if there is no such field.
 */
export async function deleteProfileField(ctx: Ctx, fieldId: number): Promise<void> {
  requireAdministrator(ctx);
  await transact(ctx, async (tx, emit) => {
    await lockRealm(tx, ctx.realmId);
    requireAdministrator(await asOfNow(tx, ctx));
    await requireField(tx, ctx.realmId, fieldId);
    await tx.profileField.delete({ where: { realmId_id: { realmId: ctx.realmId, id: fieldId } } });
    await publishFields(tx, emit, ctx.realmId);
  });
}

/**
 * Reorders the organization's fields. If the order is already the given one, there is no event.
 *
 * @param fieldIds Every field's id once.
 * @returns All fields in the new order.
 * @throws UnauthorizedPrincipalError unless the viewer is an administrator.
 * @throws BadRequestError if a field is missing, unknown, or repeated.
 */
export async function reorderProfileFields(ctx: Ctx, fieldIds: readonly number[]): Promise<ProfileField[]> {
  requireAdministrator(ctx);
  const { realmId } = ctx;
  return transact(ctx, async (tx, emit) => {
    await lockRealm(tx, realmId);
    requireAdministrator(await asOfNow(tx, ctx));
    const fields = await readProfileFields(tx, realmId);
    const named = new Set(fieldIds);
    const isWhole = named.size === fieldIds.length && named.size === fields.length;
    if (!isWhole || !fields.every(({ id }) => named.has(id))) throw new BadRequestError('Invalid order mapping.');
    if (fields.every(({ id }, i) => id === fieldIds[i])) return fields;
    await tx.$executeRaw`
      UPDATE profile_field SET position = places.place - 1
      FROM unnest(${[...fieldIds]}::int[]) WITH ORDINALITY AS places(id, place)
      WHERE profile_field.realm_id = ${realmId} AND profile_field.id = places.id`;
    return publishFields(tx, emit, realmId);
  });
}

/** Removes undefined properties from an edit. */
const given = (edit: FieldEdit): FieldEdit =>
  Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));

/** Returns a field's content after an edit. Checks only rules that concern this field alone. */
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
    throw new BadRequestError('Field type not supported for display in profile summary.');
  }
  if (content.useForUserMatching && !canMatchUsers(type)) {
    throw new BadRequestError('Field type not supported for user matching.');
  }
  return content;
}

function requireLabel(name: string): string {
  const label = requireText('name', name, { strip: true, max: MAX_NAME_LENGTH });
  if (label === '') throw new BadRequestError('Label cannot be blank.');
  return label;
}

/**
 * Rejects a label that another field has, within a transaction that locked the organization's row. The database compares the
 * labels as its unique index does.
 *
 * @throws BadRequestError if a field other than `exceptId` has the label, ignoring case.
 */
async function requireFreeLabel(tx: Tx, realmId: number, name: string, exceptId = 0): Promise<void> {
  requireReadable('label', name);
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM profile_field
    WHERE realm_id = ${realmId} AND ${isAlike(Prisma.sql`name`, name)} AND id <> ${exceptId} LIMIT 1`;
  if (taken.length > 0) throw new BadRequestError('A field with that label already exists.');
}

/** Rejects another field in the profile summary if the summary already has the maximum of two. @throws BadRequestError */
function requireRoomInSummary(others: readonly ProfileField[], { displayInProfileSummary }: Content): void {
  const shown = others.filter((other) => other.displayInProfileSummary).length;
  if (displayInProfileSummary && shown >= MAX_IN_SUMMARY) {
    throw new BadRequestError(`Only ${MAX_IN_SUMMARY} custom profile fields can be displayed in the profile summary.`);
  }
}

async function publishFields(tx: Tx, emit: Emit, realmId: number): Promise<ProfileField[]> {
  const fields = await readProfileFields(tx, realmId);
  emit(profileFieldsChanged(fields), everyone());
  return fields;
}

/** Deletes the values that selected a removed option, and notifies all users. */
async function dropLostChoices(tx: Tx, emit: Emit, field: ProfileField): Promise<void> {
  const choices = choicesOf(field);
  if (choices === undefined) return;
  const lost = await tx.$queryRaw<{ userId: number }[]>`
    DELETE FROM profile_value
    WHERE realm_id = ${field.realmId} AND field_id = ${field.id} AND value <> ALL(${choices.map(({ key }) => key)}::text[])
    RETURNING user_id AS "userId"`;
  for (const userId of lost.map((row) => row.userId).sort((a, b) => a - b)) {
    emit(profileValueChanged(userId, field.id, undefined), everyone());
  }
}
