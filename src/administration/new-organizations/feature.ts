import type { Feature } from '../../api/feature.ts';
import './graphql.ts';

export const newOrganizations: Feature = {};
