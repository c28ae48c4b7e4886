import { type ReactNode, useEffect, useMemo } from 'react';
import { narrowKey } from '../api/narrow.ts';
import { Composer } from '../composer/composer.tsx';
import { MessageList } from '../messages/message-list.tsx';
import { PersonButton } from '../people/open-person.tsx';
import { usePeople } from '../people/use-people.ts';
import { useViewer } from '../people/use-viewer.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf, narrowOf } from '../routing/routes.ts';
import { TypingLine } from '../typing/typing-line.tsx';
import { Header } from '../ui/header.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { namesOf, PresenceDot, StatusEmoji } from '../ui/person.tsx';

interface Props {
  readonly userIds: readonly string[];
  /** ID of the message that the list scrolls to when it opens. */
  readonly near?: string | undefined;
  readonly menu: ReactNode;
}

/** View of a direct conversation, which may have no messages yet. */
export function DirectView({ userIds, near, menu }: Props) {
  const { viewerId, settings } = useViewer();
  // Links of other clients may include the viewer.
  const others = userIds.filter((id) => id !== viewerId);
  const address = addressOf({ name: 'direct', userIds: others, ...(near !== undefined && { near }) });
  const isOther = others.length > 0 && others.length < userIds.length;
  useEffect(() => {
    if (isOther) navigate(address, { replace: true });
  }, [isOther, address]);
  const { people, read } = usePeople(userIds);
  const names = namesOf(people ?? []);
  const narrow = useMemo(() => narrowOf({ name: 'direct', userIds }) ?? {}, [userIds]);
  const target = useMemo(() => ({ directTo: userIds, names }), [userIds, names]);
  if (people !== undefined && people.length < userIds.length) {
    return <Header menu={menu} title={userIds.length === 1 ? 'User not found' : 'Some users were not found'} />;
  }
  if (people === undefined) {
    return (
      <>
        <Header menu={menu} title="Direct messages" />
        <NotReady of={read} />
      </>
    );
  }
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
        places="none"
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
