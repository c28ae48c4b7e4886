import type { ReactNode } from 'react';
import { narrowKey } from '../api/narrow.ts';
import type { MessageNarrowInput } from '../generated/graphql.ts';
import { MessageList } from '../messages/message-list.tsx';
import { useViewer } from '../people/use-viewer.ts';
import { Header } from '../ui/header.tsx';

interface Props {
  readonly title: string;
  readonly narrow: MessageNarrowInput;
  /** Text that is shown if there are no messages. */
  readonly empty?: string;
  readonly menu: ReactNode;
}

/** View of messages from all topics and conversations. Each message has a link to its own topic or conversation. */
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
        places="all"
        viewerId={viewerId}
      />
    </>
  );
}
