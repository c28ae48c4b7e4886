import type { Client } from 'urql';
import { createStore } from '../base/store.ts';
import { discardAllBy } from '../composer/outbox.ts';
import { forgetWritten, saveDrafts } from '../drafts/drafts.ts';
import {
  OwnDocument,
  SignOutDocument,
  SignOutProviderDocument,
  type SignOutProviderQuery,
} from '../generated/graphql.ts';
import { notify } from '../ui/notices.tsx';

// No script can read the session cookie. The registration of the event queue shows whether the user is signed in.

/**
 * Incremented when a session begins or ends. All data that the page has read belongs to one session, and is dropped when the
 * session ends.
 */
export const sessionNumber = createStore(0);

/** Provider at which the person who signed out last can sign out too. Null if there is none. */
export const leftProvider = createStore<SignOutProviderQuery['signOutProvider']>(null);

/** Starts a new session, for the user that the browser is currently signed in as. */
export const renewSession = (): void => sessionNumber.set(sessionNumber.get() + 1);

/**
 * Saves drafts, ends the session, and removes the data of the viewer from the tab. Unsent messages of other users stay, and are
 * sent when those users sign in again. If the service does not respond, a notice is shown, and the session continues.
 */
export async function signOut(client: Client): Promise<void> {
  const viewerId = client.readQuery(OwnDocument, {})?.data?.viewer?.id;
  await saveDrafts();
  const before = await client.query(SignOutProviderDocument, {}, { requestPolicy: 'network-only' }).toPromise();
  const { data } = await client.mutation(SignOutDocument, {}).toPromise();
  // The user is still signed in, so the tab keeps the data.
  if (!data) return notify('The server is not responding. You are still signed in.');
  if (viewerId !== undefined) {
    forgetWritten(viewerId);
    discardAllBy(viewerId);
  }
  leftProvider.set(before.data?.signOutProvider ?? null);
  renewSession();
}
