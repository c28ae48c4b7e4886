import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import './graphql-identities.ts';
import './graphql-sign-out.ts';

export const singleSignOn: Feature = {};
