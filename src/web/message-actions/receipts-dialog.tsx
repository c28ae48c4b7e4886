import { useQuery } from 'urql';
import { ReadReceiptsDocument } from '../generated/graphql.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Avatar } from '../ui/person.tsx';
import './message-actions.css';

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
      {receipts?.nodes.length === 0 && <p>Nobody who lets others know.</p>}
      <ul className="plain-list">
        {receipts?.nodes.map(({ id, fullName, avatarUrl }) => (
          <li key={id} className="person-line">
            <Avatar url={avatarUrl} size={28} /> {fullName}
          </li>
        ))}
        {rest > 0 && <li>And {rest} more</li>}
      </ul>
    </Dialog>
  );
}
