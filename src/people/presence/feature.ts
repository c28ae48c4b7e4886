import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { getOrganizationPresence, getPresence, getPresenceByEmail, postPresence } from './rest.ts';
import { presenceState } from './state.ts';

export const presence: Feature = {
  endpoints: [postPresence, getPresence, getPresenceByEmail, getOrganizationPresence],
  state: [presenceState],
};
