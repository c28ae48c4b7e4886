import type { Viewer } from '../../access/context.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import type { AddressedEvent } from '../../events/append.ts';
import type { Emit } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { isMeMessage, topicLinks } from '../../markdown/render.ts';
import { toSnapshot as toUserSnapshot } from '../../people/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import type { PlacedMessage } from '../access.ts';
import { recipientsOf, recipientsOfMove } from '../audience.ts';
import type { PropagateMode } from '../locks.ts';
import { channelRecipientId } from '../wire.ts';
import type { ContentEdit } from './content.ts';
import { MAX_ORIG_HTML, messagesDeleted, messageUpdated, type UpdatedPayload } from './events.ts';
import type { MessageMove } from './plan.ts';
import { readFlagsAndReactions } from './recipient-flags.ts';

/** A change of messages that was written to the database, but whose events were not emitted yet. */
interface Edited {
  /** The message that the editor selected, before the change. */
  readonly message: PlacedMessage;
  readonly move: MessageMove | null;
  readonly content: ContentEdit | null;
  readonly editor: Viewer;
  readonly mode: PropagateMode;
}

/**
 * Types of events that cannot change the recipients or flags of the changed messages. Because the changed messages are locked,
 * new messages, changes of other messages, typing and presence have no effect on them.
 */
export const OF_OTHER_MESSAGES: readonly string[] = ['message', 'update_message', 'typing', 'presence'];

/** Emits the events of a change that was written. Each recipient receives only the ids of messages that they can read. */
export function publishEdit(emit: Emit, context: EditContext, edited: Edited): void {
  emit.reading((tx) => eventsOf(tx, context, edited), OF_OTHER_MESSAGES);
}

interface EditContext {
  readonly organization: Organization;
  readonly now: Date;
}

async function eventsOf(tx: Tx, { organization, now }: EditContext, edited: Edited): Promise<AddressedEvent[]> {
  const { message, move, editor } = edited;
  const { moved, gone } =
    move === null
      ? { moved: await recipientsOf(tx, organization, { ...message, ids: [Number(message.id)] }, editor.id), gone: [] }
      : await recipientsOfMove(tx, { organization, now }, move, editor.id);
  const events: AddressedEvent[] = [];
  for (const { audience, ids } of moved) {
    const payload = payloadFor(edited, organization, now, ids);
    const { flags, reactions } = await readFlagsAndReactions(tx, organization.id, payload.id, audience);
    const known = payload.message !== undefined && reactions !== null ? { reactions } : {};
    events.push({ event: messageUpdated({ ...payload, flags, ...known }), audience });
  }
  for (const { audience, ids } of gone) {
    const where = move === null ? null : { channelId: move.from.id, topic: move.oldTopic };
    events.push({
      event: messagesDeleted({
        ...{ ids, place: where, conversationId: message.conversation?.id ?? null },
        emptyTopicName: emptyTopicName(organization),
      }),
      audience,
    });
  }
  return events;
}

/**
 * Returns the payload of the event without flags and reactions, for recipients who can read only the messages with the given
 * `ids`.
 */
function payloadFor(
  { message, move, content, editor, mode }: Edited,
  organization: Organization,
  now: Date,
  ids: readonly number[],
) {
  const includesSelected = ids.includes(Number(message.id));
  const { channel } = message;
  return {
    editorId: editor.id,
    timestamp: Math.floor(now.getTime() / 1000),
    at: now.toISOString(),
    id: includesSelected ? Number(message.id) : (ids.at(-1) ?? 0),
    ids,
    channel: channel === null ? null : { id: channel.id, name: channel.name },
    topic: message.topic,
    conversationId: message.conversation?.id ?? null,
    move: move === null ? null : toMovePayload(move, mode),
    content: content === null || !includesSelected ? null : toContentPayload(message, content),
    message: includesSelected
      ? toEditedSnapshot({ message, move, content, editor, mode }, organization, now)
      : undefined,
    emptyTopicName: emptyTopicName(organization),
  };
}

/**
 * Returns the message after an edit of its content in a channel. Undefined if the content does not change, the message is
 * direct, the editor is not the sender, or the message moves to another channel.
 */
function toEditedSnapshot(
  { message, move, content, editor }: Edited,
  organization: Organization,
  now: Date,
): UpdatedPayload['message'] {
  const { channel } = message;
  if (content === null || channel === null || message.senderId !== editor.id) return undefined;
  if (move !== null && move.to.id !== move.from.id) return undefined;
  const topic = move?.topic ?? message.topic;
  return {
    id: Number(message.id),
    recipientId: channelRecipientId(channel.id),
    sender: toUserSnapshot(editor.user),
    realm: organization.subdomain,
    client: message.clientName,
    timestamp: Math.floor(message.sentAt.getTime() / 1000),
    sentAt: message.sentAt.toISOString(),
    channel: { id: channel.id, name: channel.name },
    topic,
    topicLinks: topic === '' ? [] : topicLinks(topic),
    emptyTopicName: emptyTopicName(organization),
    lastEditedAt: now.toISOString(),
    lastMovedAt: (move === null || move.resolution !== null ? message.lastMovedAt : now)?.toISOString() ?? null,
  };
}

function toMovePayload(move: MessageMove, mode: PropagateMode): UpdatedPayload['move'] {
  const { from, to, oldTopic, topic, isOneSpelling } = move;
  const isRenamed = topic !== oldTopic;
  return {
    propagateMode: mode,
    origTopic: oldTopic,
    topic: isRenamed ? topic : null,
    topicLinks: isRenamed && topic !== '' ? topicLinks(topic) : [],
    channelId: to.id === from.id ? null : to.id,
    isOneSpelling,
  };
}

const toContentPayload = (before: PlacedMessage, { rendered }: ContentEdit): UpdatedPayload['content'] => ({
  origSource: before.content,
  ...(before.renderedContent.length <= MAX_ORIG_HTML && { origHtml: before.renderedContent }),
  source: rendered.source,
  html: rendered.html,
  isMeMessage: isMeMessage(rendered.source),
});
