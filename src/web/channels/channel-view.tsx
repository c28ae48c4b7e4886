import { type ReactNode, useMemo } from 'react';
import { narrowKey } from '../api/narrow.ts';
import { useData } from '../api/use-data.ts';
import { Composer } from '../composer/composer.tsx';
import { ChannelHeaderDocument } from '../generated/graphql.ts';
import { dress, spoken } from '../markdown/markup.ts';
import { MessageList } from '../messages/message-list.tsx';
import { useKnownSubscription } from '../people/use-known.ts';
import { useViewer } from '../people/use-viewer.ts';
import { Link } from '../routing/router.tsx';
import { addressOf, narrowOf } from '../routing/routes.ts';
import { composerKey } from '../topics/follow-renames.ts';
import { PlaceActions } from '../topics/place-actions.tsx';
import { TopicButtons } from '../topics/topic-buttons.tsx';
import { TypingLine } from '../typing/typing-line.tsx';
import { IconButton } from '../ui/button.tsx';
import { channelIcon } from '../ui/channel-icon.ts';
import { Header } from '../ui/header.tsx';
import { Icon } from '../ui/icons.tsx';
import { lazily } from '../ui/lazily.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { reloadPage } from '../ui/reload.ts';
import { shownTopic } from '../ui/topic-names.ts';
import { ChannelBeginning } from './channel-beginning.tsx';
import { MembersButton, useMembersColumn } from './members-button.tsx';
import { openChannelSettings } from './open-channel.tsx';
import './channel-view.css';
import { SubscribeButton } from './subscribe-button.tsx';

const MembersColumn = lazily(async () => (await import('./members.tsx')).MembersColumn, {
  Frame: ({ children }) => (
    <aside className="members" aria-label="Members">
      {children}
    </aside>
  ),
  isHiddenAtFirst: true,
  onGone: (isAsked) => isAsked && void reloadPage(),
});

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
  const { channel: known, color } = useKnownSubscription(channelId) ?? {};
  const channel = read.data?.channel;
  const hasMembersColumn = useMembersColumn();
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
        color={color}
        title={
          <>
            <span className="channel-mark" style={{ color }}>
              <Icon name={channelIcon(shown.privacy)} />
            </span>
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
        {topic !== undefined && <TopicButtons channelId={channelId} topic={topic} />}
        <PlaceActions channelId={channelId} topic={topic} />
        {channel && !channel.isArchived && channel.ownSubscription === null && <SubscribeButton channel={channel} />}
        {channel && <MembersButton channelId={channelId} count={channel.subscriberCount} />}
        <IconButton icon="settings" label="Channel settings" onClick={() => openChannelSettings(channelId)} />
      </Header>
      <div className="channel-columns">
        <div className="channel-column">
          <MessageList
            key={narrowKey(narrow) + near}
            narrow={narrow}
            near={near}
            label={label}
            {...(channel && topic === undefined && { beginning: <ChannelBeginning channel={channel} color={color} /> })}
            places={topic === undefined ? 'topics' : 'none'}
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
        </div>
        {channel && hasMembersColumn && <MembersColumn channelId={channelId} />}
      </div>
    </>
  );
}

const Description = ({ html }: { readonly html: string }) => (
  // biome-ignore lint/security/noDangerouslySetInnerHtml: the service renders and sanitizes this HTML.
  <span title={spoken(html)} dangerouslySetInnerHTML={{ __html: dress(html) }} />
);
