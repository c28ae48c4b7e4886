import { toWireHistory } from './edit-history.ts';
import type { FetchedMessage } from './fetch.ts';
import { type Shown, toWireFlags, toWireMessage, type WireMessage } from './wire.ts';
import { toWireReaction } from './wire-reactions.ts';

const seconds = (time: Date) => Math.floor(time.getTime() / 1000);

/** Converts a message with the reader's data to its JSON form. */
export function toWireFetched(message: FetchedMessage, shown: Shown): WireMessage {
  const { snapshot, flags, reactions, edits, lastEditedAt, lastMovedAt, match } = message;
  const knowsEmptyTopic = shown.options.capabilities.empty_topic_name;
  const history = toWireHistory(edits, { emptyTopicName: snapshot.emptyTopicName, knowsEmptyTopic });
  return {
    ...toWireMessage(snapshot, shown),
    reactions: reactions.map(toWireReaction),
    ...(history !== null && { edit_history: history }),
    ...(lastEditedAt !== null && { last_edit_timestamp: seconds(lastEditedAt) }),
    ...(lastMovedAt !== null && { last_moved_timestamp: seconds(lastMovedAt) }),
    flags: toWireFlags(flags),
    ...(match !== undefined && { match_content: match.content, match_subject: match.topic }),
  };
}
