import { useData } from '../api/use-data.ts';
import { ReadReceiptsDocument } from '../generated/graphql.ts';
import { PersonRow } from '../people/person-row.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { NotReady } from '../ui/not-ready.tsx';

/** Dialog with the users who have read a message. Users who do not share read receipts are left out. */
export function ReceiptsDialog({ messageId }: { readonly messageId: string }) {
  const read = useData(ReadReceiptsDocument, { messageId }, { requestPolicy: 'network-only' });
  const { data } = read;
  const receipts = data?.message?.readReceipts;
  const rest = (receipts?.totalCount ?? 0) - (receipts?.nodes.length ?? 0);
  return (
    <Dialog title="Read receipts">
      <NotReady of={read} />
      {receipts?.nodes.length === 0 && (
        <p>
          {data?.organization?.enableReadReceipts === false
            ? 'This organization does not show read receipts.'
            : 'No users who share read receipts have read this message.'}
        </p>
      )}
      <ul className="plain-list">
        {receipts?.nodes.map((person) => (
          <PersonRow key={person.id} person={person} />
        ))}
        {rest > 0 && <li className="row soft">And {rest} more</li>}
      </ul>
    </Dialog>
  );
}
