import { useEffect, useMemo, useState } from 'react';
import { Provider } from 'urql';
import { createApiClient } from '../api/client.ts';
import { useStore } from '../base/store.ts';
import { startOutbox } from '../composer/outbox.ts';
import { startDrafts } from '../drafts/drafts.ts';
import { startEmoji } from '../emoji/emoji-table.ts';
import { engineState, startEngine } from '../live/engine.ts';
import { createSocket } from '../live/socket.ts';
import { startNotifications } from '../notifications/notify-messages.ts';
import { openMentions } from '../people/open-mentions.ts';
import { startPresence } from '../people/report-presence.ts';
import { sessionNumber } from '../session/session.ts';
import { SignIn } from '../session/sign-in.tsx';
import { followRenames } from '../topics/follow-renames.ts';
import { startTyping } from '../typing/typists.ts';
import { Announcer } from '../ui/announcer.tsx';
import { Broken } from '../ui/broken.tsx';
import { prefetchChunks } from '../ui/chunks.ts';
import { ErrorBoundary } from '../ui/error-boundary.tsx';
import { Shell } from './shell.tsx';

/** Root component: renders the whole page. */
export function App() {
  const session = useStore(sessionNumber);
  return (
    <ErrorBoundary resetKey={session} fallback={(retry) => <Broken retry={retry} />}>
      <Chat key={session} />
      <Announcer />
    </ErrorBoundary>
  );
}

/** The chat of one session, with its own client, cache and socket. Shows the sign-in form if the user is not signed in. */
function Chat() {
  const [socket] = useState(createSocket);
  const client = useMemo(() => createApiClient(socket), [socket]);
  const state = useStore(engineState);
  useEffect(() => (state === 'ready' ? prefetchChunks() : undefined), [state]);
  useEffect(() => (state === 'ready' ? startTyping(client) : undefined), [client, state]);
  useEffect(() => (state === 'ready' ? startPresence(client) : undefined), [client, state]);
  useEffect(() => (state === 'ready' ? startNotifications(client) : undefined), [client, state]);
  useEffect(() => {
    const stops = [
      startDrafts(client),
      startEngine(client),
      startOutbox(client),
      startEmoji(client),
      followRenames(client),
      openMentions(),
    ];
    return () => {
      for (const stop of stops) stop();
      void socket.dispose();
    };
  }, [client, socket]);
  return <Provider value={client}>{state === 'refused' ? <SignIn /> : <Shell isReady={state === 'ready'} />}</Provider>;
}
