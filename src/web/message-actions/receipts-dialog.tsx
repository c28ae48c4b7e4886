import { useQuery } from 'urql';
import { ReadReceiptsDocument } from '../generated/graphql.ts';
import { PersonRow } from '../people/person-row.tsx';
import { Dialog } from '../ui/dialog.tsx';

/** Who has read a message, as far as they let others know. */
export function ReceiptsDialog({ messageId }: { readonly messageId: string }) {
  const [{ data, error }] = useQuery({
    query: ReadReceiptsDocument,
    variables: { messageId },
    requestPolicy: 'network-only',
  });
  const receipts = data?.message?.readReceipts;
  const rest = (receipts?.totalCount ?? 0) - (receipts?.nodes.length ?? 0);
  return (
    <Dialog title="Who has read it">
      {error !== undefined && <p role="alert">{error.message}</p>}
      {receipts?.nodes.length === 0 && (
        <p>
          {data?.organization?.enableReadReceipts === false
            ? 'This organization does not show who has read what.'
            : 'Nobody who lets others know.'}
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
