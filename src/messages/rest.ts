import { z } from 'zod';
import type { Ctx } from '../access/context.ts';
import { endpoint } from '../api/rest/endpoint.ts';
import { inPath, json, text } from '../api/rest/params.ts';
import { emptyTopicName } from '../channels/topic-name.ts';
import { timeIn } from '../platform/dates.ts';
import { RequestVariableMissingError, UnsupportedParametersError, ValidationError } from '../platform/errors.ts';
import { deleteTopic } from './edits/delete-topic.ts';
import { fetchByIds, fetchMessage, fetchMessages, matchNarrow } from './fetch.ts';
import { type Anchor, NEWEST } from './narrow/narrow-select.ts';
import { Narrow } from './narrow/narrow-terms.ts';
import { normalContent, renderContent } from './sending/content.ts';
import { destinationOf, MESSAGE_TYPES } from './sending/destination.ts';
import { sendMessage } from './sending/send.ts';
import type { Topic } from './topics/topic-pages.ts';
import { listTopics } from './topics/topics.ts';
import { type Shown, shownTopic, wireMessage } from './wire.ts';
import { toWireFetched } from './wire-fetched.ts';

export const postMessage = endpoint({
  method: 'POST',
  path: '/messages',
  auth: 'basic',
  equivalents: ['sendMessage'],
  summary: 'Send a message',
  description: 'Sends a message to a topic of a channel, or to one or more users.',
  rendersStoredData: true,
  params: {
    type: text(z.enum(MESSAGE_TYPES), { description: '"private" is an alias of "direct", and "stream" of "channel".' }),
    to: text(z.string(), {
      description: 'A channel by name or id, or users as a JSON array of ids or of email addresses.',
      example: 'general',
    }),
    content: text(z.string(), { description: 'Flavored Markdown. Truncated to 10,000 characters.' }),
    topic: text(z.string(), {
      alias: 'subject',
      description: 'Topic of a channel message. Truncated to 60 characters.',
    }).optional(),
    queue_id: text(z.string(), { description: 'Id of the event queue that receives `local_id`.' }).optional(),
    local_id: text(z.string().max(100), {
      description:
        'Text by which the client recognizes its message. The event of the message contains it, but only in the ' +
        'queue `queue_id`.',
    }).optional(),
    read_by_sender: json(z.boolean(), {
      description:
        'Whether the message is marked as read for the sender. Absent: true if the message has other recipients and the ' +
        'request comes from a web, desktop, mobile or terminal client. Clients are recognized by their name, in general ' +
        'the start of the User-Agent.',
    }).optional(),
  },
  reply: { id: z.int(), automatic_new_visibility_policy: z.literal([2, 3]).optional() },
  async handle(ctx, { type, to, content, topic, queue_id, local_id, read_by_sender }) {
    const { id, newPolicy } = await sendMessage(ctx, {
      to: destinationOf(type, to),
      content,
      topic,
      queueId: queue_id,
      localId: local_id,
      readBySender: read_by_sender,
    });
    return { id, ...(newPolicy !== undefined && { automatic_new_visibility_policy: newPolicy }) };
  },
});

const allow_empty_topic_name = json(z.boolean(), {
  description: "Whether the empty topic is returned as an empty string and not as the organization's name for it.",
}).default(false);
const apply_markdown = json(z.boolean(), {
  description: 'Whether content is returned as HTML and not as Markdown.',
}).default(true);
const narrow = json(Narrow, { description: 'Terms of the narrow. A message must match all of them.' }).default([]);

/** Returns the data on which the rendering of messages in a response depends: the viewer and the options of the request. */
const shownTo = (
  { viewer }: Ctx,
  options: { applyMarkdown: boolean; clientGravatar: boolean; knowsEmptyTopic: boolean },
): Shown => ({
  requester: viewer,
  options: { ...options, capabilities: { empty_topic_name: options.knowsEmptyTopic } },
});

const ANCHORS = ['newest', 'oldest', 'first_unread'] as const;

/**
 * Parses the anchor of a request.
 *
 * @throws ValidationError if the anchor is missing or malformed, or if `date` is malformed.
 * @throws RequestVariableMissingError if the anchor is "date" and `date` is missing.
 */
