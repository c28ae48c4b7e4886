import { z } from 'zod';
import { apiEmailOf } from '../access/address.ts';
import type { RenderOptions } from '../events/view.ts';
import { isMeMessage, type TopicLink } from '../markdown/render.ts';
import { avatarUrl, type Requester, type UserSnapshot } from '../people/wire.ts';
import type { Wire } from '../platform/wire.ts';
import { wirePerson, wireReaction } from './wire-reactions.ts';

/** A member of a direct conversation, as JSON. */
export interface MemberSnapshot {
  readonly id: number;
  /** Email address of the user, as shown in the API. */
  readonly email: string;
  readonly fullName: string;
}

/** The parts of a message that do not depend on the reader, as JSON. Events and responses are rendered from these parts. */
export interface MessageEventSnapshot {
  readonly id: number;
  readonly recipientId: number;
  readonly sender: UserSnapshot;
  /** Subdomain of the organization. */
  readonly realm: string;
  /** Name of the client that sent the message. */
  readonly client: string;
  /** Time at which the message was sent, in UNIX seconds. */
  readonly timestamp: number;
  /** Time at which the message was sent, in ISO 8601 with milliseconds. Absent in events logged by earlier versions. */
  readonly sentAt?: string | undefined;
  /** Id and name of the channel. Null for a direct message. */
  readonly channel: { readonly id: number; readonly name: string } | null;
  /** Members of the conversation, ascending by id. Empty for a channel message. */
  readonly members: readonly MemberSnapshot[];
  /** Name of the topic. "" for a direct message, and for the empty topic. */
  readonly topic: string;
  readonly topicLinks: readonly TopicLink[];
  /** Content as flavored Markdown. */
  readonly content: string;
  /** Content as HTML. */
  readonly renderedContent: string;
  /** Name of the empty topic for clients that do not accept "" as a name. */
  readonly emptyTopicName: string;
}

/**
 * Returns the recipient id of a channel: twice the channel id. The recipient id of a conversation is twice its id plus 1.
 * Clients treat recipient ids as opaque. The server uses them as keys of read marks, which store a user's read position.
 */
export const channelRecipientId = (channelId: number): number => 2 * channelId;
export const conversationRecipientId = (conversationId: number): number => 2 * conversationId + 1;

/** The viewer for whom a message is rendered, and the options of the viewer's client. */
export interface Shown {
  readonly requester: Requester;
  readonly options: Pick<RenderOptions, 'applyMarkdown' | 'clientGravatar'> & {
    readonly capabilities: Pick<RenderOptions['capabilities'], 'empty_topic_name'>;
  };
}

/**
 * Returns the name of a topic as sent to a client: `emptyTopicName` instead of "", if the client does not accept "" as a topic
 * name.
 */
export function shownTopic(topic: string, emptyTopicName: string, knowsEmptyTopic: boolean): string {
  return topic === '' && !knowsEmptyTopic ? emptyTopicName : topic;
}

/** An entry of a message's `edit_history`. */
export const wireEdit = z
  .object({
    user_id: z.int(),
    timestamp: z.int().describe('Time of the edit, in UNIX seconds.'),
    prev_topic: z.string().optional(),
    topic: z.string().optional(),
    prev_stream: z.int().optional(),
    stream: z.int().optional(),
    prev_content: z.string().optional().describe('Markdown. Its HTML is in `/messages/{message_id}/history`.'),
  })
  .meta({ id: 'MessageEdit' });
export type WireEdit = Wire<typeof wireEdit>;

/** JSON form of a message for one reader, as in the REST API. */
export const wireMessage = z
  .object({
    id: z.int(),
    sender_id: z.int(),
    sender_email: z.string(),
    sender_full_name: z.string(),
    sender_realm_str: z.string(),
    avatar_url: z.string().nullable(),
    client: z.string(),
    recipient_id: z.int().describe('Opaque id of the channel or conversation.'),
    timestamp: z.int().describe('Time at which the message was sent, in UNIX seconds.'),
    type: z.literal(['stream', 'private']),
    stream_id: z.int().optional().describe('Only for a channel message.'),
    display_recipient: z.union([z.string(), z.array(wirePerson.extend({ is_mirror_dummy: z.boolean() }))]),
    subject: z.string().describe('Name of the topic.'),
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
    match_content: z.string().optional().describe('HTML with the matches of the search highlighted.'),
    match_subject: z.string().optional().describe('HTML with the matches of the search highlighted.'),
  })
  .meta({ id: 'Message' });
export type WireMessage = Wire<typeof wireMessage>;

/** Fields of a message that depend on the reader, or that can change after the message was sent. */
type LaterFields =
  | 'edit_history'
  | 'last_edit_timestamp'
  | 'last_moved_timestamp'
  | 'flags'
  | 'match_content'
  | 'match_subject';
/** JSON form of a message when it was sent. It depends on the options of the reader's client, but not on the reader. */
export type WireSent = Omit<WireMessage, LaterFields>;

/** Converts a message to its JSON form, without flags and edit history. */
export function toWireMessage(snapshot: MessageEventSnapshot, { options }: Shown): WireSent {
  const { channel, sender, content, renderedContent, topic, emptyTopicName } = snapshot;
  const knowsEmptyTopic = options.capabilities.empty_topic_name;
  return {
    id: snapshot.id,
    sender_id: sender.id,
    sender_email: apiEmailOf(sender),
    sender_full_name: sender.fullName,
    sender_realm_str: snapshot.realm,
    avatar_url: avatarUrl(sender),
    client: snapshot.client,
    recipient_id: snapshot.recipientId,
    timestamp: snapshot.timestamp,
    type: channel === null ? 'private' : 'stream',
    ...(channel !== null && { stream_id: channel.id }),
    display_recipient: channel === null ? snapshot.members.map(toWireMember) : channel.name,
    subject: channel === null ? '' : shownTopic(topic, emptyTopicName, knowsEmptyTopic),
    topic_links: snapshot.topicLinks,
    content: options.applyMarkdown ? renderedContent : content,
    content_type: options.applyMarkdown ? 'text/html' : 'text/x-markdown',
    is_me_message: isMeMessage(content),
    reactions: [],
    submessages: [],
  };
}

const toWireMember = ({ id, email, fullName }: MemberSnapshot) => ({
  ...{ id, email, full_name: fullName },
  is_mirror_dummy: false,
});

/** Flags of a message for one user. An absent flag is false. */
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

/**
 * Name of a flag of a message. Excludes `wildcard_mentioned`, which older clients read instead of the flags for channel and
 * topic wildcards.
 */
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

/** Returns the names of the flags that are set, as in the REST API. */
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
    // Older clients read this flag and do not distinguish the two wildcards.
    ['wildcard_mentioned', wildcard],
  ];
  return named.filter(([, set]) => set === true).map(([name]) => name);
}
