import type { Feature } from '../api/feature.ts';
import './graphql.ts';
import './graphql-content.ts';
import './graphql-events.ts';
import './graphql-matches.ts';
import './graphql-pages.ts';
import { getMessage, getMessages, postMessage } from './rest.ts';

export const messages: Feature = {
  endpoints: [postMessage, getMessages, getMessage],
};
