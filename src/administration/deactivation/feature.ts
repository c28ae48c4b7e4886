import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { deleteOwnUser, deleteUser, postReactivate } from './rest.ts';

export const deactivation: Feature = {
  endpoints: [deleteUser, deleteOwnUser, postReactivate],
};
