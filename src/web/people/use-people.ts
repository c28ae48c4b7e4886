import { useMemo } from 'react';
import { type Data, useData } from '../api/use-data.ts';
import { PeopleDocument, type PersonBadgeFragment } from '../generated/graphql.ts';
import { useKnownPeople } from './use-known.ts';

interface People {
  /** The users with the requested IDs. Undefined until all users are loaded. Users that the viewer cannot see are left out. */
  readonly people: readonly PersonBadgeFragment[] | undefined;
  readonly read: Data<unknown>;
}

/** Reads users by their IDs. */
export function usePeople(ids: readonly string[]): People {
  const read = useData(PeopleDocument, { ids: [...ids] });
  const known = useKnownPeople(ids);
  const { data } = read;
  const people = useMemo(
    () => (data?.nodes == null ? known : data.nodes.filter((node) => node?.__typename === 'User')),
    [data, known],
  );
  return { people, read };
}
