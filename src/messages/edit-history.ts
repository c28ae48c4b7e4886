import { realmSetting } from '../access/realm-settings.ts';
import type { Message, Realm } from '../generated/prisma/client.ts';
import type { StoredEdit } from './stored-edits.ts';
import { shownTopic, type WireEdit } from './wire.ts';

/** The parts of a message that an edit can change. */
export interface EditableState {
  readonly topic: string;
  /** Null for a direct message. */
  readonly channelId: number | null;
  /** Source text. */
  readonly content: string;
  /** HTML. */
  readonly renderedContent: string;
}

/** An edit or move: the message before and after it, and the changes that the organization's policy shows. */
export interface HistoryStep {
  readonly editorId: number;
  readonly editedAt: Date;
  readonly before: EditableState;
  readonly after: EditableState;
  readonly showsTopic: boolean;
  readonly showsChannel: boolean;
  readonly showsContent: boolean;
}

/** Returns the part of edit histories that users of the organization can see. */
export const historyPolicy = (realm: Pick<Realm, 'settings'>): 'all' | 'moves' | 'none' =>
  realmSetting(realm, 'message_edit_history_visibility_policy');

/**
 * Returns the edits and moves of a message that the policy shows, oldest first. If the policy shows only moves, edits of
 * the content alone are omitted.
 *
 * @param edits All edits of the message, in any order. If read without HTML, the HTML of the steps is meaningless.
 */
export function historySteps(
  message: Pick<Message, 'topic' | 'channelId' | 'content' | 'renderedContent'>,
  edits: readonly StoredEdit[],
  policy: 'all' | 'moves' | 'none',
): HistoryStep[] {
  if (policy === 'none') return [];
  const { topic, channelId, content, renderedContent } = message;
  let after: EditableState = { topic, channelId, content, renderedContent };
  const steps: HistoryStep[] = [];
  for (const edit of edits.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
    const before = {
      topic: edit.prevTopic ?? after.topic,
      channelId: edit.prevChannelId ?? after.channelId,
      content: edit.prevContent ?? after.content,
      renderedContent: edit.prevRenderedContent ?? after.renderedContent,
    };
    const { editorId, editedAt } = edit;
    const shows = {
      showsTopic: edit.prevTopic !== null,
      showsChannel: edit.prevChannelId !== null,
      showsContent: edit.prevContent !== null && policy === 'all',
    };
    if (Object.values(shows).includes(true)) steps.push({ editorId, editedAt, before, after, ...shows });
    after = before;
  }
  return steps.reverse();
}

/** Settings for showing the empty topic to a client. */
export interface TopicsShown {
  readonly emptyTopicName: string;
  readonly knowsEmptyTopic: boolean;
}

/** Returns the wire fields of an edit that describe a move. Empty if the message was not moved. */
export function toWireMove(step: HistoryStep, { emptyTopicName, knowsEmptyTopic }: TopicsShown) {
  const { before, after } = step;
  const shown = (topic: string) => shownTopic(topic, emptyTopicName, knowsEmptyTopic);
  return {
    ...(step.showsTopic && { prev_topic: shown(before.topic), topic: shown(after.topic) }),
    ...(step.showsChannel && { prev_stream: before.channelId ?? 0, stream: after.channelId ?? 0 }),
  };
}

/** Returns the wire fields with the previous content. Empty if the content was not changed, or is hidden by the policy. */
export const toWirePrevContent = ({ before, showsContent }: HistoryStep) => ({
  ...(showsContent && { prev_content: before.content, prev_rendered_content: before.renderedContent }),
});

/**
 * Builds `edit_history` of a message object, newest edit first. Null if no edit is visible. It excludes the HTML of earlier
 * versions, which can be a hundred times as long as the text. `/messages/{id}/history` includes it.
 */
export function toWireHistory(steps: readonly HistoryStep[], topics: TopicsShown): WireEdit[] | null {
  if (steps.length === 0) return null;
  const entries = steps.map((step) => ({
    user_id: step.editorId,
    timestamp: Math.floor(step.editedAt.getTime() / 1000),
    ...toWireMove(step, topics),
    ...(step.showsContent && { prev_content: step.before.content }),
  }));
  return entries.reverse();
}
