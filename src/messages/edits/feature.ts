import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import './graphql-events.ts';
import './event-payloads.ts';
import { deleteMessageEndpoint, getMessageHistory, patchMessage } from './rest.ts';

export const edits: Feature = {
  endpoints: [patchMessage, deleteMessageEndpoint, getMessageHistory],
};