function anchorNamed(name: string | undefined, date: string | undefined): Anchor {
  if (name === undefined) throw new ValidationError("Missing 'anchor' argument.", { parameter: 'anchor' });
  const keyword = ANCHORS.find((anchor) => anchor === name);
  if (keyword !== undefined) return keyword;
  if (name === 'date') {
    if (date === undefined) throw new RequestVariableMissingError('anchor_date');
    const time = timeIn(date);
    if (time === undefined) throw new ValidationError('anchor_date is not a date', { parameter: 'anchor_date' });
    return time;
  }
  if (!/^-?\d{1,30}$/.test(name)) throw new ValidationError('Invalid anchor', { parameter: 'anchor' });
  return Math.min(Math.max(Number(name), 0), NEWEST);
}

const RANGE_PARAMETERS = [
  'num_before',
  'num_after',
  'anchor',
  'message_ids',
  'include_anchor',
  'use_first_unread_anchor',
];

export const getMessages = endpoint({
  method: 'GET',
  path: '/messages',
  auth: 'basic',
  equivalents: ['messages', 'Channel.messages', 'Message.flags', 'Message.reactions'],
  summary: 'Get messages',
  description:
    'Returns messages around an anchor, or messages by id. Without a narrow, a range has messages that you received.',
  params: {
    anchor: text(z.string(), {
      description: 'A message id, "newest", "oldest", "first_unread", or "date" with `anchor_date`.',
      example: 'newest',
    }).optional(),
    anchor_date: text(z.string(), {
      description: 'ISO 8601. The first message sent at or after this time is the anchor.',
    }).optional(),
    num_before: json(z.int().min(0), {
      description: 'Number of messages older than the anchor.',
      example: '20',
    }).optional(),
    num_after: json(z.int().min(0), {
      description: 'Number of messages newer than the anchor.',
      example: '0',
    }).optional(),
    include_anchor: json(z.boolean(), {
      description: 'Whether the message at the anchor is included. Absent: true.',
    }).optional(),
    use_first_unread_anchor: json(z.boolean(), {
      description: 'If true: the anchor is "first_unread", and `anchor` is ignored. Superseded by `anchor`.',
    }).optional(),
    message_ids: json(z.array(z.int()), {
      description: 'Ids of the messages, instead of a range. At most 5,000.',
    }).optional(),
    narrow,
    client_gravatar: json(z.boolean(), {
      description: 'Accepted without effect: `avatar_url` is always included.',
    }).default(true),
    apply_markdown,
    allow_empty_topic_name,
  },
  reply: {
    messages: z.array(wireMessage).describe('In ascending order of ids.'),
    anchor: z
      .number()
      .multipleOf(1)
      .min(0)
      .max(NEWEST)
      .optional()
      .describe('Id of the anchor. 10000000000000000 for "newest".'),
    found_anchor: z.boolean(),
    found_oldest: z.boolean(),
    found_newest: z.boolean(),
    history_limited: z.boolean(),
  },
  async handle(ctx, { message_ids, narrow, client_gravatar, apply_markdown, allow_empty_topic_name, ...range }) {
    const shown = shownTo(ctx, {
      applyMarkdown: apply_markdown,
      clientGravatar: client_gravatar,
      knowsEmptyTopic: allow_empty_topic_name,
    });
    const { anchor, anchor_date, num_before, num_after, include_anchor, use_first_unread_anchor } = range;
    if (message_ids !== undefined) {
      const given = [anchor, num_before, num_after, include_anchor, use_first_unread_anchor];
      if (given.some((value) => value !== undefined)) throw new UnsupportedParametersError(RANGE_PARAMETERS);
      const messages = await fetchByIds(ctx, narrow, message_ids);
      return {
        messages: messages.map((message) => toWireFetched(message, shown)),
        found_anchor: false,
        found_oldest: false,
        found_newest: false,
        history_limited: false,
      };
    }
    const page = await fetchMessages(ctx, narrow, {
      // `use_first_unread_anchor` takes precedence over `anchor`: clients that send it also send a dummy anchor.
      anchor: use_first_unread_anchor === true ? 'first_unread' : anchorNamed(anchor, anchor_date),
      numBefore: num_before ?? 0,
      numAfter: num_after ?? 0,
      includeAnchor: include_anchor ?? true,
    });
    return {
      messages: page.messages.map((message) => toWireFetched(message, shown)),
      anchor: page.anchor,
      found_anchor: page.foundAnchor,
      found_oldest: page.foundOldest,
      found_newest: page.foundNewest,
      history_limited: false,
    };
  },
});

