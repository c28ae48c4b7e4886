import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { deleteDraftEndpoint, getDrafts, patchDraft, postDrafts } from './rest.ts';
import { draftsState } from './state.ts';

export const drafts: Feature = {
  endpoints: [getDrafts, postDrafts, patchDraft, deleteDraftEndpoint],
  state: [draftsState],
};
