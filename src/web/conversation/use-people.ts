import { useMemo } from 'react';
import { useQuery } from 'urql';
import { PeopleDocument, type PersonBadgeFragment } from '../generated/graphql.ts';

/** People by their ids; those the viewer does not see are left out. */
export function usePeople(ids: readonly string[]): readonly PersonBadgeFragment[] {
  const [{ data }] = useQuery({ query: PeopleDocument, variables: { ids: [...ids] } });
  return useMemo(() => data?.nodes.filter((node) => node?.__typename === 'User') ?? [], [data]);
}