export const getMessage = endpoint({
  method: 'GET',
  path: '/messages/{message_id}',
  auth: 'basic',
  equivalents: ['message'],
  summary: 'Get a message',
  params: { message_id: inPath(z.int(), { description: 'Message id.' }), apply_markdown, allow_empty_topic_name },
  reply: {
    message: wireMessage,
    raw_content: z.string().describe('Content as Markdown, regardless of `apply_markdown`.'),
  },
  async handle(ctx, { message_id, apply_markdown, allow_empty_topic_name }) {
    const message = await fetchMessage(ctx, message_id);
    const options = { applyMarkdown: apply_markdown, clientGravatar: false, knowsEmptyTopic: allow_empty_topic_name };
    return { message: toWireFetched(message, shownTo(ctx, options)), raw_content: message.snapshot.content };
  },
});

export const getMatchesNarrow = endpoint({
  method: 'GET',
  path: '/messages/matches_narrow',
  auth: 'basic',
  equivalents: ['messages'],
  summary: 'Check which messages match a narrow',
  description: 'Omits messages that do not match or that you cannot read.',
  params: {
    msg_ids: json(z.array(z.int()), { description: 'Message ids. At most 5,000.', example: '[1]' }),
    narrow: json(Narrow, { description: 'Terms of the narrow. A message must match all of them.', example: '[]' }),
  },
  reply: {
    messages: z
      .record(z.string(), z.object({ match_content: z.string(), match_subject: z.string() }))
      .describe('HTML by message id, with the matches of the search highlighted.'),
  },
  async handle(ctx, { msg_ids, narrow }) {
    const matches = await matchNarrow(ctx, narrow, msg_ids);
    const wire = [...matches].map(([id, { content, topic }]) => [id, { match_content: content, match_subject: topic }]);
    return { messages: Object.fromEntries(wire) };
  },
});

export const postRender = endpoint({
  method: 'POST',
  path: '/messages/render',
  auth: 'basic',
  equivalents: ['renderMessage'],
  scope: 'read',
  summary: 'Render a message without sending it',
  params: { content: text(z.string(), { description: 'Flavored Markdown. Truncated to 10,000 characters.' }) },
  reply: { rendered: z.string() },
  async handle({ app, work, viewer }, { content }) {
    const { html } = await renderContent(work.db, app, viewer, normalContent(content));
    return { rendered: html };
  },
});

export const getTopics = endpoint({
  method: 'GET',
  path: '/users/me/{stream_id}/topics',
  auth: 'basic',
  equivalents: ['Channel.topics'],
  summary: 'List the topics of a channel',
  description: 'Lists topics with messages that you can read. The topic with the newest message is first.',
  params: {
    stream_id: inPath(z.int(), { description: 'Channel id.' }),
    allow_empty_topic_name,
  },
  reply: { topics: z.array(z.object({ name: z.string(), max_id: z.int() })) },
  async handle(ctx, { stream_id, allow_empty_topic_name }) {
    const topics = await listTopics(ctx, stream_id);
    const name = emptyTopicName(ctx.viewer.organization);
    return { topics: topics.map((topic) => toWireTopic(topic, name, allow_empty_topic_name)) };
  },
});

const toWireTopic = (topic: Topic, emptyName: string, knowsEmptyTopic: boolean) => ({
  name: shownTopic(topic.name, emptyName, knowsEmptyTopic),
  max_id: topic.maxId,
});

export const postDeleteTopic = endpoint({
  method: 'POST',
  path: '/streams/{stream_id}/delete_topic',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  equivalents: ['deleteTopic'],
  scope: 'administration',
  summary: 'Delete a topic',
  description:
    'Deletes its messages, newest first. If `complete` is false, the time limit was reached: call again to continue.',
  permission: 'administrators',
  params: {
    stream_id: inPath(z.int(), { description: 'Channel id.' }),
    topic_name: text(z.string(), {
      description: 'Name of the topic. Case and Unicode normalization form do not matter.',
      example: 'greetings',
    }),
  },
  reply: { complete: z.boolean() },
  async handle(ctx, { stream_id, topic_name }) {
    return { complete: await deleteTopic(ctx, stream_id, topic_name) };
  },
});
