import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { getMatchesNarrow } from '../rest.ts';

export const narrow: Feature = {
  endpoints: [getMatchesNarrow],
};
