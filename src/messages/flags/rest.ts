import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { ValidationError } from '../../platform/errors.ts';
import { type Anchor, NEWEST } from '../narrow/narrow-select.ts';
import { Narrow } from '../narrow/narrow-terms.ts';
import { markAllAsRead, markChannelAsRead, markTopicAsRead } from './mark-read.ts';
import { listReceipts } from './receipts.ts';
import { requireFlagChange, updateFlags, updateFlagsInNarrow } from './update-flags.ts';

const OPERATION = text(z.string(), { description: '"add" or "remove".', example: 'add' });
const FLAG = text(z.string(), { description: '"read", "starred" or "collapsed".', example: 'starred' });

export const postMessagesFlags = endpoint({
  method: 'POST',
  path: '/messages/flags',
  auth: 'basic',
  equivalents: ['updateMessageFlags'],
  summary: 'Add or remove a flag of messages',
  description: 'Channel messages become unread only if you are subscribed to the channel.',
  params: {
    messages: json(z.array(z.int()), { description: 'At most 5,000 ids.', example: '[1]' }),
    op: OPERATION,
    flag: FLAG,
  },
  reply: {
    messages: z.array(z.int()).describe('The ids from the request.'),
    ignored_because_not_subscribed_channels: z.array(z.int()),
  },
  async handle(ctx, { messages, op, flag }) {
    const { skippedChannelIds } = await updateFlags(ctx, messages, requireFlagChange(op, flag));
    return { messages, ignored_because_not_subscribed_channels: skippedChannelIds };
  },
});

const KEYWORDS = ['newest', 'oldest', 'first_unread'] as const;

/**
 * Parses the REST parameter `anchor`.
 *
 * @throws ValidationError if the parameter is neither a keyword nor an integer.
 */
function anchorNamed(name: string): Anchor {
  const keyword = KEYWORDS.find((anchor) => anchor === name);
  if (keyword !== undefined) return keyword;
  if (!/^-?\d{1,30}$/.test(name)) throw new ValidationError('Invalid anchor', { parameter: 'anchor' });
  return Math.min(Math.max(Number(name), 0), NEWEST);
}

const COUNT = json(z.int().min(0), {
  description: 'At least 0. The sum of `num_before` and `num_after` is at most 5,000.',
  example: '10',
});
const FOUND = z.int().nullable().describe('Null if no message is selected.');

export const postMessagesFlagsNarrow = endpoint({
  method: 'POST',
  path: '/messages/flags/narrow',
  auth: 'basic',
  equivalents: ['updateMessageFlagsInNarrow'],
  summary: 'Add or remove a flag of the messages in a narrow',
  description:
    'Selects messages around an anchor. Channel messages become unread only if you are subscribed to the channel.',
  params: {
    anchor: text(z.string(), {
      description: 'A message id, "newest", "oldest" or "first_unread".',
      example: 'oldest',
    }),
    include_anchor: json(z.boolean(), { description: 'Whether the message at the anchor is included.' }).default(true),
    num_before: COUNT,
    num_after: COUNT,
    narrow: json(Narrow, { description: 'Terms of the narrow. A message must match all of them.', example: '[]' }),
    op: OPERATION,
    flag: FLAG,
  },
  reply: {
    processed_count: z.int().describe('Number of selected messages.'),
    updated_count: z.int().describe('Number of messages whose flag changed.'),
    first_processed_id: FOUND,
    last_processed_id: FOUND,
    found_oldest: z.boolean(),
    found_newest: z.boolean(),
    ignored_because_not_subscribed_channels: z.array(z.int()),
  },
  async handle(ctx, { anchor, include_anchor, num_before, num_after, narrow, op, flag }) {
    const range = { anchor: anchorNamed(anchor), numBefore: num_before, numAfter: num_after };
    const { selection, changedIds, skippedChannelIds } = await updateFlagsInNarrow(
      ctx,
      { narrow, ...range, includeAnchor: include_anchor },
      requireFlagChange(op, flag),
    );
    return {
      processed_count: selection.ids.length,
      updated_count: changedIds.length,
      first_processed_id: selection.ids.at(0) ?? null,
      last_processed_id: selection.ids.at(-1) ?? null,
      found_oldest: selection.foundOldest,
      found_newest: selection.foundNewest,
      ignored_because_not_subscribed_channels: skippedChannelIds,
    };
  },
});

export const postMarkTopicAsRead = endpoint({
  method: 'POST',
  path: '/mark_topic_as_read',
  auth: 'basic',
  equivalents: ['markTopicAsRead'],
  summary: 'Mark a topic as read',
  description: 'Superseded by POST /messages/flags/narrow.',
  params: {
    stream_id: json(z.int(), { description: 'Channel id.', example: '1' }),
    topic_name: text(z.string(), {
      description: 'Name of the topic. Case and Unicode normalization form do not matter.',
      example: 'greetings',
    }),
  },
  reply: {},
  async handle(ctx, { stream_id, topic_name }) {
    await markTopicAsRead(ctx, stream_id, topic_name);
  },
});

export const postMarkStreamAsRead = endpoint({
  method: 'POST',
  path: '/mark_stream_as_read',
  auth: 'basic',
  equivalents: ['markChannelAsRead'],
  summary: 'Mark a channel as read',
  description: 'Superseded by POST /messages/flags/narrow.',
  params: { stream_id: json(z.int(), { description: 'Channel id.', example: '1' }) },
  reply: {},
  async handle(ctx, { stream_id }) {
    await markChannelAsRead(ctx, stream_id);
  },
});

export const postMarkAllAsRead = endpoint({
  method: 'POST',
  path: '/mark_all_as_read',
  ignoresIdempotencyKey: true,
  auth: 'basic',
  equivalents: ['markAllAsRead'],
  summary: 'Mark all messages as read',
  params: {},
  reply: { complete: z.boolean().describe('False if the time limit was reached. Call again to continue.') },
  async handle(ctx) {
    return { complete: await markAllAsRead(ctx) };
  },
});

export const getReadReceipts = endpoint({
  method: 'GET',
  path: '/messages/{message_id}/read_receipts',
  auth: 'basic',
  equivalents: ['Message.readReceipts'],
  summary: 'List the users who have read a message',
  description: 'Excludes the sender, and users who do not send read receipts.',
  params: { message_id: inPath(z.int(), { description: 'Message id.' }) },
  reply: { user_ids: z.array(z.int()) },
  async handle(ctx, { message_id }) {
    return { user_ids: await listReceipts(ctx, message_id) };
  },
});
