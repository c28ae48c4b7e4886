import { z } from 'zod';
import type { Ctx } from '../access/context.ts';
import { endpoint } from '../api/rest/endpoint.ts';
import { inPath, json, text } from '../api/rest/params.ts';
import { emptyTopicName } from '../channels/topic-name.ts';
import { BadRequestError, RequestVariableMissingError, UnsupportedParametersError } from '../platform/errors.ts';
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
  twins: ['sendMessage'],
  summary: 'Send a message',
  description: 'To a channel, under a topic, or to one or more people.',
  repliesFirst: true,
  params: {
    type: text(z.enum(MESSAGE_TYPES), { description: '"private" and "stream" are older words for the others.' }),
    to: text(z.string(), {
      description: 'A channel by name or id; or people, as a JSON array of ids or of e-mail addresses.',
      example: 'general',
    }),
    content: text(z.string(), { description: 'Flavored Markdown. Cut to 10,000 characters.' }),
    topic: text(z.string(), {
      alias: 'subject',
      description: 'Of a channel message. Cut to 60 characters.',
    }).optional(),
    queue_id: text(z.string(), { description: 'The queue that is to hear `local_id`.' }).optional(),
    local_id: text(z.string().max(100), { description: 'Comes back with the event.' }).optional(),
    read_by_sender: json(z.boolean(), {
      description: 'Whether the sender has read it. Absent: whether an interactive client sends it to somebody else.',
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
  description: "Whether the empty topic comes as it is, and not by the organization's name for it.",
}).default(false);
const apply_markdown = json(z.boolean(), { description: 'Whether content comes as HTML, and not as source.' }).default(
  true,
);
const narrow = json(Narrow, { description: 'Terms, all of which a message must match.' }).default([]);

/** How a reply shows messages to the viewer. */
const shownTo = (
  { viewer }: Ctx,
  options: { applyMarkdown: boolean; clientGravatar: boolean; knowsEmptyTopic: boolean },
): Shown => ({
  requester: viewer,
  options: { ...options, capabilities: { empty_topic_name: options.knowsEmptyTopic } },
});

const ANCHORS = ['newest', 'oldest', 'first_unread'] as const;

/** Where to read from, as a client names it. */
function anchorNamed(name: string | undefined, date: string | undefined): Anchor {
  if (name === undefined) throw new BadRequestError("Missing 'anchor' argument.");
  const keyword = ANCHORS.find((anchor) => anchor === name);
  if (keyword !== undefined) return keyword;
  if (name === 'date') {
    if (date === undefined) throw new RequestVariableMissingError('anchor_date');
    return dateNamed(date);
  }
  if (!/^-?\d{1,30}$/.test(name)) throw new BadRequestError('Invalid anchor');
  return Math.min(Math.max(Number(name), 0), NEWEST);
}

/** ISO 8601; a time without a zone is in UTC. */
function dateNamed(text: string): Date {
  const [, day, time = 'T00:00:00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)([T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?(Z|[+-]\d\d:\d\d)?$/i.exec(text) ?? [];
  const date = new Date(`${day}${time.replace(' ', 'T')}${zone}`);
  if (day === undefined || Number.isNaN(date.getTime())) throw new BadRequestError('anchor_date is not a date');
  return date;
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
  twins: ['messages', 'Channel.messages', 'Message.flags', 'Message.reactions'],
  summary: 'Read messages',
  description: 'Around an anchor, or certain ones by their ids. Without a narrow, what you received.',
  params: {
    anchor: text(z.string(), {
      description: 'A message id, "newest", "oldest", "first_unread", or "date" with `anchor_date`.',
      example: 'newest',
    }).optional(),
    anchor_date: text(z.string(), {
      description: 'ISO 8601: the first message sent then or later is the anchor.',
    }).optional(),
    num_before: json(z.int().min(0), { description: 'Older than the anchor.', example: '20' }).optional(),
    num_after: json(z.int().min(0), { description: 'Newer than the anchor.', example: '0' }).optional(),
    include_anchor: json(z.boolean(), { description: 'Whether the anchor is read too. Absent: true.' }).optional(),
    use_first_unread_anchor: json(z.boolean(), {
      description: 'An older word for anchor "first_unread"; `anchor` then counts for nothing.',
    }).optional(),
    message_ids: json(z.array(z.int()), { description: 'Instead of a range; at most 5,000.' }).optional(),
    narrow,
    client_gravatar: json(z.boolean(), {
      description: 'Whether `avatar_url` is null where the client can work it out.',
    }).default(true),
    apply_markdown,
    allow_empty_topic_name,
  },
  reply: {
    messages: z.array(wireMessage).describe('Ascending by id.'),
    anchor: z
      .number()
      .multipleOf(1)
      .min(0)
      .max(NEWEST)
      .optional()
      .describe('The id that was read around; 10000000000000000 for the newest.'),
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
      // Whatever else is named: clients send a dummy with it.
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
  twins: ['message'],
  summary: 'Read one message',
  params: { message_id: inPath(z.int(), { description: 'The message.' }), apply_markdown, allow_empty_topic_name },
  reply: { message: wireMessage, raw_content: z.string().describe('Older than `apply_markdown`: always the source.') },
  async handle(ctx, { message_id, apply_markdown, allow_empty_topic_name }) {
    const message = await fetchMessage(ctx, message_id);
    const options = { applyMarkdown: apply_markdown, clientGravatar: false, knowsEmptyTopic: allow_empty_topic_name };
    return { message: toWireFetched(message, shownTo(ctx, options)), raw_content: message.facts.content };
  },
});

export const getMatchesNarrow = endpoint({
  method: 'GET',
  path: '/messages/matches_narrow',
  auth: 'basic',
  twins: ['messages'],
  summary: 'Find out which messages are in a narrow',
  description: 'Those that are not, or that you may not read, are left out.',
  params: {
    msg_ids: json(z.array(z.int()), { description: 'At most 5,000.', example: '[1]' }),
    narrow: json(Narrow, { description: 'Terms, all of which a message must match.', example: '[]' }),
  },
  reply: {
    messages: z
      .record(z.string(), z.object({ match_content: z.string(), match_subject: z.string() }))
      .describe('By id; HTML, with what was searched for marked.'),
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
  twins: ['renderMessage'],
  summary: 'Render a message without sending it',
  params: { content: text(z.string(), { description: 'Flavored Markdown.' }) },
  reply: { rendered: z.string() },
  async handle({ app, viewer }, { content }) {
    const { html } = await renderContent(app.db, app, viewer, normalContent(content));
    return { rendered: html };
  },
});

export const getTopics = endpoint({
  method: 'GET',
  path: '/users/me/{stream_id}/topics',
  auth: 'basic',
  twins: ['Channel.topics'],
  summary: 'List the topics of a channel',
  description: 'Those with messages you may read, the one last written to first.',
  params: {
    stream_id: inPath(z.int(), { description: 'The channel.' }),
    allow_empty_topic_name,
  },
  reply: { topics: z.array(z.object({ name: z.string(), max_id: z.int() })) },
  async handle(ctx, { stream_id, allow_empty_topic_name }) {
    const topics = await listTopics(ctx, stream_id);
    const name = emptyTopicName(ctx.viewer.realm);
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
  twins: ['deleteTopic'],
  summary: 'Delete a topic',
  description: 'Its messages, the newest first. When `complete` is false, time was up: call again, and it goes on.',
  permission: 'administrators',
  params: {
    stream_id: inPath(z.int(), { description: 'The channel.' }),
    topic_name: text(z.string(), { description: 'The topic, in whatever case.', example: 'greetings' }),
  },
  reply: { complete: z.boolean() },
  async handle(ctx, { stream_id, topic_name }) {
    return { complete: await deleteTopic(ctx, stream_id, topic_name) };
  },
});
