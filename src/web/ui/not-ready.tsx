import type { Data } from '../api/use-data.ts';
import { Button } from './button.tsx';
import './not-ready.css';

interface Props {
  readonly of: Data<unknown>;
  /** Element to render: `li` in a list. */
  readonly as?: 'div' | 'li';
}

/** Loading message, or error message with a retry button, in place of data that is not ready. */
export function NotReady({ of, as: Tag = 'div' }: Props) {
  if (of.state === 'ready') return null;
  if (of.state === 'loading') {
    return (
      <Tag className="not-ready" aria-busy="true">
        Loading…
      </Tag>
    );
  }
  return (
    <Tag className="not-ready">
      <span role="alert">{of.message}</span>
      <Button onClick={of.retry}>Try again</Button>
    </Tag>
  );
}

/**
 * Error message with a retry button, for parts of the page that are visible before their data is loaded. Renders nothing while
 * the data is loading.
 */
export function Failure(props: Props) {
  return props.of.state === 'failed' ? <NotReady {...props} /> : null;
}
