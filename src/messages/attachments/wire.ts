import { z } from 'zod';
import type { Attachment } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';
import { pathIdOf } from './names.ts';

export const wireAttachment = z
  .object({
    id: z.int(),
    name: z.string(),
    path_id: z.string().describe('Address of the file below `/user_uploads/`.'),
    size: z.int().describe('Size in bytes.'),
    create_time: z.int().describe('Time of the upload, in UNIX seconds.'),
    message_ids: z.array(z.int()).describe('Ids of the messages that link the file, newest first, at most 100.'),
  })
  .meta({ id: 'Attachment' });
export type WireAttachment = Wire<typeof wireAttachment>;

/** An attachment with the ids of the newest messages that link to it. */
export type LinkedAttachment = Attachment & { readonly messageIds: readonly number[] };

export const toWire = (attachment: LinkedAttachment): WireAttachment => ({
  id: attachment.id,
  name: attachment.name,
  path_id: pathIdOf(attachment),
  size: Number(attachment.size),
  create_time: Math.floor(attachment.createdAt.getTime() / 1000),
  message_ids: [...attachment.messageIds],
});
