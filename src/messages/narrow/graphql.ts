import { builder, type Types } from '../../api/graphql/schema/builder.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { ChannelRef } from '../../channels/channel-ref.ts';
import { ChannelPrivacyEnum } from '../../channels/graphql.ts';
import { ValidationError } from '../../platform/errors.ts';
import { givenTopic, TopicRef } from '../topic-ref.ts';
import { BadNarrowError } from './errors.ts';
import { MAX_TERMS, type NarrowTerm, type Operand } from './narrow-terms.ts';

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
  description: 'A part that a message can have, such as a link or a reaction.',
  values: {
    LINK: { value: 'link', description: 'The content has a link.' },
    IMAGE: { value: 'image', description: 'The content has a link to an image.' },
    ATTACHMENT: { value: 'attachment', description: 'The content has a link to an uploaded file.' },
    REACTION: { value: 'reaction', description: 'The message has a reaction by any user.' },
  } as const,
});

const narrowFields = (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => ({
  channel: t.field({ type: ChannelRef, required: false, description: 'Channel of the message.' }),
  channels: t.field({
    type: ChannelPrivacyEnum,
    required: false,
    description:
      'PUBLIC: messages in channels that are not private. WEB_PUBLIC: in web-public channels. Other values are ' +
      'refused.',
  }),
  topicNamed: t.string({
    required: false,
    description: 'Name of the topic of the message, in any channel. Case and Unicode normalization form do not matter.',
  }),
  senderId: t.id({ ...refersTo('User'), required: false, description: 'Id of the sender.' }),
  directWith: t.idList({
    ...refersTo('User'),
    required: false,
    description: 'Ids of all members of the conversation. The viewer can be omitted.',
  }),
  directIncluding: t.id({ ...refersTo('User'), required: false, description: 'Id of a member of the conversation.' }),
  is: t.field({ type: [MessageState], required: false, description: `States of the message, at most ${MAX_TERMS}.` }),
  has: t.field({
    type: [MessagePart],
    required: false,
    description: `Parts that the message has, at most ${MAX_TERMS}.`,
  }),
  mentionsUserId: t.id({
    ...refersTo('User'),
    required: false,
    description: 'Id of a user whom the message mentions by name.',
  }),
  search: t.string({
    required: false,
    description:
      'Words that the content or topic of the message must contain. Case, accents and endings are ignored: "send" also ' +
      'finds "sending". Text in quotes must occur literally, ignoring case.',
  }),
});

const NarrowTerms = builder.inputType('MessageNarrowTermsInput', {
  description: 'Conditions that a message must not meet. If it meets one of them, it is excluded.',
  fields: narrowFields,
});

/** GraphQL input for a narrow (message filter) of a list of messages. */
export const MessageNarrow = builder.inputType('MessageNarrowInput', {
  description:
    'Filter for messages. A message must meet all conditions. With `channel`, `channels` or `topic`, all ' +
    'messages that the viewer can read are searched, otherwise only those that the viewer received. Event ' +
    'queues support only some of the conditions.',
  fields: (t) => ({
    ...narrowFields(t),
    topic: t.field({
      type: TopicRef,
      required: false,
      description:
        'Topic of the message. The search then includes messages that the viewer can read but did not receive.',
    }),
    with: t.id({
      ...refersTo('Message'),
      required: false,
      description:
        'Id of a message. The current topic or conversation of this message is used in place of `channel`, `topic` ' +
        'and `directWith`.',
    }),
    not: t.field({ type: NarrowTerms, required: false, description: 'Conditions that exclude a message.' }),
  }),
});

/** Operator of the narrow term that each input field is converted to. */
const OPERATOR_OF: Readonly<Record<keyof typeof NarrowTerms.$inferInput, string>> = {
  channel: 'channel',
  channels: 'channels',
  topicNamed: 'topic',
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
 * @throws ValidationError if the search is blank, or if `is` or `has` contains more than `MAX_TERMS` values.
 */
export function termsIn(input: typeof MessageNarrow.$inferInput): NarrowTerm[] {
  const { with: messageId, topic, not, ...fields } = input;
  const place = messageId == null ? [] : [{ operator: 'with', operand: messageId, negated: false }];
  return [...place, ...termsOf(inTopic(topic), false), ...termsOf(fields, false), ...termsOf(not ?? {}, true)];
}

/** Returns the conditions for the channel and the name of a topic. */
function inTopic(topic: typeof TopicRef.$inferInput | null | undefined): typeof NarrowTerms.$inferInput {
  if (topic == null) return {};
  const { channel, name } = givenTopic(topic);
  return { channel: 'id' in channel ? { id: channel.id } : { name: channel.name }, topicNamed: name };
}

function termsOf({ channel, ...fields }: typeof NarrowTerms.$inferInput, negated: boolean): NarrowTerm[] {
  const given = { channel: channel?.id ?? channel?.name, ...fields };
  return Object.entries(given).flatMap(([field, value]: [string, Operand | readonly string[] | null | undefined]) => {
    if (value == null) return [];
    const operator = OPERATOR_OF[field as keyof typeof OPERATOR_OF];
    // Each value of `is` and `has` becomes a separate term.
    const operands = field === 'is' || field === 'has' ? (value as readonly string[]) : [value as Operand];
    const parameter = `narrow${negated ? '["not"]' : ''}["${field}"]`;
    if (operands.length > MAX_TERMS) {
      throw new ValidationError(`${field} has too many items (limit: ${MAX_TERMS})`, { parameter, maximum: MAX_TERMS });
    }
    if (field === 'search' && String(value).trim() === '') {
      throw new ValidationError('search cannot be blank', { parameter, minimum: 1 });
    }
    return operands.map((operand) => ({ operator, operand, negated }));
  });
}

errorType(
  BadNarrowError,
  'The narrow (message filter) refers to an object that does not exist, or has a value that no message can match.',
  (t) => ({
    description: t.string({
      description: 'Error message for users: the problem with the narrow.',
      resolve: ({ schemaDescription }) => schemaDescription,
    }),
  }),
);
