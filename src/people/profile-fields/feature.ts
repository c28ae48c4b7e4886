import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { toWire } from '../wire-profile-fields.ts';
import { FIELD_TYPES } from './field-types.ts';
import { readProfileFields } from './fields.ts';
import {
  deleteOwnProfileData,
  deleteProfileFieldEndpoint,
  getProfileFields,
  patchOwnProfileData,
  patchProfileField,
  patchProfileFields,
  postProfileField,
} from './rest.ts';

const profileFieldsState: StateGroup = {
  name: 'custom_profile_fields',
  async read({ viewer, db }) {
    const fields = await readProfileFields(db, viewer.organization.id);
    return { custom_profile_fields: fields.map(toWire), custom_profile_field_types: FIELD_TYPES };
  },
};

export const profileFields: Feature = {
  endpoints: [
    patchOwnProfileData,
    deleteOwnProfileData,
    getProfileFields,
    postProfileField,
    patchProfileFields,
    patchProfileField,
    deleteProfileFieldEndpoint,
  ],
  state: [profileFieldsState],
};
