import type { Feature } from '../../api/feature.ts';
import './graphql-projections.ts';
import './graphql.ts';

export const liveCounts: Feature = {};
