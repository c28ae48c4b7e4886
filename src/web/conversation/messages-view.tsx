import type { ReactNode } from 'react';
import { narrowKey } from '../api/narrow.ts';
import type { MessageNarrowInput } from '../generated/graphql.ts';
import { MessageList } from '../messages/message-list.tsx';
import { Header } from './header.tsx';
import { useViewer } from './use-viewer.ts';

interface Props {
  readonly title: string;
  readonly narrow: MessageNarrowInput;
  /** What is said where there are none. */
  readonly empty?: string;
  readonly menu: ReactNode;
}

/** Messages from everywhere: to be read, and to go where they are. */
export function MessagesView({ title, narrow, empty, menu }: Props) {
  const { viewerId } = useViewer();
  return (
    <>
      <Header menu={menu} title={title} />
      <MessageList
        key={narrowKey(narrow)}
        narrow={narrow}
        label={title}
        empty={empty}
        showsPlaces
        viewerId={viewerId}
      />
    </>
  );
}
