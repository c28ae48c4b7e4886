import { builder, type Types } from '../../api/graphql/schema/builder.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { ChannelRef } from '../../channels/channel-ref.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { BadNarrowError } from './errors.ts';
import type { NarrowTerm, Operand } from './narrow-terms.ts';

const MessageState = builder.enumType('MessageState', {
  description: 'State of a message for the viewer, or of its topic.',
  values: {
    DIRECT: { value: 'dm', description: 'The message is a direct message.' },
    STARRED: { value: 'starred', description: 'The viewer has starred the message.' },
    MENTIONED: {
      value: 'mentioned',
      description: 'The message mentions the viewer by name, through a group or by a wildcard such as @all.',
    },
    ALERTED: { value: 'alerted', description: "The message contains one of the viewer's alert words." },
    UNREAD: { value: 'unread', description: 'The viewer has not read the message.' },
    RESOLVED: { value: 'resolved', description: 'The topic of the message is marked as resolved.' },
    FOLLOWED: { value: 'followed', description: 'The viewer follows the topic of the message.' },
    MUTED: { value: 'muted', description: 'The viewer has muted the topic of the message or its channel.' },
  } as const,
});

const MessagePart = builder.enumType('MessagePart', {
  description: 'A feature of a message.',
  values: {
    LINK: { value: 'link', description: 'The content has a link.' },
    IMAGE: { value: 'image', description: 'The content has a link to an image.' },
    ATTACHMENT: { value: 'attachment', description: 'The content has a link to an uploaded file.' },
    REACTION: { value: 'reaction', description: 'The message has a reaction by any user.' },
  } as const,
});

const ChannelKind = builder.enumType('ChannelKind', {
  description: 'Kind of channel, by its readers.',
  values: {
    PUBLIC: { value: 'public', description: 'All users can read the channel, except guests who are not subscribed.' },
    WEB_PUBLIC: { value: 'web-public', description: 'The channel can be read without an account.' },
  } as const,
});

const narrowFields = (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => ({
  channel: t.field({ type: ChannelRef, required: false, description: 'Channel of the message.' }),
  channels: t.field({ type: ChannelKind, required: false, description: 'Kind of the channel of the message.' }),
  topic: t.string({
    required: false,
    description: 'Name of the topic of the message. Case and Unicode normalization form do not matter.',
  }),
  senderId: t.id({ ...refersTo('User'), required: false, description: 'Id of the sender.' }),
  directWith: t.idList({
    ...refersTo('User'),
    required: false,
    description: 'Ids of all members of the conversation. The viewer can be omitted.',
  }),
  directIncluding: t.id({ ...refersTo('User'), required: false, description: 'Id of a member of the conversation.' }),
  is: t.field({ type: [MessageState], required: false, description: 'States of the message.' }),
  has: t.field({ type: [MessagePart], required: false, description: 'Features of the message.' }),
  mentionsUserId: t.id({
    ...refersTo('User'),
    required: false,
    description: 'Id of a user whom the message mentions by name.',
  }),
  search: t.string({
    required: false,
    description:
      'Words that the content or topic of the message must contain, also with other endings ("send", "sending"), ' +
      'ignoring case and accents. Text in quotes must occur literally, ignoring case.',
  }),
});

const NarrowTerms = builder.inputType('MessageNarrowTermsInput', {
  description: 'Conditions that a message must not meet. If it meets one of them, it is excluded.',
  fields: narrowFields,
});

/** GraphQL input for a narrow: the filter of a list of messages. */
export const MessageNarrow = builder.inputType('MessageNarrowInput', {
  description:
    'Filter for messages. A message must meet all conditions. With `channel` or `channels`, all readable messages are ' +
    'searched, else only those that the viewer received.',
  fields: (t) => ({
    ...narrowFields(t),
    with: t.id({
      ...refersTo('Message'),
      required: false,
      description: 'Id of a message. Its current location replaces `channel`, `topic` and `directWith`.',
    }),
    not: t.field({ type: NarrowTerms, required: false, description: 'Conditions that exclude a message.' }),
  }),
});

/** Operator of the narrow term that each input field is converted to. */
const OPERATOR_OF: Readonly<Record<keyof typeof NarrowTerms.$inferInput, string>> = {
  channel: 'channel',
  channels: 'channels',
  topic: 'topic',
  senderId: 'sender',
  directWith: 'dm',
  directIncluding: 'dm-including',
  is: 'is',
  has: 'has',
  mentionsUserId: 'mentions',
  search: 'search',
};

/**
 * Converts the GraphQL input to narrow terms.
 *
 * @throws BadRequestError if the search is blank.
 */
export function termsIn(input: typeof MessageNarrow.$inferInput): NarrowTerm[] {
  const { with: messageId, not, ...fields } = input;
  const place = messageId == null ? [] : [{ operator: 'with', operand: messageId, negated: false }];
  return [...place, ...termsOf(fields, false), ...termsOf(not ?? {}, true)];
}

function termsOf({ channel, ...fields }: typeof NarrowTerms.$inferInput, negated: boolean): NarrowTerm[] {
  const given = { channel: channel?.id ?? channel?.name, ...fields };
  return Object.entries(given).flatMap(([field, value]: [string, Operand | readonly string[] | null | undefined]) => {
    if (value == null) return [];
    const operator = OPERATOR_OF[field as keyof typeof OPERATOR_OF];
    // Each value of `is` and `has` becomes a separate term.
    const operands = field === 'is' || field === 'has' ? (value as readonly string[]) : [value as Operand];
    if (field === 'search' && String(value).trim() === '') throw new BadRequestError('search cannot be blank');
    return operands.map((operand) => ({ operator, operand, negated }));
  });
}

errorType(BadNarrowError, 'The narrow names something that does not exist, or no message can match it.', (t) => ({
  description: t.string({
    description: 'Error message for users: the problem with the narrow.',
    resolve: ({ data }) => data.desc,
  }),
}));
