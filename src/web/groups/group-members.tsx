import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  type GroupLineFragment,
  GroupMembersDocument,
  GroupSubgroupsDocument,
  UpdateGroupMembersDocument,
} from '../generated/graphql.ts';
import { AddPeople } from '../people/add-people.tsx';
import { idsOf, nameOfGroup } from '../people/group-names.ts';
import type { Named } from '../people/named.ts';
import { MemberRow } from '../people/person-row.tsx';
import { RemoveButton } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { Icon } from '../ui/icons.tsx';
import { Failure, NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { openGroup } from './open-group.tsx';

interface Props {
  readonly group: GroupLineFragment;
}

/** List of the direct members and subgroups of a group, with controls to add and remove them. */
export function GroupMembers({ group }: Props) {
  const { id: userGroupId, isDeactivated } = group;
  const { run, refusal } = useCommand(UpdateGroupMembersDocument);
  const mayRemove = group.viewerCanRemoveMembers && !isDeactivated;
  return (
    <>
      {group.viewerCanAddMembers && !isDeactivated && <AddMembers userGroupId={userGroupId} />}
      <Refusal>{refusal}</Refusal>
      <ul className="plain-list" aria-label="Subgroups">
        <Pages of={userGroupId}>
          {(page) => (
            <SubgroupsPage
              userGroupId={userGroupId}
              page={page}
              onRemove={
                group.viewerCanManage && !isDeactivated
                  ? (id) => void run({ input: { userGroupId, removeSubgroupIds: [id] } })
                  : undefined
              }
            />
          )}
        </Pages>
      </ul>
      <ul className="plain-list" aria-label="Members">
        <Pages of={userGroupId}>
          {(page) => (
            <MembersPage
              userGroupId={userGroupId}
              page={page}
              onRemove={mayRemove ? (id) => void run({ input: { userGroupId, removeMemberIds: [id] } }) : undefined}
            />
          )}
        </Pages>
      </ul>
    </>
  );
}

interface PageProps {
  readonly userGroupId: string;
  readonly page: ListPage;
  /** Called to remove a member. Undefined if the viewer cannot remove members. */
  readonly onRemove: ((id: string) => void) | undefined;
}

function MembersPage({ userGroupId, page, onRemove }: PageProps) {
  const variables = { userGroupId, after: page.after };
  const read = useData(GroupMembersDocument, variables, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.userGroup?.members ?? {};
  return (
    <>
      {nodes.map((person) => (
        <MemberRow key={person.id} person={person} onRemove={onRemove} />
      ))}
      {pageInfo !== undefined && nodes.length === 0 && page.after === null && (
        <li className="row soft">No direct members.</li>
      )}
      <More page={page} info={pageInfo}>
        More members
      </More>
    </>
  );
}

function SubgroupsPage({ userGroupId, page, onRemove }: PageProps) {
  const variables = { userGroupId, after: page.after };
  const read = useData(GroupSubgroupsDocument, variables, { requestPolicy: 'cache-and-network' });
  // The list of members already shows that the dialog is loading.
  if (read.state !== 'ready') return <Failure of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.userGroup?.subgroups ?? {};
  return (
    <>
      {nodes.map((one) => (
        <li key={one.id} className="row">
          <Icon name="people" />
          <div className="row-body">
            <button type="button" className="person-button" onClick={() => openGroup(one.id)}>
              {nameOfGroup(one)}
            </button>
            <p className="soft">All members of this group</p>
          </div>
          <RemoveButton id={one.id} name={nameOfGroup(one)} onRemove={onRemove} />
        </li>
      ))}
      <More page={page} info={pageInfo}>
        More groups
      </More>
    </>
  );
}

function AddMembers({ userGroupId }: { readonly userGroupId: string }) {
  const command = useCommand(UpdateGroupMembersDocument);
  const adding = (chosen: readonly Named[]) => {
    const { people: addMemberIds, groups: addSubgroupIds } = idsOf(chosen);
    return { input: { userGroupId, addMemberIds, addSubgroupIds } };
  };
  return <AddPeople label="Add people and groups" withGroups command={command} adding={adding} />;
}
