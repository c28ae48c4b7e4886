import { z } from 'zod';
import type { Budget } from '../../markdown/alignment.ts';
import { htmlDiff } from '../../markdown/diff.ts';
import type { Wire } from '../../platform/wire.ts';
import { type TopicsShown, toWireMove, toWirePrevContent } from '../edit-history.ts';
import { shownTopic } from '../wire.ts';
import type { Snapshot } from './history.ts';

/** Schema of one state of a message in the edit history of the REST API. */
export const wireSnapshot = z
  .object({
    topic: z.string(),
    prev_topic: z.string().optional(),
    stream: z.int().optional(),
    prev_stream: z.int().optional(),
    content: z.string(),
    rendered_content: z.string(),
    prev_content: z.string().optional(),
    prev_rendered_content: z.string().optional(),
    content_html_diff: z.string().optional(),
    user_id: z.int(),
    timestamp: z.int().describe('Time at which the message was sent or edited, in UNIX seconds.'),
  })
  .meta({ id: 'MessageSnapshot' });
export type WireSnapshot = Wire<typeof wireSnapshot>;

/**
 * Converts a snapshot to its JSON form.
 *
 * @param budget Limit of the total work for comparing versions. All snapshots of a response share it.
 */
export function toWireSnapshot(
  { at, userId, state, step }: Snapshot,
  { budget, ...topics }: TopicsShown & { readonly budget: Budget },
): WireSnapshot {
  return {
    // Direct messages have no topic, so the organization's name of the empty topic does not apply to them.
    topic: state.channelId === null ? '' : shownTopic(state.topic, topics.emptyTopicName, topics.knowsEmptyTopic),
    ...(step !== null && toWireMove(step, topics)),
    content: state.content,
    rendered_content: state.renderedContent,
    ...(step !== null && toWirePrevContent(step)),
    ...(step?.showsContent === true && {
      content_html_diff: htmlDiff(step.before.renderedContent, step.after.renderedContent, budget),
    }),
    user_id: userId,
    timestamp: Math.floor(at.getTime() / 1000),
  };
}
