import { useCommand } from '../api/use-command.ts';
import { DeleteMessageDocument } from '../generated/graphql.ts';
import { Confirmation } from '../ui/confirmation.tsx';

/** Dialog that asks for confirmation before a message is deleted for all users. Deletion is permanent. */
export function DeleteDialog({ messageId }: { readonly messageId: string }) {
  const command = useCommand(DeleteMessageDocument);
  return (
    <Confirmation
      title="Delete this message?"
      action="Delete"
      refusal={command.refusal}
      isBusy={command.isBusy}
      onConfirm={() => command.run({ input: { messageId } })}
    >
      The message, its reactions and its edit history are deleted for all users. This cannot be undone.
    </Confirmation>
  );
}
