import type { Client } from 'urql';
import { type FoundPersonFragment, SearchedPeopleDocument } from '../generated/graphql.ts';

/**
 * Finds the users whose names begin with a text. If the text is not empty, deactivated users follow, because their messages
 * still exist.
 */
export async function findPeople(client: Client, written: string): Promise<readonly FoundPersonFragment[]> {
  const text = written.trim();
  // Does not read from the cache, because names and users change.
  const { data } = await client.query(SearchedPeopleDocument, { text }, { requestPolicy: 'network-only' }).toPromise();
  const active = data?.suggestions?.flatMap((one) => (one.__typename === 'User' ? [one] : [])) ?? [];
  const gone = text === '' ? [] : (data?.users?.nodes ?? []);
  return [...active, ...gone];
}
