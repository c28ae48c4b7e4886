import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { GroupDocument, type GroupQuery, UpdateGroupDocument } from '../generated/graphql.ts';
import { nameOfGroup } from '../people/group-names.ts';
import { Dialog } from '../ui/dialog.tsx';
import { changesIn, type Described } from '../ui/draft-form.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { GroupForm } from './group-form.tsx';
import { GroupMembers } from './group-members.tsx';
import { GroupUse } from './group-use.tsx';
import './groups.css';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { JoinButton } from './join-button.tsx';
import { PermissionsForm } from './permissions-form.tsx';

type Group = NonNullable<GroupQuery['userGroup']>;

const PARTS = { members: 'Members', general: 'General', permissions: 'Permissions' } as const;
type Part = keyof typeof PARTS;

/** Dialog with a group in three tabs. Read-only if the viewer cannot manage the group. */
export function GroupDialog({ userGroupId }: { readonly userGroupId: string }) {
  const [part, setPart] = useState<Part>('members');
  const read = useData(GroupDocument, { userGroupId }, { requestPolicy: 'cache-and-network' });
  if (read.state === 'loading') return null;
  if (read.state === 'failed') {
    return (
      <Dialog title="Group">
        <NotReady of={read} />
      </Dialog>
    );
  }
  const group = read.data.userGroup;
  if (group === null)
    return <Dialog title="Group not found">It does not exist, or you do not have access to it.</Dialog>;
  return (
    <Dialog title={nameOfGroup(group)} size="wide">
      <Tabs parts={PARTS} shown={part} onShow={setPart} />
      <Shown part={part} group={group} />
    </Dialog>
  );
}

function Shown({ part, group }: { readonly part: Part; readonly group: Group }) {
  switch (part) {
    case 'members':
      return (
        <>
          <About group={group} />
          <GroupMembers group={group} />
        </>
      );
    case 'general':
      return <General group={group} />;
    case 'permissions':
      return group.isRoleGroup ? (
        <p className="soft">The members of this group are determined by their roles.</p>
      ) : (
        <Permissions group={group} />
      );
  }
}

function About({ group }: { readonly group: Group }) {
  return (
    <div className="group-about">
      <p className="soft">
        {group.isDeactivated && 'This group is deactivated and cannot receive permissions. '}
        {group.description}
      </p>
      <JoinButton group={group} />
    </div>
  );
}

function General({ group }: { readonly group: Group }) {
  const { run, refusal, isBusy } = useCommand(UpdateGroupDocument);
  const { id: userGroupId, description, viewerCanManage } = group;
  const before = { name: nameOfGroup(group), description };
  const save = async (draft: Described, begun: Described) => {
    if (await run({ input: { userGroupId, ...changesIn(draft, begun) } })) notify('Saved.');
  };
  return (
    <>
      <GroupForm {...{ before, isBusy, refusal, save }} saveAs="Save" isFixed={!viewerCanManage} />
      {viewerCanManage && <GroupUse group={group} />}
    </>
  );
}

const PERMISSIONS = {
  canManage: 'Manage the group',
  canAddMembers: 'Add members',
  canRemoveMembers: 'Remove members',
  canJoin: 'Join the group',
  canLeave: 'Leave the group',
  canMention: 'Mention the group',
} as const;

function Permissions({ group: { id: userGroupId, permissions, viewerCanManage } }: { readonly group: Group }) {
  const { run, refusal } = useCommand(UpdateGroupDocument);
  return (
    <PermissionsForm
      labels={PERMISSIONS}
      holders={permissions}
      isFixed={!viewerCanManage}
      refusal={refusal}
      save={(edits) => run({ input: { userGroupId, permissions: edits } })}
    />
  );
}
