import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import './graphql-events.ts';
import './graphql-rights.ts';
import './graphql-usage.ts';
import { deleteIcon, getServerSettings, patchOrganization, postIcon } from './rest.ts';
import { organizationState } from './state.ts';

export const organization: Feature = {
  endpoints: [getServerSettings, patchOrganization, postIcon, deleteIcon],
  state: [organizationState],
};
