import type { Client } from 'urql';
import { type FoundPersonFragment, SearchedPeopleDocument } from '../generated/graphql.ts';

/**
 * The people whose messages somebody may look for: those whose names begin so, and after them, once there is a name, those
 * who are deactivated, whose messages are still there.
 */
export async function findPeople(client: Client, written: string): Promise<readonly FoundPersonFragment[]> {
  const text = written.trim();
  // Who is called so by now: names change, and people come and go.
  const { data } = await client.query(SearchedPeopleDocument, { text }, { requestPolicy: 'network-only' }).toPromise();
  const active = data?.suggestions?.flatMap((one) => (one.__typename === 'User' ? [one] : [])) ?? [];
  const gone = text === '' ? [] : (data?.users?.nodes ?? []);
  return [...active, ...gone];
}
