import { type ReactNode, useMemo } from 'react';
import { narrowKey } from '../api/narrow.ts';
import { Composer } from '../composer/composer.tsx';
import { MessageList } from '../messages/message-list.tsx';
import { PersonButton } from '../people/open-person.tsx';
import { narrowOf } from '../routing/routes.ts';
import { TypingLine } from '../typing/typing-line.tsx';
import { namesOf, PresenceDot, StatusEmoji } from '../ui/person.tsx';
import { Header } from './header.tsx';
import { usePeople } from './use-people.ts';
import { useViewer } from './use-viewer.ts';

interface Props {
  readonly userIds: readonly string[];
  /** The message to begin at. */
  readonly near?: string | undefined;
  readonly menu: ReactNode;
}

/** A direct conversation, which need not hold a message yet. */
export function DirectView({ userIds, near, menu }: Props) {
  const { viewerId, settings } = useViewer();
  const people = usePeople(userIds);
  const names = namesOf(people);
  const narrow = useMemo(() => narrowOf({ name: 'direct', userIds }) ?? {}, [userIds]);
  const target = useMemo(() => ({ directTo: userIds, names }), [userIds, names]);
  const [only] = people.length === 1 ? people : [];
  const title = userIds.length === 1 && userIds[0] === viewerId ? 'Notes to self' : names;
  return (
    <>
      <Header
        menu={menu}
        title={
          <>
            {only !== undefined && <PresenceDot person={only} />}
            {only === undefined ? title : <PersonButton userId={only.id}>{title}</PersonButton>}
          </>
        }
        detail={
          only !== undefined && (
            <>
              <StatusEmoji status={only.status} /> {only.status.text}
            </>
          )
        }
      />
      <MessageList
        key={narrowKey(narrow) + near}
        narrow={narrow}
        near={near}
        label={`Messages with ${names}`}
        showsPlaces={false}
        viewerId={viewerId}
      />
      <TypingLine narrow={narrow} viewerId={viewerId} />
      <Composer
        key={`to ${narrowKey(narrow)}`}
        target={target}
        narrow={narrow}
        enterSends={settings?.enterSends ?? true}
      />
    </>
  );
}
