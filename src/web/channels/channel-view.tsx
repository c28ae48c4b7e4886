import { type ReactNode, useMemo } from 'react';
import { useQuery } from 'urql';
import { narrowKey } from '../api/narrow.ts';
import { Composer } from '../composer/composer.tsx';
import { Header } from '../conversation/header.tsx';
import { useViewer } from '../conversation/use-viewer.ts';
import { ChannelHeaderDocument } from '../generated/graphql.ts';
import { dress, spoken } from '../messages/markup.ts';
import { MessageList } from '../messages/message-list.tsx';
import { Link } from '../routing/router.tsx';
import { addressOf, narrowOf } from '../routing/routes.ts';
import { PlaceActions } from '../topics/place-actions.tsx';
import { shownTopic } from '../topics/topic-names.ts';
import { TypingLine } from '../typing/typing-line.tsx';
import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icons.tsx';
import { openChannelSettings } from './open-channel.tsx';
import { SubscribeButton } from './subscribe-button.tsx';

interface Props {
  readonly channelId: string;
  /** Absent: all topics of the channel. */
  readonly topic: string | undefined;
  /** The message to begin at. */
  readonly near?: string | undefined;
  readonly menu: ReactNode;
}

/** A channel, or a topic of it. */
export function ChannelView({ channelId, topic, near, menu }: Props) {
  const { viewerId, settings } = useViewer();
  const [{ data }] = useQuery({ query: ChannelHeaderDocument, variables: { channelId } });
  const channel = data?.channel;
  const name = channel?.name ?? '';
  const narrow = useMemo(
    () => narrowOf({ name: 'channel', channelId, ...(topic !== undefined && { topic }) }) ?? {},
    [channelId, topic],
  );
  const target = useMemo(() => ({ channelId, channelName: name, topic }), [channelId, name, topic]);
  if (channel === null) return <Header menu={menu} title="There is no such channel here" />;
  const label = topic === undefined ? `Messages in ${name}` : `Messages in ${name}, ${shownTopic(topic)}`;
  return (
    <>
      <Header
        menu={menu}
        title={
          <>
            <Icon name={channel?.isPrivate ? 'lock' : 'hash'} />
            {topic === undefined ? name : <Link to={addressOf({ name: 'channel', channelId }, name)}>{name}</Link>}
            {topic !== undefined && <span>› {shownTopic(topic)}</span>}
          </>
        }
        detail={channel && <Description html={channel.renderedDescription} />}
      >
        <PlaceActions channelId={channelId} topic={topic} />
        {channel && !channel.isArchived && channel.ownSubscription === null && <SubscribeButton channel={channel} />}
        <IconButton icon="settings" label="Channel settings" onClick={() => openChannelSettings(channelId)} />
      </Header>
      <MessageList
        key={narrowKey(narrow) + near}
        narrow={narrow}
        near={near}
        label={label}
        showsPlaces={topic === undefined}
        viewerId={viewerId}
      />
      <TypingLine narrow={narrow} viewerId={viewerId} />
      {channel?.viewerCanPost === true && (
        <Composer
          key={`to ${narrowKey(narrow)}`}
          target={target}
          narrow={narrow}
          enterSends={settings?.enterSends ?? true}
        />
      )}
    </>
  );
}

const Description = ({ html }: { readonly html: string }) => (
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the service makes it, and makes it safe.
  <span title={spoken(html)} dangerouslySetInnerHTML={{ __html: dress(html) }} />
);
