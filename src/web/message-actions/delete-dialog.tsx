import { useCommand } from '../api/use-command.ts';
import { DeleteMessageDocument } from '../generated/graphql.ts';
import { Confirmation } from '../ui/confirmation.tsx';

/** Asks before a message is deleted, for everybody and for ever. */
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
      It is gone for everybody, with its reactions and its history, and cannot be brought back.
    </Confirmation>
  );
}
