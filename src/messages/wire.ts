import { z } from 'zod';
import { apiEmailOf } from '../access/address.ts';
import type { RenderOptions } from '../events/view.ts';
import { isMeMessage, type TopicLink } from '../markdown/render.ts';
import { avatarUrlFor, type Requester, type UserFacts } from '../people/wire.ts';
import type { Wire } from '../platform/wire.ts';
import { wirePerson, wireReaction } from './reactions/wire.ts';

/** Somebody who takes part in a direct conversation, as JSON. */
export interface MemberFacts {
  readonly id: number;
  /** The address the API knows them by. */
  readonly email: string;
  readonly fullName: string;
}

/** All of a message that everybody who has it sees alike, as JSON: what events and replies are rendered from. */
export interface MessageFacts {
  readonly id: number;
  readonly recipientId: number;
  readonly sender: UserFacts;
  /** The organisation's subdomain. */
  readonly realm: string;
  /** The name of the client it was sent with. */
  readonly client: string;
  /** UNIX seconds. */
  readonly timestamp: number;
  /** ISO 8601, to the millisecond; absent in events logged before they told it. */
  readonly sentAt?: string | undefined;
  /** Null for a direct message. */
  readonly channel: { readonly id: number; readonly name: string } | null;
  /** Who takes part in the conversation, ascending by id; empty for a channel message. */
  readonly members: readonly MemberFacts[];
  /** "" for a direct message, and for the empty topic. */
  readonly topic: string;
  readonly topicLinks: readonly TopicLink[];
  /** Source text. */
  readonly content: string;
  /** HTML. */
  readonly renderedContent: string;
  /** What clients that do not know the empty topic are shown instead. */
  readonly emptyTopicName: string;
}

/** Twice the channel's id, or twice the conversation's and one: opaque to clients, and the key of read marks. */
export const channelRecipientId = (channelId: number): number => 2 * channelId;
export const conversationRecipientId = (conversationId: number): number => 2 * conversationId + 1;

/** How a message is shown to one viewer. */
export interface Shown {
  readonly requester: Requester;
  readonly options: Pick<RenderOptions, 'applyMarkdown' | 'clientGravatar'> & {
    readonly capabilities: Pick<RenderOptions['capabilities'], 'empty_topic_name'>;
  };
}

/** A topic's name as a client sees it. */
export function shownTopic(topic: string, emptyTopicName: string, knowsEmptyTopic: boolean): string {
  return topic === '' && !knowsEmptyTopic ? emptyTopicName : topic;
}

/** One entry of a message's `edit_history`. */
export const wireEdit = z
  .object({
    user_id: z.int(),
    timestamp: z.int().describe('UNIX seconds.'),
    prev_topic: z.string().optional(),
    topic: z.string().optional(),
    prev_stream: z.int().optional(),
    stream: z.int().optional(),
    prev_content: z.string().optional(),
    prev_rendered_content: z.string().optional(),
  })
  .meta({ id: 'MessageEdit' });
export type WireEdit = Wire<typeof wireEdit>;

/** A message as its reader gets it. */
export const wireMessage = z
  .object({
    id: z.int(),
    sender_id: z.int(),
    sender_email: z.string(),
    sender_full_name: z.string(),
    sender_realm_str: z.string(),
    avatar_url: z.string().nullable(),
    client: z.string(),
    recipient_id: z.int().describe('Opaque.'),
    timestamp: z.int().describe('UNIX seconds.'),
    type: z.literal(['stream', 'private']),
    stream_id: z.int().optional().describe('Of a channel message.'),
    display_recipient: z.union([z.string(), z.array(wirePerson.extend({ is_mirror_dummy: z.boolean() }))]),
    subject: z.string().describe('The topic.'),
    topic_links: z.array(z.object({ text: z.string(), url: z.string() })),
    content: z.string(),
    content_type: z.literal(['text/html', 'text/x-markdown']),
    is_me_message: z.boolean(),
    reactions: z.array(wireReaction),
    submessages: z.array(z.unknown()),
    edit_history: z.array(wireEdit).optional(),
    last_edit_timestamp: z.int().optional(),
    last_moved_timestamp: z.int().optional(),
    flags: z.array(z.string()),
    match_content: z.string().optional().describe('HTML, with what was searched for marked.'),
    match_subject: z.string().optional().describe('HTML, with what was searched for marked.'),
  })
  .meta({ id: 'Message' });
