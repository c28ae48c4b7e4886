import { z } from 'zod';
import { tells } from '../../events/wire.ts';
import { messagesDeleted, messageUpdated, PROPAGATE_MODES } from './events.ts';

// What is told of messages that change or go, and to whom.

tells(messageUpdated, 'everyone who may read the messages after the change', {
  user_id: z.int().describe('Who changed it.'),
  rendering_only: z.literal(false),
  message_id: z.int(),
  message_ids: z.array(z.int()).describe('All that were moved, or the one that was edited.'),
  flags: z.array(z.string()),
  edit_timestamp: z.int().describe('UNIX seconds.'),
  stream_id: z.int().optional().describe('Where they stood before.'),
  stream_name: z.string().optional(),
  propagate_mode: z.enum(PROPAGATE_MODES).optional(),
  orig_subject: z.string().optional(),
  subject: z.string().optional(),
  topic_links: z.array(z.object({ text: z.string(), url: z.string() })).optional(),
  new_stream_id: z.int().optional(),
  orig_content: z.string().optional(),
  orig_rendered_content: z.string().optional(),
  content: z.string().optional(),
  rendered_content: z.string().optional(),
  is_me_message: z.boolean().optional(),
});
tells(messagesDeleted, 'everyone who could read them', {
  message_ids: z.array(z.int()).optional().describe('For clients that know `bulk_message_deletion`.'),
  message_id: z.int().optional().describe('For others, one event each.'),
  message_type: z.literal(['stream', 'private']),
  stream_id: z.int().optional(),
  topic: z.string().optional(),
});
