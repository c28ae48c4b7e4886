import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { deleteAttachmentEndpoint, getAttachments, getTemporaryUrl, postUserUploads } from './rest.ts';
import { attachmentState } from './state.ts';

export const attachments: Feature = {
  endpoints: [postUserUploads, getTemporaryUrl, getAttachments, deleteAttachmentEndpoint],
  state: [attachmentState],
};
