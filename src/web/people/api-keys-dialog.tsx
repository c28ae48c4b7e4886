import { useData } from '../api/use-data.ts';
import { ApiKeysOfDocument, type ManagedPersonFragment } from '../generated/graphql.ts';
import { Dialog } from '../ui/dialog.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { KeyList } from './api-key-list.tsx';

/** Dialog with the named API keys of another person, which administrators can revoke. */
export function ApiKeysDialog({ person: { id, fullName } }: { readonly person: ManagedPersonFragment }) {
  const read = useData(ApiKeysOfDocument, { userId: id }, { requestPolicy: 'cache-and-network' });
  return (
    <Dialog title={`API keys of ${fullName}`}>
      <NotReady of={read} />
      {read.state === 'ready' && (
        <KeyList keys={read.data.user?.apiKeys?.nodes ?? []} onChange={read.reload} isOfOther />
      )}
    </Dialog>
  );
}
