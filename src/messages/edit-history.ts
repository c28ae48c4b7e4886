import { realmSetting } from '../access/realm-settings.ts';
import type { Message, MessageEdit, Realm } from '../generated/prisma/client.ts';
import { shownTopic, type WireEdit } from './wire.ts';

/** What of a message an edit can change. */
export interface EditableState {
  readonly topic: string;
  /** Null for a direct message. */
  readonly channelId: number | null;
  /** Source text. */
  readonly content: string;
  /** HTML. */
  readonly renderedContent: string;
}

/** One edit or move: the message before and after it, and what of it the organisation lets its people see. */
export interface HistoryStep {
  readonly editorId: number;
  readonly editedAt: Date;
  readonly before: EditableState;
  readonly after: EditableState;
  readonly showsTopic: boolean;
  readonly showsChannel: boolean;
  readonly showsContent: boolean;
}

/** How much of what was edited the organisation's people may see. */
export const historyPolicy = (realm: Pick<Realm, 'settings'>): 'all' | 'moves' | 'none' =>
  realmSetting(realm, 'message_edit_history_visibility_policy');

/**
 * What became of a message, from the first edit on, as far as the policy lets it be seen. Where only moves may be seen,
 * edits of the content alone are left out.
 *
 * @param edits The message's own, in any order.
 */
export function historySteps(
  message: Pick<Message, 'topic' | 'channelId' | 'content' | 'renderedContent'>,
  edits: readonly MessageEdit[],
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

/** How the empty topic is shown to a client. */
export interface TopicsShown {
  readonly emptyTopicName: string;
  readonly knowsEmptyTopic: boolean;
}

/** The parts of an edit that moves are told by, on the wire; none where the message stayed. */
export function toWireMove(step: HistoryStep, { emptyTopicName, knowsEmptyTopic }: TopicsShown) {
  const { before, after } = step;
  const shown = (topic: string) => shownTopic(topic, emptyTopicName, knowsEmptyTopic);
  return {
    ...(step.showsTopic && { prev_topic: shown(before.topic), topic: shown(after.topic) }),
    ...(step.showsChannel && { prev_stream: before.channelId ?? 0, stream: after.channelId ?? 0 }),
  };
}

/** The parts of an edit that tell what stood there before; none where the content stayed, or is not to be seen. */
export const toWirePrevContent = ({ before, showsContent }: HistoryStep) => ({
  ...(showsContent && { prev_content: before.content, prev_rendered_content: before.renderedContent }),
});

/** `edit_history` of a message object, the newest edit first; null where there is none to be seen. */
export function toWireHistory(steps: readonly HistoryStep[], topics: TopicsShown): WireEdit[] | null {
  if (steps.length === 0) return null;
  const entries = steps.map((step) => ({
    user_id: step.editorId,
    timestamp: Math.floor(step.editedAt.getTime() / 1000),
    ...toWireMove(step, topics),
    ...toWirePrevContent(step),
  }));
  return entries.reverse();
}
