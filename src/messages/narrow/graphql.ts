import { builder, type Types } from '../../api/graphql/builder.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { ChannelRef } from '../../channels/channel-ref.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { BadNarrowError } from './errors.ts';
import type { NarrowTerm, Operand } from './narrow-terms.ts';

const MessageState = builder.enumType('MessageState', {
  description: 'What a message is to the viewer, or what its topic is.',
  values: {
    DIRECT: { value: 'dm', description: 'Among people.' },
    STARRED: { value: 'starred', description: 'The viewer has starred it.' },
    MENTIONED: {
      value: 'mentioned',
      description: 'It mentions the viewer: by name, through a group, or with everybody.',
    },
    ALERTED: { value: 'alerted', description: "One of the viewer's alert words is in it." },
    UNREAD: { value: 'unread', description: 'The viewer has not read it.' },
    RESOLVED: { value: 'resolved', description: 'Its topic is marked as resolved.' },
    FOLLOWED: { value: 'followed', description: 'The viewer follows its topic.' },
    MUTED: { value: 'muted', description: 'By its topic or its channel.' },
  } as const,
});

const MessagePart = builder.enumType('MessagePart', {
  description: 'What can be in, or at, a message.',
  values: {
    LINK: { value: 'link', description: 'A link in its content.' },
    IMAGE: { value: 'image', description: 'A link to an image.' },
    ATTACHMENT: { value: 'attachment', description: 'A link to an uploaded file.' },
    REACTION: { value: 'reaction', description: "Anybody's reaction to it." },
  } as const,
});

const ChannelKind = builder.enumType('ChannelKind', {
  description: 'Channels that many may read.',
  values: {
    PUBLIC: { value: 'public', description: 'Readable by everybody but guests, who must be subscribed.' },
    WEB_PUBLIC: { value: 'web-public', description: 'Readable without an account.' },
  } as const,
});

const narrowFields = (t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>) => ({
  channel: t.field({ type: ChannelRef, required: false, description: 'It stands in this channel.' }),
  channels: t.field({ type: ChannelKind, required: false, description: 'It stands in some channel of this kind.' }),
  topic: t.string({ required: false, description: 'In whatever case.' }),
  senderId: t.id({ ...refersTo('User'), required: false, description: 'This user sent it.' }),
  directWith: t.idList({
    ...refersTo('User'),
    required: false,
    description: 'The ids of all who take part; the viewer need not be named.',
  }),
  directIncluding: t.id({ ...refersTo('User'), required: false, description: 'The id of somebody who takes part.' }),
  is: t.field({ type: [MessageState], required: false, description: 'What it is to the viewer: each of these.' }),
  has: t.field({ type: [MessagePart], required: false, description: 'What is in or at it: each of these.' }),
  mentionsUserId: t.id({ ...refersTo('User'), required: false, description: 'Somebody whom it mentions by name.' }),
  search: t.string({ required: false, description: 'Words, in any of their forms; in quotes, what must stand so.' }),
});

const NarrowTerms = builder.inputType('MessageNarrowTermsInput', {
  description: 'What a message must not be: none of these.',
  fields: narrowFields,
});

/** What a list of messages is narrowed to. */
export const MessageNarrow = builder.inputType('MessageNarrowInput', {
  description: 'What a message must be: all of these. With a channel all its history is read, else what was received.',
  fields: (t) => ({
    ...narrowFields(t),
    with: t.id({
      ...refersTo('Message'),
      required: false,
      description: 'The id of a message: where it stands now goes before what is said of channel, topic and people.',
    }),
    not: t.field({ type: NarrowTerms, required: false, description: 'What it must not be: none of these.' }),
  }),
});

/** The operator of each field. */
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

/** The terms that a narrow's fields stand for. */
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
    // States and parts are terms of their own, each.
    const operands = field === 'is' || field === 'has' ? (value as readonly string[]) : [value as Operand];
    if (field === 'search' && String(value).trim() === '') throw new BadRequestError('search cannot be blank');
    return operands.map((operand) => ({ operator, operand, negated }));
  });
}

errorType(BadNarrowError, 'A narrow names what is not there, or what no message can be.', (t) => ({
  description: t.string({
    description: 'What is wrong with the narrow, for people.',
    resolve: ({ data }) => data.desc,
  }),
}));
