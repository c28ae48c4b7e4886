import { useStore } from '../base/store.ts';
import './connection-status.css';
import { type LiveStatus, liveStatus } from '../live/status.ts';

const WORDS = { connecting: 'Connecting…', live: 'Live', offline: 'Offline' } as const;

/**
 * Shows the state of the connection, the position in the event log and the response time. The screen shows short numbers.
 * Screen readers and the tooltip get full sentences.
 */
export function ConnectionStatus() {
  const status = useStore(liveStatus);
  const [short, words] = detailsOf(status);
  return (
    <div className="connection-status" data-connection={status.connection}>
      <span className="connection-dot" aria-hidden="true" />
      <span role="status">{WORDS[status.connection]}</span>
      <span className="connection-detail" title={words}>
        <span aria-hidden="true">{short}</span>
        <span className="only-heard">{words}</span>
      </span>
    </div>
  );
}

function detailsOf({ connection, position, answerMs }: LiveStatus): [short: string, words: string] {
  const [short, words]: [string[], string[]] = [[], []];
  if (position >= 0) {
    short.push(`#${position}`);
    words.push(`Received events up to position ${position}.`);
  }
  if (connection === 'live' && answerMs !== null) {
    short.push(`${answerMs} ms`);
    words.push(`The service responds within ${answerMs} milliseconds.`);
  }
  return [short.join(' · '), words.join(' ')];
}
