import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { getUserStatus, postOwnStatus, postUserStatus } from './rest.ts';
import { userStatusState } from './state.ts';

export const status: Feature = {
  endpoints: [postUserStatus, postOwnStatus, getUserStatus],
  state: [userStatusState],
};
