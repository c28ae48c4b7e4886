import { useState } from 'react';
import { useMutation } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { refusalIn } from '../base/refusals.ts';
import {
  DeactivateGroupDocument,
  type DeactivateGroupMutation,
  type GroupLineFragment,
  ReactivateGroupDocument,
} from '../generated/graphql.ts';
import { nameOfGroup } from '../people/group-names.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Refusal } from '../ui/form.tsx';

interface Props {
  readonly group: GroupLineFragment;
}

/** Buttons that deactivate or reactivate a group. */
export function GroupUse({ group }: Props) {
  const { run, refusal, isBusy } = useCommand(ReactivateGroupDocument);
  if (!group.isDeactivated) {
    return (
      <div>
        <Button className="button-danger" onClick={() => openDialog(<DeactivateDialog group={group} />)}>
          Deactivate group
        </Button>
      </div>
    );
  }
  return (
    <div>
      <Refusal>{refusal}</Refusal>
      <Button disabled={isBusy} onClick={() => void run({ input: { userGroupId: group.id } })}>
        Reactivate group
      </Button>
    </div>
  );
}

function DeactivateDialog({ group: { id, name } }: Props) {
  const [{ fetching }, execute] = useMutation(DeactivateGroupDocument);
  const [refusal, setRefusal] = useState<string>();
  const deactivate = async () => {
    const { data, error } = await execute({ input: { userGroupId: id } });
    const result = data?.deactivateUserGroup;
    const uses = result?.__typename === 'CannotDeactivateGroupInUseError' ? result.objections.map(useOf) : [];
    const said = refusalIn(data ?? undefined, error);
    setRefusal(said === undefined ? undefined : [said, ...uses].join(' '));
    return said === undefined;
  };
  return (
    <Confirmation
      title={`Deactivate ${name}?`}
      action="Deactivate"
      refusal={refusal}
      isBusy={fetching}
      onConfirm={deactivate}
    >
      A deactivated group cannot receive permissions or be added to other groups. Mentions of it send no notifications.
      You can reactivate it later.
    </Confirmation>
  );
}

type Refused = Extract<
  DeactivateGroupMutation['deactivateUserGroup'],
  { __typename?: 'CannotDeactivateGroupInUseError' }
>;

/**
 * Returns a sentence for the user about one use of a group, such as in a permission. The use prevents the deactivation of the
 * group.
 */
function useOf({ kind, supergroups, channel, userGroup }: Refused['objections'][number]): string {
  switch (kind) {
    case 'SUBGROUP':
      return `The group is a subgroup of ${new Intl.ListFormat().format(supergroups.map(nameOfGroup))}.`;
    case 'CHANNEL':
      return `The group holds permissions in ${channel === null ? 'a channel that you cannot see' : `#${channel.name}`}.`;
    case 'USER_GROUP':
      return `The group holds permissions for ${userGroup === null ? 'another group' : nameOfGroup(userGroup)}.`;
    case 'ORGANIZATION':
      return 'The group holds permissions in the organization.';
  }
}
