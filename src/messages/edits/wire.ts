import { htmlDiff } from '../../markdown/diff.ts';
import { type TopicsShown, toWireMove, toWirePrevContent } from '../edit-history.ts';
import { shownTopic } from '../wire.ts';
import type { Snapshot } from './history.ts';

/** A snapshot as on the wire. */
export function toWireSnapshot({ at, userId, state, step }: Snapshot, topics: TopicsShown) {
  return {
    // A direct message has no topic, and not the empty one.
    topic: state.channelId === null ? '' : shownTopic(state.topic, topics.emptyTopicName, topics.knowsEmptyTopic),
    ...(step !== null && toWireMove(step, topics)),
    content: state.content,
    rendered_content: state.renderedContent,
    ...(step !== null && toWirePrevContent(step)),
    ...(step?.showsContent === true && {
      content_html_diff: htmlDiff(step.before.renderedContent, step.after.renderedContent),
    }),
    user_id: userId,
    timestamp: Math.floor(at.getTime() / 1000),
  };
}
