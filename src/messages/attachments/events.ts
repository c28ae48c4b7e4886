import { z } from 'zod';
import type { AddressedEvent } from '../../events/append.ts';
import { users } from '../../events/audience.ts';
import { defineEvent } from '../../events/define.ts';
import type { Emit } from '../../events/log.ts';
import { documentEvent } from '../../events/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { linkedAttachments, spaceUsedBy } from './queries.ts';
import { type LinkedAttachment, toWire, type WireAttachment, wireAttachment } from './wire.ts';

// The events below are sent only to the clients of the user who uploaded the file.

/** Data of an attachment in an event, from which REST events and GraphQL fields are made. */
export interface AttachmentSnapshot extends WireAttachment {
  readonly owner_id: number;
  readonly media_type: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly is_animated: boolean;
  /** Time of the upload, in ISO 8601 with milliseconds. */
  readonly created_at: string;
}

interface ChangedPayload {
  readonly attachment: AttachmentSnapshot;
  readonly upload_space_used: number;
}

const toSnapshot = (attachment: LinkedAttachment): AttachmentSnapshot => ({
  ...toWire(attachment),
  owner_id: attachment.ownerId,
  media_type: attachment.mediaType,
  width: attachment.width,
  height: attachment.height,
  is_animated: attachment.isAnimated,
  created_at: attachment.createdAt.toISOString(),
});

const wireOf = ({ id, name, path_id, size, create_time, message_ids }: AttachmentSnapshot): WireAttachment => ({
  ...{ id, name, path_id, size, create_time, message_ids },
});

const changed = (op: 'add' | 'update') =>
  defineEvent(
    'attachment',
    op,
    (attachment: LinkedAttachment, spaceUsed: number): ChangedPayload => ({
      attachment: toSnapshot(attachment),
      upload_space_used: spaceUsed,
    }),
    {
      render: ({ attachment, upload_space_used }) => ({
        ...{ type: 'attachment', op, attachment: wireOf(attachment), upload_space_used },
      }),
      facts: ({ attachment }) => attachment,
    },
  );

export const attachmentAdded = changed('add');
export const attachmentUpdated = changed('update');
export const attachmentRemoved = defineEvent('attachment', 'remove', (id: number, spaceUsed: number) => ({
  attachment: { id },
  upload_space_used: spaceUsed,
}));

const upload_space_used = z.int().describe("Size of all of the user's files, in bytes.");
documentEvent(attachmentAdded, 'the user who uploaded the file', { attachment: wireAttachment, upload_space_used });
documentEvent(attachmentUpdated, 'the user who uploaded the file', { attachment: wireAttachment, upload_space_used });
documentEvent(attachmentRemoved, 'the user who uploaded the file', {
  attachment: z.object({ id: z.int() }),
  upload_space_used,
});

/**
 * Emits an event for each of the attachments, with the messages that link to it when the events are logged: after those that
 * were emitted before this call.
 */
export function emitLinksChanged(emit: Emit, organizationId: number, attachmentIds: readonly number[]): void {
  if (attachmentIds.length === 0) return;
  emit.writing(async (tx, append) => append(await eventsOf(tx, organizationId, attachmentIds)));
}

async function eventsOf(tx: Tx, organizationId: number, attachmentIds: readonly number[]): Promise<AddressedEvent[]> {
  const changed = await linkedAttachments(tx, { organizationId, id: { in: [...attachmentIds] } });
  const spaceOf = new Map<number, number>();
  for (const ownerId of new Set(changed.map((attachment) => attachment.ownerId))) {
    spaceOf.set(ownerId, await spaceUsedBy(tx, { organizationId, ownerId }));
  }
  return changed.map((attachment) => ({
    event: attachmentUpdated(attachment, spaceOf.get(attachment.ownerId) ?? 0),
    audience: users([attachment.ownerId]),
  }));
}
