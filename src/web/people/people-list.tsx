import { type ReactNode, useDeferredValue, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { type UserRole, UsersDocument, type UsersQuery, type UsersQueryVariables } from '../generated/graphql.ts';
import { Choice, SearchField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { PersonMenuButton } from './person-menu.tsx';
import { PersonRow } from './person-row.tsx';
import { ROLE_NAMES } from './roles.ts';

const KINDS = {
  people: { isBot: false, isActive: true },
  bots: { isBot: true, isActive: true },
  deactivated: { isActive: false },
} as const;
const KIND_NAMES = [
  ['people', 'People'],
  ['bots', 'Bots'],
  ['deactivated', 'Deactivated'],
] as const;
const FACTORS = [
  ['', 'Any'],
  ['with', 'Yes'],
  ['without', 'No'],
] as const;
const ROLES = [['', 'Any'] as const, ...(Object.entries(ROLE_NAMES) as [UserRole, string][])];

type Filter = Omit<UsersQueryVariables, 'after'>;

type Person = NonNullable<UsersQuery['users']>['nodes'][number];

interface Props {
  /** Whether rows show email addresses and second factors, as far as the viewer can see them. For administrators. */
  readonly isAdministration?: boolean;
  /** Controls beside the fields that filter the list. */
  readonly children?: ReactNode;
}

/** List of the users that the viewer can see: people, bots or deactivated users, as the viewer chooses. */
export function PeopleList({ isAdministration = false, children }: Props) {
  const [text, setText] = useState('');
  const [kind, setKind] = useState<keyof typeof KINDS>('people');
  const [role, setRole] = useState<UserRole | ''>('');
  const [factor, setFactor] = useState<(typeof FACTORS)[number][0]>('');
  const showKind = (chosen: keyof typeof KINDS) => {
    setKind(chosen);
    // Bots have no second factor.
    if (chosen === 'bots') setFactor('');
  };
  const nameContains = useDeferredValue(text.trim());
  const filter: Filter = {
    ...KINDS[kind],
    isAdministration,
    ...(role !== '' && { role }),
    ...(factor !== '' && { hasSecondFactor: factor === 'with' }),
    ...(nameContains !== '' && { nameContains }),
  };
  return (
    <>
      <div className="page-bar">
        <SearchField label="Find people" value={text} onSearch={setText} />
        <Choice label="Show" options={KIND_NAMES} value={kind} onChoose={showKind} />
        <Choice label="Role" options={ROLES} value={role} onChoose={setRole} />
        {isAdministration && kind !== 'bots' && (
          <Choice label="Second factor" options={FACTORS} value={factor} onChoose={setFactor} />
        )}
        {children}
      </div>
      <ul className="plain-list" aria-label="People">
        <Pages of={JSON.stringify(filter)}>{(page) => <PeoplePage page={page} filter={filter} />}</Pages>
      </ul>
    </>
  );
}

function PeoplePage({ page, filter }: { readonly page: ListPage; readonly filter: Filter }) {
  const read = useData(UsersDocument, { ...filter, after: page.after }, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.users ?? {};
  return (
    <>
      {nodes.map((person) => (
        <PersonRow key={person.id} person={person} detail={detailOf(person)}>
          <PersonMenuButton person={person} />
        </PersonRow>
      ))}
      {nodes.length === 0 && page.after === null && <li className="row soft">No people found.</li>}
      <More page={page} info={pageInfo}>
        More people
      </More>
    </>
  );
}

const detailOf = ({ role, deliveryEmail, hasSecondFactor }: Person): string =>
  [
    ROLE_NAMES[role],
    ...(deliveryEmail == null ? [] : [deliveryEmail]),
    ...(hasSecondFactor == null ? [] : [hasSecondFactor ? 'second factor' : 'no second factor']),
  ].join(', ');
