import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, inPathTail, upload } from '../../api/rest/params.ts';
import { attachmentUrl } from './names.ts';
import {
  completeUpload,
  deleteAttachment,
  discardUpload,
  listAttachments,
  MAX_FILE_BYTES,
  ownSpaceUsed,
  storeUpload,
  tooLarge,
} from './service.ts';
import { temporaryUrl } from './temporary.ts';
import { toWire, wireAttachment } from './wire.ts';

const url = z.string().describe('Path of the file on the host of the organization, for links in messages.');

/** Maximum length of a multipart body beside its file, in bytes. Longer bodies may be refused before they are received. */
const MAX_OVERHEAD_BYTES = 65_536;

export const postUserUploads = endpoint({
  method: 'POST',
  path: '/user_uploads',
  auth: 'basic',
  equivalents: ['uploadFile'],
  summary: 'Upload a file',
  description:
    'A message that links `url` gives its readers access to the file: `[name](url)`. The file is received as a stream, and ' +
    'stored when the response is sent. Positions and other private data are removed from PNG, JPEG, WebP and GIF images. ' +
    'A file that no message, draft or scheduled message links is deleted after two weeks.',
  ignoresIdempotencyKey: true,
  params: { file: upload({ description: 'The file, at most `max_file_upload_size_mib` of `POST /register`.' }) },
  reply: {
    url,
    uri: url.meta({ deprecated: true }).describe('The same as `url`.'),
    filename: z.string().describe('Name of the file, without folders and invisible characters.'),
  },
  async handle(ctx, { file }) {
    if (file.declaredBytes > MAX_FILE_BYTES + MAX_OVERHEAD_BYTES) throw tooLarge();
    const stored = await file.receive(
      (name, content) => storeUpload(ctx, name, content),
      (discarded) => discardUpload(ctx, discarded),
    );
    const saved = await completeUpload(ctx, stored).catch(async (error: unknown) => {
      await discardUpload(ctx, stored);
      throw error;
    });
    const address = attachmentUrl(saved);
    return { url: address, uri: address, filename: saved.name };
  },
});

export const getTemporaryUrl = endpoint({
  method: 'GET',
  path: '/user_uploads/{realm_id}/{filename}',
  auth: 'basic',
  equivalents: ['Attachment.temporaryUrl'],
  summary: 'Get a temporary address of a file',
  description: 'For 60 seconds, the file can be read at this address without authentication.',
  permission: 'the user who uploaded the file, and the readers of a message that links it',
  params: {
    realm_id: inPath(z.int(), { description: 'Id of the organization, from the address of the file.' }),
    filename: inPathTail(z.string(), {
      description: 'Rest of the path of the file, after the id of the organization.',
    }),
  },
  reply: { url: z.string() },
  handle: async (ctx, { realm_id, filename }) => ({ url: await temporaryUrl(ctx, `${realm_id}/${filename}`) }),
});

export const getAttachments = endpoint({
  method: 'GET',
  path: '/attachments',
  auth: 'basic',
  equivalents: ['attachments', 'uploadSpaceUsed'],
  summary: 'List your files',
  description: 'Oldest first.',
  params: {},
  reply: {
    attachments: z.array(wireAttachment),
    upload_space_used: z.int().describe('Size of all of your files, in bytes.'),
  },
  async handle(ctx) {
    const attachments = await listAttachments(ctx);
    return { attachments: attachments.map(toWire), upload_space_used: await ownSpaceUsed(ctx) };
  },
});

export const deleteAttachmentEndpoint = endpoint({
  method: 'DELETE',
  path: '/attachments/{attachment_id}',
  auth: 'basic',
  equivalents: ['deleteAttachment'],
  summary: 'Delete one of your files',
  description: 'Links to it in messages stay, but no longer work.',
  params: { attachment_id: inPath(z.int(), { description: 'Id of the file.' }) },
  reply: {},
  handle: (ctx, { attachment_id }) => deleteAttachment(ctx, attachment_id),
});
