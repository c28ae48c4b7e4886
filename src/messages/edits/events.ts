import { defineEvent, type RenderedEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import type { TopicLink } from '../../markdown/render.ts';
import { classOfReactor, type EventEmoji, type KnownReactions, reactionsSeenBy } from '../reactions/groups.ts';
import { type MessageEventSnapshot, shownTopic, toWireFlags, type UserFlags } from '../wire.ts';
import { flagsOf, type RecipientFlags } from './recipient-flags.ts';

/** Extent of a move: one message, that message and the later ones of its topic, or all of them. */
export const PROPAGATE_MODES = ['change_one', 'change_later', 'change_all'] as const;
export type PropagateMode = (typeof PROPAGATE_MODES)[number];

/** The part of a changed message that is equal for all users who can read it: `MessageEventSnapshot`, and the times of the changes. */
export type EditedSnapshot = Omit<MessageEventSnapshot, 'content' | 'renderedContent' | 'members'> & {
  /** ISO 8601, to the millisecond. */
  readonly lastEditedAt: string;
  /** ISO 8601, to the millisecond. Null if the message was never moved. */
  readonly lastMovedAt: string | null;
};

/**
 * Longest HTML of the previous version in an edit's event, in characters. HTML can be a hundred times as long as the text: with
 * both versions, an edit would be twice as long as a message in the log and in each queue. The edit history has longer ones.
 */
export const MAX_ORIG_HTML = 65_536;

/** An edit or move of messages, for users who can read all of them. */
export interface UpdatedPayload {
  readonly editorId: number;
  /** UNIX seconds. */
  readonly timestamp: number;
  /** ISO 8601, to the millisecond. Absent in events logged by previous versions. */
  readonly at?: string | undefined;
  /** The requested message. If the recipients cannot read it, the last of `ids`. */
  readonly id: number;
  /** The moved messages, ascending, or the one that was edited. */
  readonly ids: readonly number[];
  /** The channel before the change. Null for a direct message. */
  readonly channel: { readonly id: number; readonly name: string } | null;
  /** Null if nothing moved. */
  readonly move: {
    readonly propagateMode: PropagateMode;
    readonly origTopic: string;
    /** Null if the topic is unchanged. */
    readonly topic: string | null;
    readonly topicLinks: readonly TopicLink[];
    /** Null if the channel is unchanged. */
    readonly channelId: number | null;
    /** Whether all messages spell their topic alike after the move. Absent in events logged by previous versions. */
    readonly isOneSpelling?: boolean | undefined;
  } | null;
  /** Content of the message `id` before and after the edit. Null if the content is unchanged. */
  readonly content: {
    readonly origSource: string;
    /** Absent if it is longer than `MAX_ORIG_HTML`. */
    readonly origHtml?: string | undefined;
    readonly source: string;
    readonly html: string;
    readonly isMeMessage: boolean;
  } | null;
  /** Flags of the message `id`. */
  readonly flags: RecipientFlags;
  /** The message `id` in its current state. Absent if the change does not contain all of it. */
  readonly message?: EditedSnapshot | undefined;
  /** Reactions to the message `id`. Absent if there are too many, and in events logged by previous versions. */
  readonly reactions?: readonly EventEmoji[] | undefined;
  /** Name of the empty topic for clients without the capability `empty_topic_name`. */
  readonly emptyTopicName: string;
}

/** Sent to users who can read the messages after the change. */
export const messageUpdated = defineEvent(
  'update_message',
  undefined,
  (payload: UpdatedPayload): UpdatedPayload => payload,
  {
    // Editors see their own address even if it is hidden from other users.
    perUser: ({ flags, editorId, reactions = [] }, { userId }) =>
      `${toWireFlags(flagsOf(flags, userId)).join()} ${editorId === userId} ${classOfReactor(reactions, userId)}`,
    render: renderUpdate,
    facts: (payload, { userId }): KnownUpdate => ({
      ...payload,
      flags: flagsOf(payload.flags, userId),
      reactions: payload.reactions && reactionsSeenBy(payload.reactions, userId),
    }),
  },
);

/** A change with the flags and reactions of one recipient. */
export interface KnownUpdate extends Omit<UpdatedPayload, 'flags' | 'reactions'> {
  readonly flags: UserFlags;
  readonly reactions?: KnownReactions | undefined;
}

function renderUpdate(payload: UpdatedPayload, { userId, options }: EventView): RenderedEvent {
  const { channel, move, content, emptyTopicName } = payload;
  const shown = (topic: string) => shownTopic(topic, emptyTopicName, options.capabilities.empty_topic_name);
  return {
    type: 'update_message',
    user_id: payload.editorId,
    rendering_only: false,
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
  };
}

/** Messages of one topic or conversation that were deleted or became unreadable. */
export interface DeletedPayload {
  /** Ascending. */
  readonly ids: readonly number[];
  /** The location of the messages. Null for direct messages. */
  readonly place: { readonly channelId: number; readonly topic: string } | null;
  readonly emptyTopicName: string;
}

/** Sent to users who could read the messages. They were deleted, or the recipients lost access to them. */
export const messagesDeleted = defineEvent(
  'delete_message',
  undefined,
  (payload: DeletedPayload): DeletedPayload => payload,
  {
    width: ({ ids }) => ids.length,
    facts: ({ place }): Pick<DeletedPayload, 'place'> => ({ place }),
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
