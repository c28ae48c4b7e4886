import type { StateGroup } from '../../api/state-group.ts';
import { toWire } from '../wire-profile-fields.ts';
import { FIELD_TYPES } from './field-types.ts';
import { readProfileFields } from './fields.ts';

export const profileFieldsState: StateGroup = {
  name: 'custom_profile_fields',
  async read({ viewer, db }) {
    const fields = await readProfileFields(db, viewer.realm.id);
    return { custom_profile_fields: fields.map(toWire), custom_profile_field_types: FIELD_TYPES };
  },
};
