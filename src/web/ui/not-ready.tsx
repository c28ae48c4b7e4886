import type { Data } from '../api/use-data.ts';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import './not-ready.css';

interface Props {
  readonly of: Data<unknown>;
  /** Element to render: `li` in a list. */
  readonly as?: 'div' | 'li';
  /** Shape of the placeholder while the data is loading: lines of text, or messages with their senders. */
  readonly shape?: 'lines' | 'messages';
}

/** Placeholder, or error card with a retry button, in place of data that is not ready. */
export function NotReady({ of, as: Tag = 'div', shape = 'lines' }: Props) {
  if (of.state === 'ready') return null;
  if (of.state === 'loading') {
    return (
      <Tag className={`placeholder placeholder-${shape}`} aria-busy="true">
        <span className="only-heard">Loading…</span>
        {WIDTHS[shape].map((width) => (
          <span key={width} className="placeholder-line" style={{ width }} />
        ))}
      </Tag>
    );
  }
  return (
    <Tag className="not-ready">
      <Icon name="alert" />
      <span role="alert">{of.message}</span>
      <Button onClick={of.retry}>Try again</Button>
    </Tag>
  );
}

/** Widths of the lines of a placeholder. */
const WIDTHS = { lines: ['62%', '48%', '55%'], messages: ['58%', '72%', '44%', '66%', '51%', '38%'] } as const;

/**
 * Error card with a retry button, for parts of the page that are visible before their data is loaded. Renders nothing while
 * the data is loading.
 */
export function Failure(props: Props) {
  return props.of.state === 'failed' ? <NotReady {...props} /> : null;
}
