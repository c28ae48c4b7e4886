import { apiEmailOf } from '../access/address.ts';
import type { RenderOptions } from '../events/view.ts';
import { isMeMessage, type TopicLink } from '../markdown/render.ts';
import { avatarUrlFor, type Requester, type UserFacts } from '../people/wire.ts';

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

export interface WireReaction {
  readonly emoji_name: string;
  readonly emoji_code: string;
  readonly reaction_type: string;
  readonly user_id: number;
}

/** A message as on the wire, without its flags and history. */
export function toWireMessage(facts: MessageFacts, { requester, options }: Shown) {
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
    type: channel === null ? ('private' as const) : ('stream' as const),
    ...(channel !== null && { stream_id: channel.id }),
    display_recipient: channel === null ? facts.members.map(toWireMember) : channel.name,
    subject: channel === null ? '' : shownTopic(topic, emptyTopicName, knowsEmptyTopic),
    topic_links: facts.topicLinks,
    content: options.applyMarkdown ? renderedContent : content,
    content_type: options.applyMarkdown ? ('text/html' as const) : ('text/x-markdown' as const),
    is_me_message: isMeMessage(content),
    reactions: [] as readonly WireReaction[],
    submessages: [] as readonly unknown[],
  };
}

export type WireMessage = ReturnType<typeof toWireMessage>;

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
