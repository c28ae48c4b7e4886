import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { CreateGroupDocument } from '../generated/graphql.ts';
import { idsOf } from '../people/group-names.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { useViewer } from '../people/use-viewer.ts';
import { announce } from '../ui/announcer.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import type { Described } from '../ui/draft-form.tsx';
import { GroupForm } from './group-form.tsx';
import { openGroup } from './open-group.tsx';

const EMPTY: Described = { name: '', description: '' };

/** Dialog that creates a group with its first members, and opens it. */
export function CreateGroup() {
  const { viewer } = useViewer();
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(CreateGroupDocument, ({ createUserGroup: made }) => {
    close();
    if (made?.__typename === 'CreateUserGroupPayload' && made.userGroup !== null) openGroup(made.userGroup.id);
  });
  const initial: readonly Named[] = viewer === null ? [] : [viewer];
  const [chosen, setChosen] = useState(initial);
  const save = async (draft: Described) => {
    const { people: memberIds, groups: subgroupIds } = idsOf(chosen);
    if (await run({ input: { ...draft, memberIds, subgroupIds } })) announce(`The group ${draft.name} was created.`);
  };
  return (
    <Dialog title="Create a group">
      <GroupForm before={EMPTY} saveAs="Create" isBusy={isBusy} refusal={refusal} save={save}>
        <PeoplePicker label="Members" withGroups initial={initial} onChange={setChosen} />
      </GroupForm>
    </Dialog>
  );
}
