import { useState } from 'react';
import { useMutation } from 'urql';
import { refusalIn, useCommand } from '../api/use-command.ts';
import {
  DeactivateGroupDocument,
  type DeactivateGroupMutation,
  type GroupLineFragment,
  UpdateGroupDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Refusal } from '../ui/form.tsx';
import { nameOfGroup } from './group-names.ts';

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
      It can be given no permission and be put into no group, and nobody is told of mentions of it, until it is brought
      back.
    </Confirmation>
  );
}

type Refused = Extract<
  DeactivateGroupMutation['deactivateUserGroup'],
  { __typename?: 'CannotDeactivateGroupInUseError' }
>;

/** What goes by the group, as a sentence. */
function useOf({ kind, supergroups, channel, userGroup }: Refused['objections'][number]): string {
  switch (kind) {
    case 'SUBGROUP':
      return `It is within ${new Intl.ListFormat().format(supergroups.map(nameOfGroup))}.`;
    case 'CHANNEL':
      return `It holds permissions in ${channel === null ? 'a channel that you do not see' : `#${channel.name}`}.`;
    case 'USER_GROUP':
      return `It holds permissions over ${userGroup === null ? 'another group' : nameOfGroup(userGroup)}.`;
    case 'ORGANIZATION':
      return 'It holds permissions in the organization.';
  }
}
