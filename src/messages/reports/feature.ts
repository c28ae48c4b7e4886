import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { postReport } from './rest.ts';

export const reports: Feature = {
  endpoints: [postReport],
};
