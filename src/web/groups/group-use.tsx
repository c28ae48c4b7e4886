import { useCommand } from '../api/use-command.ts';
import { DeactivateGroupDocument, type GroupLineFragment, UpdateGroupDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Refusal } from '../ui/form.tsx';

interface Props {
  readonly group: GroupLineFragment;
}

/** Takes a group out of use, or brings it back. */
export function GroupUse({ group }: Props) {
  const { run, refusal, isBusy } = useCommand(UpdateGroupDocument);
  if (!group.isDeactivated) {
    return (
      <div>
        <Button className="button-danger" onClick={() => openDialog(<DeactivateDialog group={group} />)}>
          Deactivate the group
        </Button>
      </div>
    );
  }
  return (
    <div>
      <Refusal>{refusal}</Refusal>
      <Button disabled={isBusy} onClick={() => void run({ input: { userGroupId: group.id, isDeactivated: false } })}>
        Reactivate the group
      </Button>
    </div>
  );
}

function DeactivateDialog({ group: { id, name } }: Props) {
  const { run, refusal, isBusy } = useCommand(DeactivateGroupDocument);
  return (
    <Confirmation
      title={`Deactivate ${name}?`}
      action="Deactivate"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={() => run({ input: { userGroupId: id } })}
    >
      It can be given no permission and be put into no group, and nobody is told of mentions of it, until it is brought
      back.
    </Confirmation>
  );
}
