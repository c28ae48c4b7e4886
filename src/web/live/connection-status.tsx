import { useStore } from '../api/store.ts';
import './connection-status.css';
import { type LiveStatus, liveStatus } from './status.ts';

const WORDS = { connecting: 'Connecting…', live: 'Live', offline: 'Offline' } as const;

/** One small place that says how live the page is: its connection, its position in the log, and how far away that is. */
export function ConnectionStatus() {
  const status = useStore(liveStatus);
  return (
    <div className="connection-status" data-connection={status.connection}>
      <span className="connection-dot" aria-hidden="true" />
      <span role="status">{WORDS[status.connection]}</span>
      <span className="connection-detail">{detailsOf(status)}</span>
    </div>
  );
}

function detailsOf({ connection, position, lagMs }: LiveStatus): string {
  const place = position < 0 ? [] : [`#${position}`];
  const lag = connection !== 'live' || lagMs === null ? [] : [`${lagMs} ms`];
  return [...place, ...lag].join(' · ');
}
