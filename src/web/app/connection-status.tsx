import { useStore } from '../base/store.ts';
import './connection-status.css';
import { answerMs, connection, position } from '../live/status.ts';

const WORDS = { connecting: 'Connecting…', live: 'Live', offline: 'Offline' } as const;

/**
 * Shows the state of the connection, the position in the event log and the response time. The screen shows short numbers.
 * Screen readers and the tooltip get full sentences.
 */
export function ConnectionStatus() {
  const [state, reached, responseMs] = [useStore(connection), useStore(position), useStore(answerMs)];
  const [short, words] = detailsOf(reached, state === 'live' ? responseMs : null);
  return (
    <div className="connection-status" data-connection={state}>
      <span className="connection-dot" aria-hidden="true" />
      <span role="status">{WORDS[state]}</span>
      <span className="connection-detail" title={words}>
        <span aria-hidden="true">{short}</span>
        <span className="only-heard">{words}</span>
      </span>
    </div>
  );
}

function detailsOf(reached: number, responseMs: number | null): [short: string, words: string] {
  const [short, words]: [string[], string[]] = [[], []];
  if (reached >= 0) {
    short.push(`#${reached}`);
    words.push(`Received events up to position ${reached}.`);
  }
  if (responseMs !== null) {
    short.push(`${responseMs} ms`);
    words.push(`The service responds within ${responseMs} milliseconds.`);
  }
  return [short.join(' · '), words.join(' ')];
}
