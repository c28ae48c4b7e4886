import { useState } from 'react';
import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { GroupDocument, type GroupQuery, UpdateGroupDocument } from '../generated/graphql.ts';
import { Dialog } from '../ui/dialog.tsx';
import { changesIn, type Described } from '../ui/draft-form.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { GroupForm } from './group-form.tsx';
import { GroupMembers } from './group-members.tsx';
import { nameOfGroup } from './group-names.ts';
import { GroupUse } from './group-use.tsx';
import './groups.css';
import { notify } from '../ui/notices.tsx';
import { JoinButton } from './join-button.tsx';
import { PermissionsForm } from './permissions-form.tsx';

type Group = NonNullable<GroupQuery['userGroup']>;

const PARTS = { members: 'Members', general: 'General', permissions: 'Permissions' } as const;
type Part = keyof typeof PARTS;

/** All about a group, in three parts. Who may not manage it reads what it is. */
export function GroupDialog({ userGroupId }: { readonly userGroupId: string }) {
  const [part, setPart] = useState<Part>('members');
  const [{ data }] = useQuery({
    query: GroupDocument,
    variables: { userGroupId },
    requestPolicy: 'cache-and-network',
  });
  const group = data?.userGroup;
  if (group === undefined) return null;
  if (group === null) return <Dialog title="No group you can see">It is gone, or hidden from you.</Dialog>;
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
        <p className="soft">Its members follow from their roles.</p>
      ) : (
        <Permissions group={group} />
      );
  }
}

function About({ group }: { readonly group: Group }) {
  return (
    <div className="group-about">
      <p className="soft">
        {group.isDeactivated && 'Deactivated: it can be given no permission. '}
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
  canManage: 'Manage it',
  canAddMembers: 'Add members',
  canRemoveMembers: 'Remove members',
  canJoin: 'Join it',
  canLeave: 'Leave it',
  canMention: 'Mention it',
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
