import type { Client } from 'urql';
import { createStore } from '../api/store.ts';
import { discardAllBy } from '../composer/outbox.ts';
import { forgetWritten, saveDrafts } from '../drafts/drafts.ts';
import { OwnDocument, SignOutDocument } from '../generated/graphql.ts';
import { notify } from '../ui/notices.tsx';

// No script can read the session cookie. The registration of the event queue shows whether the user is signed in.

/** Incremented for each session. All data that was read belongs to one session and is dropped with it. */
export const sessionNumber = createStore(0);

/** Starts a new session, for the user that the browser is currently signed in as. */
export const renewSession = (): void => sessionNumber.set(sessionNumber.get() + 1);

/** Longest time that signing out waits for drafts to be saved, because the service may not respond. */
const SAVING_MS = 2_000;

/**
 * Ends the session after saving drafts. The viewer's data is removed from the tab. Unsent messages of other users stay, and
 * are sent when those users sign in again.
 */
export async function signOut(client: Client): Promise<void> {
  const viewerId = client.readQuery(OwnDocument, {})?.data?.viewer?.id;
  await Promise.race([saveDrafts(), new Promise((resolve) => setTimeout(resolve, SAVING_MS))]);
  const { data } = await client.mutation(SignOutDocument, {}).toPromise();
  // The user is still signed in, so the tab keeps the data.
  if (!data) return notify('The service does not respond. You are still signed in.');
  if (viewerId !== undefined) {
    forgetWritten(viewerId);
    discardAllBy(viewerId);
  }
  renewSession();
}
