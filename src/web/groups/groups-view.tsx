import { type ReactNode, useDeferredValue, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { type GroupLineFragment, GroupsDocument } from '../generated/graphql.ts';
import { nameOfGroup } from '../people/group-names.ts';
import { PeopleTabs } from '../people/people-tabs.tsx';
import { useRights } from '../people/use-viewer.ts';
import { Button } from '../ui/button.tsx';
import { Choice, SearchField } from '../ui/form.tsx';
import { Header } from '../ui/header.tsx';
import { Icon } from '../ui/icons.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { JoinButton } from './join-button.tsx';
import { openCreateGroup, openGroup } from './open-group.tsx';

const KINDS = [
  ['made', 'Groups'],
  ['role', 'Role groups'],
  ['deactivated', 'Deactivated'],
] as const;
type Kind = (typeof KINDS)[number][0];

const kindOf = ({ isDeactivated, isRoleGroup }: GroupLineFragment): Kind =>
  isDeactivated ? 'deactivated' : isRoleGroup ? 'role' : 'made';

/** List of the organization's groups: created by users, derived from roles, or deactivated. */
export function GroupsView({ menu }: { readonly menu: ReactNode }) {
  const [text, setText] = useState('');
  const [kind, setKind] = useState<Kind>('made');
  const nameContains = useDeferredValue(text.trim());
  const { viewerCanCreateUserGroups: mayMake } = useRights();
  return (
    <>
      <Header menu={menu} title="Groups" />
      <div className="page" data-section>
        <PeopleTabs />
        <section className="page-section" aria-label="All groups">
          <div className="page-bar">
            <SearchField label="Find groups" value={text} onSearch={setText} />
            <Choice label="Show" options={KINDS} value={kind} onChoose={setKind} />
            {mayMake && (
              <Button kind="primary" onClick={openCreateGroup}>
                Create a group
              </Button>
            )}
          </div>
          <ul className="plain-list" aria-label="Groups">
            <Pages of={`${kind} ${nameContains}`}>
              {(page) => <GroupsPage page={page} kind={kind} nameContains={nameContains} />}
            </Pages>
          </ul>
        </section>
      </div>
    </>
  );
}

interface PageProps {
  readonly page: ListPage;
  readonly kind: Kind;
  readonly nameContains: string;
}

function GroupsPage({ page, kind, nameContains }: PageProps) {
  const read = useData(
    GroupsDocument,
    {
      after: page.after,
      includeDeactivated: kind === 'deactivated',
      ...(nameContains !== '' && { nameContains }),
    },
    { requestPolicy: 'cache-and-network' },
  );
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { userGroups } = read.data;
  if (userGroups === null) return <li className="row soft">Guests cannot see groups.</li>;
  // The service lists groups of all kinds, so a page may contain few or none of one kind.
  const groups = userGroups.nodes.filter((group) => kindOf(group) === kind);
  const info = userGroups.pageInfo;
  const isEmpty = groups.length === 0 && page.after === null && !info.hasNextPage;
  return (
    <>
      {groups.map((group) => (
        <GroupRow key={group.id} group={group} />
      ))}
      {isEmpty && <li className="row soft">No groups found.</li>}
      <More page={page} info={info}>
        More groups
      </More>
    </>
  );
}

function GroupRow({ group }: { readonly group: GroupLineFragment }) {
  return (
    <li className="row">
      <Icon name="people" />
      <div className="row-body">
        <button type="button" className="person-button" onClick={() => openGroup(group.id)}>
          <strong>{nameOfGroup(group)}</strong>
        </button>
        {group.description !== '' && <p className="soft">{group.description}</p>}
      </div>
      <JoinButton group={group} />
    </li>
  );
}
