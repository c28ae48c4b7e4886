import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { sharedBudget } from '../../markdown/diff.ts';
import { LongWork } from '../../platform/time-slices.ts';
import { detachedFiles } from '../attachments/service.ts';
import { toWire as toWireAttachment, wireAttachment } from '../attachments/wire.ts';
import { PROPAGATE_MODES } from '../locks.ts';
import { deleteMessage } from './delete.ts';
import { updateMessage } from './edit.ts';
import { readHistory } from './history.ts';
import { toWireSnapshot, type WireSnapshot, wireSnapshot } from './wire.ts';

const message_id = inPath(z.int(), { description: 'Message id.' });

export const patchMessage = endpoint({
  method: 'PATCH',
  path: '/messages/{message_id}',
  auth: 'basic',
  equivalents: ['editMessage', 'moveMessages', 'resolveTopic', 'unresolveTopic'],
  summary: 'Edit or move a message',
  description:
    'Changes the content of your own message, or the topic or channel of a message and of others in its topic.',
  params: {
    message_id,
    topic: text(z.string(), {
      alias: 'subject',
      description: 'Name of the target topic. Truncated to 60 characters.',
    }).optional(),
    propagate_mode: text(z.enum(PROPAGATE_MODES), {
      description: 'Messages to move: only this one, this one and all later ones of the topic, or all of the topic.',
    }).default('change_one'),
    send_notification_to_old_thread: json(z.boolean(), {
      description: 'Whether a notice about the move is sent to the old topic.',
    }).default(false),
    send_notification_to_new_thread: json(z.boolean(), {
      description: 'Whether a notice about the move is sent to the new topic.',
    }).default(true),
    content: text(z.string(), {
      description: 'New content as flavored Markdown. Truncated to 10,000 characters.',
    }).optional(),
    prev_content_sha256: text(z.string(), {
      description:
        'SHA-256 of the content that you edited, in hexadecimal. If the content has changed, the edit is refused.',
    }).optional(),
    stream_id: json(z.int(), { description: 'Id of the target channel.' }).optional(),
  },
  reply: {
    detached_uploads: z
      .array(wireAttachment)
      .describe('Your files to which the message linked before the edit, and to which no message links now.'),
  },
  async handle(ctx, values) {
    const detachedIds = await updateMessage(ctx, values.message_id, {
      content: values.content,
      prevContentSha256: values.prev_content_sha256,
      topic: values.topic,
      channelId: values.stream_id,
      propagateMode: values.propagate_mode,
      notifiesOldTopic: values.send_notification_to_old_thread,
      notifiesNewTopic: values.send_notification_to_new_thread,
    });
    return { detached_uploads: (await detachedFiles(ctx, detachedIds)).map(toWireAttachment) };
  },
});

export const deleteMessageEndpoint = endpoint({
  method: 'DELETE',
  path: '/messages/{message_id}',
  auth: 'basic',
  equivalents: ['deleteMessage'],
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
  equivalents: ['Message.editHistory'],
  summary: "Get a message's edit history",
  description: 'States of the message from its sending to its current version, oldest first.',
  params: {
    message_id,
    allow_empty_topic_name: json(z.boolean(), {
      description: "Whether the empty topic is returned as an empty string and not as the organization's name for it.",
    }).default(false),
  },
  reply: { message_history: z.array(wireSnapshot) },
  async handle(ctx, { message_id, allow_empty_topic_name }) {
    const history = await readHistory(ctx, message_id);
    const topics = { emptyTopicName: emptyTopicName(ctx.viewer.organization), knowsEmptyTopic: allow_empty_topic_name };
    const shown = { ...topics, budget: sharedBudget() };
    // Yields to the event loop between snapshots, because comparing a thousand long versions takes a second.
    const work = new LongWork();
    const snapshots: WireSnapshot[] = [];
    for (const snapshot of history) {
      await work.pause();
      snapshots.push(toWireSnapshot(snapshot, shown));
    }
    return { message_history: snapshots };
  },
});
