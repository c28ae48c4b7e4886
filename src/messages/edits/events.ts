import { defineEvent, type RenderedEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import type { TopicLink } from '../../markdown/render.ts';
import { classOfReactor, type KnownReactions, reactionsSeenBy, type ToldEmoji } from '../reactions/groups.ts';
import { type MessageFacts, shownTopic, toWireFlags, type UserFlags } from '../wire.ts';
import { type FlagFacts, flagsOf } from './flags.ts';

/** How far a move reaches: one message, it and the later ones of its topic, or all of them. */
export const PROPAGATE_MODES = ['change_one', 'change_later', 'change_all'] as const;
export type PropagateMode = (typeof PROPAGATE_MODES)[number];

/** A message after a change of it, as everybody sees it who may read it: what `MessageFacts` have, and when it changed. */
export type EditedFacts = Omit<MessageFacts, 'content' | 'renderedContent' | 'members'> & {
  /** ISO 8601, to the millisecond. */
  readonly lastEditedAt: string;
  /** ISO 8601, to the millisecond; null when it never was. */
  readonly lastMovedAt: string | null;
};

/** An edit or move of messages, as those hear of it who may read them all. */
export interface UpdatedPayload {
  readonly editorId: number;
  /** UNIX seconds. */
  readonly timestamp: number;
  /** ISO 8601, to the millisecond; absent in events logged before they told it. */
  readonly at?: string | undefined;
  /** The message asked for, or the last of `ids` where that one is not for them. */
  readonly id: number;
  /** All that were moved, or the one that was edited, ascending. */
  readonly ids: readonly number[];
  /** Where they stood before; null for a direct message. */
  readonly channel: { readonly id: number; readonly name: string } | null;
  /** Null when they stay where they are. */
  readonly move: {
    readonly propagateMode: PropagateMode;
    readonly origTopic: string;
    /** Null when it stays. */
    readonly topic: string | null;
    readonly topicLinks: readonly TopicLink[];
    /** Null when it stays. */
    readonly channelId: number | null;
    /** Whether all have their topic in one case after it; absent in events logged before they told it. */
    readonly isOneSpelling?: boolean | undefined;
  } | null;
  /** Of the message `id`; null when it stays. */
  readonly content: {
    readonly origSource: string;
    readonly origHtml: string;
    readonly source: string;
    readonly html: string;
    readonly isMeMessage: boolean;
  } | null;
  /** Of the message `id`. */
  readonly flags: FlagFacts;
  /** The message `id` as it is now; absent where the change does not know all of it. */
  readonly message?: EditedFacts | undefined;
  /** What is on the message `id`; absent where it is too much, and in events logged before they told it. */
  readonly reactions?: readonly ToldEmoji[] | undefined;
  /** The name that clients are shown that do not know the empty topic. */
  readonly emptyTopicName: string;
}

/** To those who may read the messages after the change. */
export const messageUpdated = defineEvent(
  'update_message',
  undefined,
  (payload: UpdatedPayload): UpdatedPayload => payload,
  {
    // The editor knows their own address, hidden or not.
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

/** A change, and what the message is to those who look. */
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
      orig_rendered_content: content.origHtml,
      content: content.source,
      rendered_content: content.html,
      is_me_message: content.isMeMessage,
    }),
  };
}

/** Messages of one topic, or of one conversation, that are gone. */
export interface DeletedPayload {
  /** Ascending. */
  readonly ids: readonly number[];
  /** Where they stood; null for direct messages. */
  readonly place: { readonly channelId: number; readonly topic: string } | null;
  readonly emptyTopicName: string;
}

/** To those who could read them: they are deleted, or not theirs to read any more. */
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
