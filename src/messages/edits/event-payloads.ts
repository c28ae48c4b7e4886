import { z } from 'zod';
import { documentEvent } from '../../events/wire.ts';
import { PROPAGATE_MODES } from '../locks.ts';
import { messagesDeleted, messageUpdated } from './events.ts';

// Documents the payloads and recipients of the events for changed and deleted messages.

documentEvent(messageUpdated, 'users who can read the messages after the change', {
  user_id: z.int().nullable().describe('User who made the change. Null if `rendering_only` is true.'),
  rendering_only: z.boolean().describe('Whether only previews of links were added to `rendered_content`.'),
  message_id: z.int(),
  message_ids: z.array(z.int()).describe('The moved messages, or the edited one.'),
  flags: z.array(z.string()),
  edit_timestamp: z.int().describe('Time of the change, in UNIX seconds.'),
  stream_id: z.int().optional().describe('Previous channel.'),
  stream_name: z.string().optional(),
  propagate_mode: z.enum(PROPAGATE_MODES).optional(),
  orig_subject: z.string().optional(),
  subject: z.string().optional(),
  topic_links: z.array(z.object({ text: z.string(), url: z.string() })).optional(),
  new_stream_id: z.int().optional(),
  orig_content: z.string().optional(),
  orig_rendered_content: z.string().optional().describe('Absent if it is longer than 65,536 characters.'),
  content: z.string().optional(),
  rendered_content: z.string().optional(),
  is_me_message: z.boolean().optional(),
});
documentEvent(messagesDeleted, 'users who could read the messages', {
  message_ids: z.array(z.int()).optional().describe('Only for clients with the capability `bulk_message_deletion`.'),
  message_id: z.int().optional().describe('Only for clients without this capability, one event per message.'),
  message_type: z.literal(['stream', 'private']),
  stream_id: z.int().optional(),
  topic: z.string().optional(),
});
