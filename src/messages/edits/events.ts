import { defineEvent, type RenderedEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import type { TopicLink } from '../../markdown/render.ts';
import type { PropagateMode } from '../locks.ts';
import { classOfReactor, type EventEmoji, reactionsSeenBy, type SeenReactions } from '../reactions/groups.ts';
import { type MessageEventSnapshot, shownTopic, toWireFlags, type UserFlags } from '../wire.ts';
import { flagsOf, type RecipientFlags } from './recipient-flags.ts';

/**
 * Data of an edited message that is the same for all users who can read it: a `MessageEventSnapshot` without content, and the
 * times of the changes.
 */
export type EditedSnapshot = Omit<MessageEventSnapshot, 'content' | 'renderedContent' | 'members'> & {
  /** Time of the last edit of the content, in ISO 8601 with milliseconds. */
  readonly lastEditedAt: string;
  /** Time of the last move, in ISO 8601 with milliseconds. Null if the message was never moved. */
  readonly lastMovedAt: string | null;
};

/**
 * Maximum length of the previous HTML in the event of an edit, in UTF-16 code units. Longer HTML is omitted from the event, but
 * not from the edit history. HTML can be a hundred times as long as its Markdown. With the HTML of both versions, the event
 * would be twice as long as the event of a new message.
 */
export const MAX_ORIG_HTML = 65_536;

/** Payload of the event of an edit or move of messages. All recipients can read all of the messages. */
export interface UpdatedPayload {
  /** Null if no user made the change: previews of links were added. */
  readonly editorId: number | null;
  /** Time of the change, in UNIX seconds. */
  readonly timestamp: number;
  /** Time of the change, in ISO 8601 with milliseconds. Absent in events logged by previous versions. */
  readonly at?: string | undefined;
  /** Id of the message that the editor selected. If the recipients cannot read that message, this is the last of `ids`. */
  readonly id: number;
  /** Ids of the moved messages, ascending, or id of the edited message. */
  readonly ids: readonly number[];
  /** Id and name of the channel before the change. Null for a direct message. */
  readonly channel: { readonly id: number; readonly name: string } | null;
  /** Name of the topic before the change. "" for a direct message. Absent in events logged by previous versions. */
  readonly topic?: string | undefined;
  /** Id of the conversation. Null for a channel message. Absent in events logged by previous versions. */
  readonly conversationId?: number | null | undefined;
  /** Details of the move. Null if no message was moved. */
  readonly move: {
    readonly propagateMode: PropagateMode;
    readonly origTopic: string;
    /** Name of the new topic. Null if the topic does not change. */
    readonly topic: string | null;
    readonly topicLinks: readonly TopicLink[];
    /** Id of the new channel. Null if the channel does not change. */
    readonly channelId: number | null;
    /**
     * Whether all moved messages have exactly the same topic name after the move, including letter case and Unicode form.
     * Absent in events logged by previous versions.
     */
    readonly isOneSpelling?: boolean | undefined;
  } | null;
  /** Content of the message `id` before and after the edit. Null if the content does not change. */
  readonly content: {
    readonly origSource: string;
    /** Previous HTML. Absent if it is longer than `MAX_ORIG_HTML`. */
    readonly origHtml?: string | undefined;
    readonly source: string;
    readonly html: string;
    readonly isMeMessage: boolean;
  } | null;
  /**
   * HTML of the message `id` to which previews of links were added, with its unchanged source. Absent for a change by a user.
   */
  readonly rendering?: { readonly source: string; readonly html: string } | undefined;
  /** Flags of the message `id` for all recipients. */
  readonly flags: RecipientFlags;
  /**
   * Data of the message `id` after the change. Present only if the sender edited the content of a channel message that stays in
   * its channel, and the recipients can read that message.
   */
  readonly message?: EditedSnapshot | undefined;
  /**
   * Reactions to the message `id`. Absent if there are too many reactions, if `message` is absent, and in events logged by
   * previous versions.
   */
  readonly reactions?: readonly EventEmoji[] | undefined;
  /** Name of the empty topic for clients without the capability `empty_topic_name`. */
  readonly emptyTopicName: string;
}

/** Event of an edit or move, for users who can read the messages after the change. */
export const messageUpdated = defineEvent(
  'update_message',
  undefined,
  (payload: UpdatedPayload): UpdatedPayload => payload,
  {
    perUser: ({ flags, reactions = [] }, { userId }) =>
      `${toWireFlags(flagsOf(flags, userId)).join()} ${classOfReactor(reactions, userId)}`,
    render: renderUpdate,
    facts: (payload, { userId }): RecipientUpdate => ({
      ...payload,
      flags: flagsOf(payload.flags, userId),
      reactions: payload.reactions && reactionsSeenBy(payload.reactions, userId),
    }),
  },
);

/** The payload of an edit or move as one recipient sees it, with the flags and reactions for this recipient. */
export interface RecipientUpdate extends Omit<UpdatedPayload, 'flags' | 'reactions'> {
  readonly flags: UserFlags;
  readonly reactions?: SeenReactions | undefined;
}

function renderUpdate(payload: UpdatedPayload, { userId, options }: EventView): RenderedEvent {
  const { channel, move, content, rendering, emptyTopicName } = payload;
  const shown = (topic: string) => shownTopic(topic, emptyTopicName, options.capabilities.empty_topic_name);
  return {
    type: 'update_message',
    user_id: payload.editorId,
    rendering_only: rendering !== undefined,
    message_id: payload.id,
    message_ids: payload.ids,
    flags: toWireFlags(flagsOf(payload.flags, userId)),
    edit_timestamp: payload.timestamp,
    ...(channel !== null && { stream_id: channel.id, stream_name: channel.name }),
    ...(move !== null && {
      propagate_mode: move.propagateMode,
      orig_subject: shown(move.origTopic),
      ...(move.topic !== null && { subject: shown(move.topic), topic_links: move.topicLinks }),
      ...(move.channelId !== null && { new_stream_id: move.channelId }),
    }),
    ...(content !== null && {
      orig_content: content.origSource,
      ...(content.origHtml !== undefined && { orig_rendered_content: content.origHtml }),
      content: content.source,
      rendered_content: content.html,
      is_me_message: content.isMeMessage,
    }),
    ...(rendering !== undefined && { content: rendering.source, rendered_content: rendering.html }),
  };
}

/**
 * Payload of the event of messages that were deleted, or that the recipients can no longer read. All of the messages were in
 * one topic or one conversation.
 */
export interface DeletedPayload {
  /** Ids of the messages, ascending. */
  readonly ids: readonly number[];
  /** Channel and topic of the messages. Null for direct messages. */
  readonly place: { readonly channelId: number; readonly topic: string } | null;
  /** Id of the conversation. Null for channel messages. Absent in events logged by previous versions. */
  readonly conversationId?: number | null | undefined;
  readonly emptyTopicName: string;
}

/** Data from which GraphQL fields of deleted messages are answered without a database read: where the messages were. */
export type ProjectedDeletion = Pick<DeletedPayload, 'place' | 'conversationId'>;

/** Event for users who could read the messages. Either the messages were deleted, or the recipients lost access to them. */
export const messagesDeleted = defineEvent(
  'delete_message',
  undefined,
  (payload: DeletedPayload): DeletedPayload => payload,
  {
    width: ({ ids }) => ids.length,
    facts: ({ place, conversationId }): ProjectedDeletion => ({ place, conversationId }),
    render: renderDeletion,
  },
);

function renderDeletion({ ids, place, emptyTopicName }: DeletedPayload, { options }: EventView) {
  const { bulk_message_deletion, empty_topic_name } = options.capabilities;
  const where =
    place === null
      ? { message_type: 'private' }
      : {
          message_type: 'stream',
          stream_id: place.channelId,
          topic: shownTopic(place.topic, emptyTopicName, empty_topic_name),
        };
  if (bulk_message_deletion) return { type: 'delete_message', message_ids: ids, ...where };
  return ids.map((id) => ({ type: 'delete_message', message_id: id, ...where }));
}
