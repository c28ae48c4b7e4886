import { useDeferredValue, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { ChannelMembersDocument, type UserRole } from '../generated/graphql.ts';
import { PersonRow } from '../people/person-row.tsx';
import { ROLE_NAMES } from '../people/roles.ts';
import { IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SearchField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import './members.css';
import { hideMembers } from './members-button.tsx';

interface Props {
  readonly channelId: string;
}

/** The members of a channel, in a column beside its messages. */
export const MembersColumn = ({ channelId }: Props) => (
  <aside className="members" aria-label="Members" data-section>
    <header className="members-head">
      <h2>Members</h2>
      <IconButton icon="close" label="Hide members" onClick={hideMembers} />
    </header>
    <MemberList channelId={channelId} />
  </aside>
);

/** The members of a channel, in a dialog. */
export const MembersDialog = ({ channelId }: Props) => (
  <Dialog title="Members">
    <MemberList channelId={channelId} />
  </Dialog>
);

/** The members of a channel by name, with a field that filters them. */
function MemberList({ channelId }: Props) {
  const [text, setText] = useState('');
  const nameContains = useDeferredValue(text.trim());
  return (
    <>
      <SearchField label="Find members" value={text} onSearch={setText} />
      <ul className="plain-list members-list" aria-label="Members">
        <Pages of={JSON.stringify([channelId, nameContains])}>
          {(page) => <MembersPage channelId={channelId} nameContains={nameContains} page={page} />}
        </Pages>
      </ul>
    </>
  );
}

interface PageProps extends Props {
  readonly nameContains: string;
  readonly page: ListPage;
}

function MembersPage({ channelId, nameContains, page }: PageProps) {
  const variables = { channelId, after: page.after, ...(nameContains !== '' && { nameContains }) };
  const read = useData(ChannelMembersDocument, variables, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.channel?.subscribers ?? {};
  return (
    <>
      {nodes.map((person) => (
        <PersonRow key={person.id} person={person} detail={markOf(person.role)} />
      ))}
      {nodes.length === 0 && page.after === null && <li className="row soft">No members found.</li>}
      <More page={page} info={pageInfo}>
        More members
      </More>
    </>
  );
}

/** Returns the role of a user if it lets the user administer all channels. */
const markOf = (role: UserRole): string | undefined =>
  role === 'OWNER' || role === 'ADMINISTRATOR' ? ROLE_NAMES[role] : undefined;
