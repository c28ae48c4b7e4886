import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useViewer } from '../conversation/use-viewer.ts';
import { CreateGroupDocument } from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { announce } from '../ui/announcer.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import type { Described } from '../ui/draft-form.tsx';
import { GroupForm } from './group-form.tsx';
import { idsOf } from './group-names.ts';

const EMPTY: Described = { name: '', description: '' };

/** Makes a group, with the people and groups that are to be in it from the start. */
export function CreateGroup() {
  const { viewer } = useViewer();
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(CreateGroupDocument);
  const initial: readonly Named[] = viewer === null ? [] : [viewer];
  const [chosen, setChosen] = useState(initial);
  const save = async (draft: Described) => {
    const { people: memberIds, groups: subgroupIds } = idsOf(chosen);
    if (!(await run({ input: { ...draft, memberIds, subgroupIds } }))) return;
    announce(`${draft.name} is made`);
    close();
  };
  return (
    <Dialog title="Make a group">
      <GroupForm before={EMPTY} saveAs="Make the group" isBusy={isBusy} refusal={refusal} save={save}>
        <PeoplePicker label="Who is in it" withGroups initial={initial} onChange={setChosen} />
      </GroupForm>
    </Dialog>
  );
}
