import { organizationSetting } from '../access/organization-settings.ts';
import type { Message, Organization } from '../generated/prisma/client.ts';
import { withoutEmbeds } from '../markdown/embeds.ts';
import type { StoredEdit } from './stored-edits.ts';
import { shownTopic, type WireEdit } from './wire.ts';

/** The parts of a message that an edit can change. */
export interface EditableState {
  readonly topic: string;
  /** Id of the channel. Null for a direct message. */
  readonly channelId: number | null;
  /** Content as flavored Markdown. */
  readonly content: string;
  /** Content as HTML, without previews of pages. */
  readonly renderedContent: string;
}

/**
 * An edit or move of a message, with the states before and after it. `showsTopic`, `showsChannel` and `showsContent` say
 * whether that property changed and the organization's policy shows the change.
 */
export interface HistoryStep {
  readonly editorId: number;
  readonly editedAt: Date;
  readonly before: EditableState;
  readonly after: EditableState;
  readonly showsTopic: boolean;
  readonly showsChannel: boolean;
  readonly showsContent: boolean;
}

/** Returns which edits users of the organization can see: all, only moves, or none. */
export const historyPolicy = (organization: Pick<Organization, 'settings'>): 'all' | 'moves' | 'none' =>
  organizationSetting(organization, 'message_edit_history_visibility_policy');

/**
 * Returns the edits and moves of a message that the policy shows, oldest first. If the policy shows only moves, edits that
 * changed only the content are omitted.
 *
 * @param edits All edits of the message, in any order. If `edits` were read without HTML, every state in the result has the
 *   HTML of the current version.
 */
export function historySteps(
  message: Pick<Message, 'topic' | 'channelId' | 'content' | 'renderedContent'>,
  edits: readonly StoredEdit[],
  policy: 'all' | 'moves' | 'none',
): HistoryStep[] {
  if (policy === 'none') return [];
  const { topic, channelId, content, renderedContent } = message;
  let after: EditableState = { topic, channelId, content, renderedContent: withoutEmbeds(renderedContent) };
  const steps: HistoryStep[] = [];
  for (const edit of edits.toSorted((a, b) => (a.id < b.id ? 1 : -1))) {
    const before = {
      topic: edit.prevTopic ?? after.topic,
      channelId: edit.prevChannelId ?? after.channelId,
      content: edit.prevContent ?? after.content,
      renderedContent: withoutEmbeds(edit.prevRenderedContent ?? after.renderedContent),
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

/** Name that the organization shows for the empty topic, and whether the client accepts "" instead of that name. */
export interface TopicsShown {
  readonly emptyTopicName: string;
  readonly knowsEmptyTopic: boolean;
}

/** Returns the fields of an edit history entry that describe a move. Empty if the edit did not move the message. */
export function toWireMove(step: HistoryStep, { emptyTopicName, knowsEmptyTopic }: TopicsShown) {
  const { before, after } = step;
  const shown = (topic: string) => shownTopic(topic, emptyTopicName, knowsEmptyTopic);
  return {
    ...(step.showsTopic && { prev_topic: shown(before.topic), topic: shown(after.topic) }),
    ...(step.showsChannel && { prev_stream: before.channelId ?? 0, stream: after.channelId ?? 0 }),
  };
}

/**
 * Returns the fields of an edit history entry with the previous content. Empty if the edit did not change the content, or if
 * the policy hides it.
 */
export const toWirePrevContent = ({ before, showsContent }: HistoryStep) => ({
  ...(showsContent && { prev_content: before.content, prev_rendered_content: before.renderedContent }),
});

/**
 * Builds the field `edit_history` of a message, newest edit first. Null if `steps` is empty. The entries contain no HTML,
 * because it can be a hundred times as long as the Markdown. `/messages/{id}/history` returns the HTML.
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
