import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import './graphql-inputs.ts';
import { fetchApiKey, jwtFetchApiKey } from './rest.ts';

export const signIn: Feature = {
  endpoints: [fetchApiKey, jwtFetchApiKey],
};
