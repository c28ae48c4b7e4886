import { useEffect, useState } from 'react';
import { type Client, useClient } from 'urql';
import { MoveDialog } from '../message-actions/move-dialog.tsx';
import type { TopicPlace } from '../routing/place.ts';
import { openDialog } from '../ui/dialog.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { closePopup, openPopup } from '../ui/popup.tsx';
import { markTopicAsRead, readTopic, resolve, setVisibility, type TopicFound } from './topic-actions.ts';

/** Opens the menu of a topic beside an element. */
export function openTopicMenu(anchor: Element, place: TopicPlace): void {
  openPopup(anchor, <TopicMenu channelId={place.channelId} topic={place.topic} />);
}

function TopicMenu({ channelId, topic }: TopicPlace) {
  const client = useClient();
  const [found, setFound] = useState<TopicFound>();
  useEffect(() => {
    void readTopic(client, { channelId, topic }).then((read) => (read === undefined ? closePopup() : setFound(read)));
  }, [client, channelId, topic]);
  return <Menu label="Topic" groups={found && groupsFor(client, { channelId, topic }, found)} />;
}

function groupsFor(client: Client, place: TopicPlace, found: TopicFound): MenuItem[][] {
  const { name, channel, lastMessage } = found;
  const isChannelMuted = found.channel?.ownSubscription?.isMuted === true;
  const { isResolved, viewerCanResolve, viewerVisibility: visibility, unreadCount } = found;
  const when = (isSo: boolean, item: MenuItem): MenuItem[] => (isSo ? [item] : []);
  return [
    [
      ...when(unreadCount > 0, {
        label: 'Mark as read',
        icon: 'eye',
        keys: 'Shift+M',
        onChoose: () => void markTopicAsRead(client, place),
      }),
      ...when(viewerCanResolve, {
        label: isResolved ? 'Mark as unresolved' : 'Mark as resolved',
        icon: 'check',
        onChoose: () => void resolve(client, found, !isResolved),
      }),
    ],
    [
      {
        label: visibility === 'FOLLOWED' ? 'Unfollow topic' : 'Follow topic',
        icon: 'bell',
        onChoose: () => void setVisibility(client, place, visibility === 'FOLLOWED' ? 'INHERIT' : 'FOLLOWED'),
      },
      {
        label: visibility === 'MUTED' ? 'Unmute topic' : 'Mute topic',
        icon: 'muted',
        onChoose: () => void setVisibility(client, place, visibility === 'MUTED' ? 'INHERIT' : 'MUTED'),
      },
      ...when(isChannelMuted && visibility === 'INHERIT', {
        label: 'Unmute topic',
        icon: 'bell',
        onChoose: () => void setVisibility(client, place, 'UNMUTED'),
      }),
    ],
    lastMessage?.viewerCanMove
      ? [
          {
            label: 'Move or rename…',
            icon: 'move',
            onChoose: () =>
              openDialog(<MoveDialog message={{ id: lastMessage.id, channel, topicName: name }} mode="CHANGE_ALL" />),
          },
        ]
      : [],
  ];
}
