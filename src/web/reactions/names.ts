import { useEffect } from 'react';
import { type Client, useClient } from 'urql';
import { createStore, useStore } from '../base/store.ts';
import { NamesDocument } from '../generated/graphql.ts';

/** Names of users who reacted, by ID. The names for all messages on the screen are fetched in batches. */
const names = createStore<ReadonlyMap<string, string>>(new Map());

const wanted = new Set<string>();
const asked = new Set<string>();
/** Maximum number of names in one request. Further names are loaded by further requests. */
const AT_ONCE = 100;

/**
 * Loads the names of users. When more names arrive, the component renders again.
 *
 * @returns All names loaded so far, by user ID.
 */
export function useNames(ids: readonly string[]): ReadonlyMap<string, string> {
  const client = useClient();
  const key = ids.join();
  useEffect(() => {
    for (const id of key.split(',')) want(client, id);
  }, [client, key]);
  return useStore(names);
}

function want(client: Client, id: string): void {
  if (id === '' || asked.has(id)) return;
  asked.add(id);
  wanted.add(id);
  if (wanted.size === 1) queueMicrotask(() => void read(client));
}

async function read(client: Client): Promise<void> {
  const ids = [...wanted];
  wanted.clear();
  for (let i = 0; i < ids.length; i += AT_ONCE) {
    const part = ids.slice(i, i + AT_ONCE);
    const { data } = await client.query(NamesDocument, { ids: part }).toPromise();
    if (data === undefined) for (const id of part) asked.delete(id);
    const found = data?.nodes?.flatMap((node) =>
      node?.__typename === 'User' ? [[node.id, node.fullName] as const] : [],
    );
    names.set(new Map([...names.get(), ...(found ?? [])]));
  }
}
