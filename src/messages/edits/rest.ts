import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { deleteMessage } from './delete.ts';
import { updateMessage } from './edit.ts';
import { PROPAGATE_MODES } from './events.ts';
import { readHistory } from './history.ts';
import { toWireSnapshot, wireSnapshot } from './wire.ts';

const message_id = inPath(z.int(), { description: 'The message.' });

export const patchMessage = endpoint({
  method: 'PATCH',
  path: '/messages/{message_id}',
  auth: 'basic',
  twins: ['editMessage', 'moveMessages'],
  summary: 'Edit or move a message',
  description:
    'Its content, which is for its sender to edit; its topic or its channel, and those of others of its topic.',
  params: {
    message_id,
    topic: text(z.string(), { alias: 'subject', description: 'Where it is to go. Cut to 60 characters.' }).optional(),
    propagate_mode: text(z.enum(PROPAGATE_MODES), {
      description: 'What goes along: nothing, the later messages of the topic, or all of it.',
    }).default('change_one'),
    send_notification_to_old_thread: json(z.boolean(), {
      description: 'Whether the old topic is told where they went.',
    }).default(false),
    send_notification_to_new_thread: json(z.boolean(), {
      description: 'Whether the new topic is told where they came from.',
    }).default(true),
    content: text(z.string(), { description: 'Flavored Markdown. Cut to 10,000 characters.' }).optional(),
    prev_content_sha256: text(z.string(), {
      description: 'SHA-256, in hex, of the content the edit is based on: another is refused.',
    }).optional(),
    stream_id: json(z.int(), { description: 'The channel where it is to go.' }).optional(),
  },
  reply: { detached_uploads: z.array(z.unknown()) },
  async handle(ctx, values) {
    await updateMessage(ctx, values.message_id, {
      content: values.content,
      prevContentSha256: values.prev_content_sha256,
      topic: values.topic,
      channelId: values.stream_id,
      propagateMode: values.propagate_mode,
      notifiesOldTopic: values.send_notification_to_old_thread,
      notifiesNewTopic: values.send_notification_to_new_thread,
    });
    return { detached_uploads: [] };
  },
});

export const deleteMessageEndpoint = endpoint({
  method: 'DELETE',
  path: '/messages/{message_id}',
  auth: 'basic',
  twins: ['deleteMessage'],
  summary: 'Delete a message',
  params: { message_id },
  reply: {},
  async handle(ctx, { message_id }) {
    await deleteMessage(ctx, message_id);
  },
});

export const getMessageHistory = endpoint({
  method: 'GET',
  path: '/messages/{message_id}/history',
  auth: 'basic',
  twins: ['Message.editHistory'],
  summary: "Get a message's edit history",
  description: 'From the message as it was sent to the message as it is.',
  params: {
    message_id,
    allow_empty_topic_name: json(z.boolean(), {
      description: "Whether the empty topic comes as it is, and not by the organization's name for it.",
    }).default(false),
  },
  reply: { message_history: z.array(wireSnapshot) },
  async handle(ctx, { message_id, allow_empty_topic_name }) {
    const history = await readHistory(ctx, message_id);
    const shown = { emptyTopicName: emptyTopicName(ctx.viewer.realm), knowsEmptyTopic: allow_empty_topic_name };
    return { message_history: history.map((snapshot) => toWireSnapshot(snapshot, shown)) };
  },
});
