import type { Feature } from '../api/feature.ts';
import './graphql.ts';
import './graphql-events.ts';
import { userSettingsState, usersState } from './state.ts';

export const people: Feature = {
  state: [usersState, userSettingsState],
};
