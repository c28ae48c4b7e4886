import { useLayoutEffect, useRef } from 'react';
import { narrowKey } from '../api/narrow.ts';
import { useStore } from '../base/store.ts';
import { discard, outbox, type Pending, sendAgain } from '../composer/outbox.ts';
import type { MessageNarrowInput } from '../generated/graphql.ts';
import { type Connection, connection } from '../live/status.ts';
import { useViewer } from '../people/use-viewer.ts';
import { Button } from '../ui/button.tsx';

interface Props {
  readonly narrow: MessageNarrowInput;
  /** Called after the user has sent a message that belongs to the narrow (message filter). */
  readonly onMore: () => void;
}

/**
 * Messages of the viewer that are in the outbox and belong to a narrow (message filter). The message list shows them below the
 * messages that the service has stored.
 */
export function PendingMessages({ narrow, onMore }: Props) {
  const key = narrowKey(narrow);
  const all = useStore(outbox);
  const { viewerId } = useViewer();
  const pending = all.filter(({ place, by }) => place === key && by === viewerId);
  const count = useRef(pending.length);
  useLayoutEffect(() => {
    if (pending.length > count.current) onMore();
    count.current = pending.length;
  }, [pending.length, onMore]);
  return pending.map((one) => <PendingMessage key={one.id} pending={one} />);
}

function PendingMessage({ pending }: { readonly pending: Pending }) {
  const { id, input, state, reason } = pending;
  const network = useStore(connection);
  return (
    <article className="message message-pending" aria-label="Not sent yet">
      <span className="message-gutter" />
      <div className="message-body">
        <div className="message-content pending-content">{input.content}</div>
        <div className="pending-state" data-state={state} role={state === 'failed' ? 'alert' : undefined}>
          {state === 'failed' ? (
            <>
              <span>Couldn't send: {reason}</span>
              <Button kind="quiet" onClick={() => sendAgain(id)}>
                Retry
              </Button>
              <Button kind="quiet" onClick={() => discard(id)}>
                Discard
              </Button>
            </>
          ) : (
            <>
              <span>{progressOf(pending, network)}</span>
              {/* A waiting message can be discarded, but one in flight cannot. */}
              {state === 'waiting' && (
                <Button kind="quiet" onClick={() => discard(id)}>
                  Discard
                </Button>
              )}
            </>
          )}
        </div>
      </div>
    </article>
  );
}

function progressOf({ state, putOff = 0 }: Pending, connection: Connection): string {
  if (state !== 'sent' && connection !== 'live') return 'Waiting for the connection';
  return state !== 'sent' && putOff > 0 ? 'The service is unavailable. Sending is retried automatically.' : 'Sending…';
}
