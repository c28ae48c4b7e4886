import { type ReactNode, useMemo } from 'react';
import { narrowKey } from '../api/narrow.ts';
import { useData } from '../api/use-data.ts';
import { Composer } from '../composer/composer.tsx';
import { ChannelHeaderDocument } from '../generated/graphql.ts';
import { dress, spoken } from '../markdown/markup.ts';
import { MessageList } from '../messages/message-list.tsx';
import { useKnownChannel } from '../people/use-known.ts';
import { useViewer } from '../people/use-viewer.ts';
import { Link } from '../routing/router.tsx';
import { addressOf, narrowOf } from '../routing/routes.ts';
import { composerKey } from '../topics/follow-renames.ts';
import { PlaceActions } from '../topics/place-actions.tsx';
import { TypingLine } from '../typing/typing-line.tsx';
import { IconButton } from '../ui/button.tsx';
import { channelIcon } from '../ui/channel-icon.ts';
import { Header } from '../ui/header.tsx';
import { Icon } from '../ui/icons.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { shownTopic } from '../ui/topic-names.ts';
import { openChannelSettings } from './open-channel.tsx';
import { SubscribeButton } from './subscribe-button.tsx';

interface Props {
  readonly channelId: string;
  /** Name of the topic. If undefined, the view shows the messages of all topics. */
  readonly topic: string | undefined;
  /** ID of the message that the list scrolls to when it opens. */
  readonly near?: string | undefined;
  readonly menu: ReactNode;
}

/** View of a channel, or of one of its topics. */
export function ChannelView({ channelId, topic, near, menu }: Props) {
  const { viewerId, settings } = useViewer();
  const read = useData(ChannelHeaderDocument, { channelId });
  const known = useKnownChannel(channelId);
  const channel = read.data?.channel;
  const shown = channel ?? known;
  const name = shown?.name ?? '';
  const narrow = useMemo(
    () => narrowOf({ name: 'channel', channelId, ...(topic !== undefined && { topic }) }) ?? {},
    [channelId, topic],
  );
  const target = useMemo(() => ({ channelId, channelName: name, topic }), [channelId, name, topic]);
  if (channel === null) return <Header menu={menu} title="Channel not found" />;
  if (shown === undefined) {
    return (
      <>
        <Header menu={menu} title="Channel" />
        <NotReady of={read} />
      </>
    );
  }
  const label = topic === undefined ? `Messages in ${name}` : `Messages in ${name}, ${shownTopic(topic)}`;
  return (
    <>
      <Header
        menu={menu}
        title={
          <>
            <Icon name={channelIcon(shown.privacy)} />
            {topic === undefined ? name : <Link to={addressOf({ name: 'channel', channelId }, name)}>{name}</Link>}
            {topic !== undefined && (
              <span>
                › <bdi>{shownTopic(topic)}</bdi>
              </span>
            )}
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
        {...(channel && topic === undefined && { beginning: `Start of #${channel.name}` })}
        showsPlaces={topic === undefined}
        viewerId={viewerId}
      />
      <TypingLine narrow={narrow} viewerId={viewerId} />
      {channel?.viewerCanPost === true && (
        <Composer
          key={`to ${composerKey(narrow)}`}
          target={target}
          narrow={narrow}
          enterSends={settings?.enterSends ?? true}
        />
      )}
    </>
  );
}

const Description = ({ html }: { readonly html: string }) => (
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the service renders and sanitizes this HTML.
  <span title={spoken(html)} dangerouslySetInnerHTML={{ __html: dress(html) }} />
);
