import type { Client } from 'urql';
import { createStore } from '../api/store.ts';
import { discardAllBy } from '../composer/outbox.ts';
import { forgetWritten, saveDrafts } from '../drafts/drafts.ts';
import { OwnDocument, SignOutDocument } from '../generated/graphql.ts';
import { notify } from '../ui/notices.tsx';

// The browser is signed in by a cookie that no script can read: whether it is, the service says when the page registers.

/** Another number for each session: everything that was read belongs to one, and goes with it. */
export const sessionNumber = createStore(0);

/** Begins anew, as whoever the browser is signed in as now. */
export const renewSession = (): void => sessionNumber.set(sessionNumber.get() + 1);

/** So long signing out waits for what is written to be saved: the service may not answer. */
const SAVING_MS = 2_000;

/**
 * Ends the session, once what is being written is saved for the next one. Of what the tab keeps, that of the viewer goes:
 * what somebody else left waiting in it is sent when they are back.
 */
export async function signOut(client: Client): Promise<void> {
  const viewerId = client.readQuery(OwnDocument, {})?.data?.viewer?.id;
  await Promise.race([saveDrafts(), new Promise((resolve) => setTimeout(resolve, SAVING_MS))]);
  const { data } = await client.mutation(SignOutDocument, {}).toPromise();
  // Still signed in: what is kept in this tab stays.
  if (!data) return notify('The service does not answer: you are still signed in.');
  if (viewerId !== undefined) {
    forgetWritten(viewerId);
    discardAllBy(viewerId);
  }
  renewSession();
}
