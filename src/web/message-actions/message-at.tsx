import { type ReactNode, useEffect } from 'react';
import { useData } from '../api/use-data.ts';
import { MessageActionsDocument } from '../generated/graphql.ts';
import { useViewer } from '../people/use-viewer.ts';
import { navigate } from '../routing/router.tsx';
import { Header } from '../ui/header.tsx';
import { Failure } from '../ui/not-ready.tsx';
import { placeAddress } from './place-address.ts';

interface Props {
  readonly messageId: string;
  readonly by?: 'near' | 'with' | undefined;
  /** Path to navigate to if the viewer cannot read the message. */
  readonly otherwise?: string | undefined;
  readonly menu: ReactNode;
}

/** Redirects to the current topic or conversation of a message, so that a message's URL stays valid after a move. */
export function MessageAt({ messageId, by, otherwise, menu }: Props) {
  const { viewerId } = useViewer();
  const read = useData(MessageActionsDocument, { messageId });
  const message = read.data?.message;
  useEffect(() => {
    const found = message && placeAddress(message, viewerId, { isNear: by !== 'with' });
    const address = found ?? (message === null ? otherwise : undefined);
    if (address !== undefined) navigate(address, { replace: true });
  }, [message, viewerId, by, otherwise]);
  return (
    <>
      <Header
        menu={menu}
        title={message === null ? 'Message not found' : read.state === 'failed' ? 'Message' : 'Finding the message…'}
      />
      <Failure of={read} />
    </>
  );
}