export type WireMessage = Wire<typeof wireMessage>;

/** What is the reader's own of a message, or comes after it was sent. */
type Since =
  | 'edit_history'
  | 'last_edit_timestamp'
  | 'last_moved_timestamp'
  | 'flags'
  | 'match_content'
  | 'match_subject';
/** A message as it was sent, which everybody sees alike. */
export type WireSent = Omit<WireMessage, Since>;

/** A message as on the wire, without its flags and history. */
export function toWireMessage(facts: MessageFacts, { requester, options }: Shown): WireSent {
  const { channel, sender, content, renderedContent, topic, emptyTopicName } = facts;
  const knowsEmptyTopic = options.capabilities.empty_topic_name;
  return {
    id: facts.id,
    sender_id: sender.id,
    sender_email: apiEmailOf(sender),
    sender_full_name: sender.fullName,
    sender_realm_str: facts.realm,
    avatar_url: avatarUrlFor(sender, requester, options.clientGravatar),
    client: facts.client,
    recipient_id: facts.recipientId,
    timestamp: facts.timestamp,
    type: channel === null ? 'private' : 'stream',
    ...(channel !== null && { stream_id: channel.id }),
    display_recipient: channel === null ? facts.members.map(toWireMember) : channel.name,
    subject: channel === null ? '' : shownTopic(topic, emptyTopicName, knowsEmptyTopic),
    topic_links: facts.topicLinks,
    content: options.applyMarkdown ? renderedContent : content,
    content_type: options.applyMarkdown ? 'text/html' : 'text/x-markdown',
    is_me_message: isMeMessage(content),
    reactions: [],
    submessages: [],
  };
}

const toWireMember = ({ id, email, fullName }: MemberFacts) => ({
  ...{ id, email, full_name: fullName },
  is_mirror_dummy: false,
});

/** What one user has with a message. Absent is false. */
export interface UserFlags {
  readonly read?: boolean;
  readonly starred?: boolean;
  readonly collapsed?: boolean;
  readonly mentioned?: boolean;
  readonly channelWildcard?: boolean;
  readonly topicWildcard?: boolean;
  readonly hasAlertWord?: boolean;
  readonly historical?: boolean;
}

/** What a user can have with a message, without the word that older clients have for either wildcard. */
export type FlagName =
  | 'read'
  | 'starred'
  | 'collapsed'
  | 'mentioned'
  | 'stream_wildcard_mentioned'
  | 'topic_wildcard_mentioned'
  | 'has_alert_word'
  | 'historical';

export const isFlag = (flag: string): flag is FlagName => flag !== 'wildcard_mentioned';

/** The flags as on the wire. */
export function toWireFlags(flags: UserFlags): string[] {
  const wildcard = flags.channelWildcard === true || flags.topicWildcard === true;
  const named: readonly (readonly [string, boolean | undefined])[] = [
    ['read', flags.read],
    ['starred', flags.starred],
    ['collapsed', flags.collapsed],
    ['mentioned', flags.mentioned],
    ['stream_wildcard_mentioned', flags.channelWildcard],
    ['topic_wildcard_mentioned', flags.topicWildcard],
    ['has_alert_word', flags.hasAlertWord],
    ['historical', flags.historical],
    // For clients that do not tell the two wildcards apart.
    ['wildcard_mentioned', wildcard],
  ];
  return named.filter(([, set]) => set === true).map(([name]) => name);
}
