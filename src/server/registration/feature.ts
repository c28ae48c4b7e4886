import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { emptyGroups } from './empty-groups.ts';
import { deleteEvents, getEventsEndpoint, postRegister } from './rest.ts';

export const registration: Feature = {
  endpoints: [postRegister, getEventsEndpoint, deleteEvents],
  state: emptyGroups,
};
