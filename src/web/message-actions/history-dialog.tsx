import { useData } from '../api/use-data.ts';
import { EditHistoryDocument, type EditHistoryQuery } from '../generated/graphql.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { useClock } from '../ui/clock.ts';
import { Dialog } from '../ui/dialog.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { shownTopic } from '../ui/topic-names.ts';
import './message-actions.css';

type Snapshot = NonNullable<NonNullable<EditHistoryQuery['message']>['editHistory']>['nodes'][number];

/** Dialog with all versions of a message, oldest first. Marks the insertions and deletions of each edit. */
export function HistoryDialog({ messageId }: { readonly messageId: string }) {
  const read = useData(EditHistoryDocument, { messageId }, { requestPolicy: 'network-only' });
  const snapshots = read.data?.message?.editHistory?.nodes;
  return (
    <Dialog title="Edit history" size="wide">
      <NotReady of={read} />
      {snapshots?.length === 0 && <p>This organization does not show the edit history of messages.</p>}
      <ol className="plain-list">
        {snapshots?.map((snapshot, i) => (
          <Step key={snapshot.changedAt} snapshot={snapshot} isFirst={i === 0} />
        ))}
      </ol>
    </Dialog>
  );
}

function Step({ snapshot, isFirst }: { readonly snapshot: Snapshot; readonly isFirst: boolean }) {
  const { changedAt, editor, renderedContent, contentHtmlDiff, prevTopicName, topicName, prevChannel, channel } =
    snapshot;
  const { moment } = useClock();
  const did = isFirst ? 'sent it' : contentHtmlDiff === null ? 'moved it' : 'edited it';
  return (
    <li className="history-step">
      <p className="history-head">
        <strong>{editor.fullName}</strong> {did} <time dateTime={changedAt}>{moment(changedAt)}</time>
      </p>
      {prevChannel !== null && (
        <p>
          Channel: <del>#{prevChannel.name}</del> <ins>#{channel?.name}</ins>
        </p>
      )}
      {prevTopicName !== null && (
        <p>
          Topic: <del>{shownTopic(prevTopicName)}</del> <ins>{shownTopic(topicName)}</ins>
        </p>
      )}
      {(isFirst || contentHtmlDiff !== null) && <Markdown html={contentHtmlDiff ?? renderedContent} />}
    </li>
  );
}
