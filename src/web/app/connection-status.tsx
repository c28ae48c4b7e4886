import { useStore } from '../base/store.ts';
import { connection } from '../live/status.ts';
import './connection-status.css';

const WORDS = { connecting: 'Connecting…', live: 'Live', offline: 'Offline' } as const;

/** Shows the state of the connection: a dot, with text beside it while the page receives no events. */
export function ConnectionStatus() {
  const state = useStore(connection);
  return (
    <div className="connection-status" data-connection={state} title={WORDS[state]}>
      <span className="connection-dot" aria-hidden="true" />
      <span role="status" className={state === 'live' ? 'only-heard' : undefined}>
        {WORDS[state]}
      </span>
    </div>
  );
}
