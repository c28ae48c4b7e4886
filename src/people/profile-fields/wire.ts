import { z } from 'zod';
import type { ProfileField, ProfileValue } from '../../generated/prisma/client.ts';

export interface WireProfileField {
  readonly id: number;
  readonly type: number;
  readonly order: number;
  readonly name: string;
  readonly hint: string;
  /** JSON text for types 3 and 7; "" for the others. */
  readonly field_data: string;
  readonly required: boolean;
  readonly editable_by_user: boolean;
  readonly display_in_profile_summary?: true;
  readonly use_for_user_matching?: true;
}

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

export interface WireProfileValue {
  readonly value: string;
  /** HTML, for the types that are Markdown. */
  readonly rendered_value?: string;
}

/** What a user said, by the id of the field; those left empty are absent. */
export type WireProfileData = Readonly<Record<number, WireProfileValue>>;

export function toWireValue({ value, renderedValue }: Pick<ProfileValue, 'value' | 'renderedValue'>): WireProfileValue {
  return { value, ...(renderedValue !== null && { rendered_value: renderedValue }) };
}

/** Profile data as clients send it. What a value may be, its field says. */
export const profileDataSent = z.array(z.object({ id: z.int(), value: z.unknown().nonoptional() }));

export const toEntries = (sent: z.output<typeof profileDataSent>): readonly ValueEntry[] =>
  sent.map(({ id, value }) => ({ fieldId: id, value }));

/** What a user is to have in a field. */
export interface ValueEntry {
  readonly fieldId: number;
  /** As the client sent it: a text, or a list of user ids for a field of users. Null, "" and [] take the value away. */
  readonly value: unknown;
}
