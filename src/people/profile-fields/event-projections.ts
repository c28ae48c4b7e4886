import { EventProjection } from '../../api/graphql/schema/event-projections.ts';
import type { WireProfileField } from '../wire-profile-fields.ts';
import { choicesOf, urlPatternOf } from './field-data.ts';

const stored = ({ type, field_data }: WireProfileField) => ({ type, fieldData: field_data });

/** Event projection of a field that the event contains in full. */
export const fieldProjection = new EventProjection<WireProfileField>(
  'CustomProfileField',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    type: ({ type }) => type,
    order: ({ order }) => order,
    name: ({ name }) => name,
    hint: ({ hint }) => hint,
    choices: (field) => choicesOf(stored(field)),
    urlPattern: (field) => urlPatternOf(stored(field)),
    displayInProfileSummary: (field) => field.display_in_profile_summary ?? false,
    required: ({ required }) => required,
    editableByUser: (field) => field.editable_by_user,
    useForUserMatching: (field) => field.use_for_user_matching ?? false,
  },
);
