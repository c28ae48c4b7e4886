import { z } from 'zod';
import type { ProfileField, ProfileValue } from '../generated/prisma/client.ts';
import type { Wire } from '../platform/wire.ts';

export const wireProfileField = z
  .object({
    id: z.int(),
    type: z.int(),
    order: z.int(),
    name: z.string(),
    hint: z.string(),
    field_data: z.string().describe('JSON text for types 3 and 7. "" for other types.'),
    required: z.boolean(),
    editable_by_user: z.boolean(),
    display_in_profile_summary: z.literal(true).optional(),
    use_for_user_matching: z.literal(true).optional(),
  })
  .meta({ id: 'ProfileField' });
export type WireProfileField = Wire<typeof wireProfileField>;

export function toWire(field: ProfileField): WireProfileField {
  return {
    id: field.id,
    type: field.type,
    order: field.order,
    name: field.name,
    hint: field.hint,
    field_data: field.fieldData,
    required: field.required,
    editable_by_user: field.editableByUser,
    ...(field.displayInProfileSummary && { display_in_profile_summary: true as const }),
    ...(field.useForUserMatching && { use_for_user_matching: true as const }),
  };
}

const wireProfileValue = z
  .object({
    value: z.string(),
    rendered_value: z.string().optional().describe('The value as HTML, for the types whose values are Markdown.'),
  })
  .meta({ id: 'ProfileValue' });
export type WireProfileValue = Wire<typeof wireProfileValue>;

/** A user's profile values, by field id. Empty fields are absent. */
export const wireProfileData = z.record(z.string(), wireProfileValue);
export type WireProfileData = Wire<typeof wireProfileData>;

export function toWireValue({ value, renderedValue }: Pick<ProfileValue, 'value' | 'renderedValue'>): WireProfileValue {
  return { value, ...(renderedValue !== null && { rendered_value: renderedValue }) };
}

/** Profile data as clients send it. The field determines which values are valid. */
export const profileDataSent = z.array(z.object({ id: z.int(), value: z.unknown().nonoptional() }));

export const toEntries = (sent: z.output<typeof profileDataSent>): readonly ValueEntry[] =>
  sent.map(({ id, value }) => ({ fieldId: id, value }));

/** New value of a user's profile field. */
export interface ValueEntry {
  readonly fieldId: number;
  /** Value from the client: a text, or a list of user ids for a field of users. Null, "" and [] empty the field. */
  readonly value: unknown;
}
