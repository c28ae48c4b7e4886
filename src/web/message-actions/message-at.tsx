import { type ReactNode, useEffect, useState } from 'react';
import { useClient } from 'urql';
import { Header } from '../conversation/header.tsx';
import { useViewer } from '../conversation/use-viewer.ts';
import { MessageActionsDocument } from '../generated/graphql.ts';
import { navigate } from '../routing/router.tsx';
import { placeAddress } from './place-address.ts';

/** Goes to where a message stands by now: addresses of messages are good wherever they are moved. */
export function MessageAt({ messageId, menu }: { readonly messageId: string; readonly menu: ReactNode }) {
  const client = useClient();
  const { viewerId } = useViewer();
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    const find = async () => {
      const { data } = await client.query(MessageActionsDocument, { messageId }).toPromise();
      if (data?.message) navigate(placeAddress(data.message, viewerId), { replace: true });
      else setGone(true);
    };
    void find();
  }, [client, messageId, viewerId]);
  return <Header menu={menu} title={isGone ? 'There is no such message here' : 'Finding the message…'} />;
}
