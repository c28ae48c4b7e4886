import type { Client } from 'urql';
import { createStore } from '../api/store.ts';
import { SignOutDocument } from '../generated/graphql.ts';
import { notify } from '../ui/notices.tsx';

// The browser is signed in by a cookie that no script can read: whether it is, the service says when the page registers.

/** Another number for each session: everything that was read belongs to one, and goes with it. */
export const sessionNumber = createStore(0);

/** Begins anew, as whoever the browser is signed in as now. */
export const renewSession = (): void => sessionNumber.set(sessionNumber.get() + 1);

export async function signOut(client: Client): Promise<void> {
  const { data } = await client.mutation(SignOutDocument, {}).toPromise();
  // Still signed in: what is kept in this tab stays.
  if (!data) return notify('The service does not answer: you are still signed in.');
  sessionStorage.clear();
  renewSession();
}
