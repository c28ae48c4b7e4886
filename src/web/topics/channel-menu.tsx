import { type Client, useClient } from 'urql';
import { useData } from '../api/use-data.ts';
import { OwnSubscriptionInDocument, type OwnSubscriptionInQuery } from '../generated/graphql.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { openPopup } from '../ui/popup.tsx';
import { markChannelAsRead, setSubscription } from './topic-actions.ts';

/** Opens the menu of a channel beside an element. Its actions affect only the viewer. */
export function openChannelMenu(anchor: Element, channelId: string): void {
  openPopup(anchor, <ChannelMenu channelId={channelId} />);
}

function ChannelMenu({ channelId }: { readonly channelId: string }) {
  const client = useClient();
  const { data } = useData(OwnSubscriptionInDocument, { channelId });
  return <Menu label="Channel" groups={data?.channel ? groupsFor(client, data.channel) : undefined} />;
}

function groupsFor(client: Client, channel: NonNullable<OwnSubscriptionInQuery['channel']>): MenuItem[][] {
  const { id: channelId, name, ownSubscription } = channel;
  const topics: MenuItem = {
    label: 'All topics',
    icon: 'list',
    onChoose: () => navigate(addressOf({ name: 'topics', channelId }, name)),
  };
  if (ownSubscription === null) return [[topics]];
  const { isMuted, pinToTop } = ownSubscription;
  const read: MenuItem = {
    label: 'Mark as read',
    icon: 'eye',
    keys: 'Shift+M',
    onChoose: () => void markChannelAsRead(client, channelId),
  };
  return [
    [topics, read],
    [
      {
        label: pinToTop ? 'Unpin' : 'Pin to top',
        icon: 'pin',
        onChoose: () => void setSubscription(client, { channelId, pinToTop: !pinToTop }),
      },
      {
        label: isMuted ? 'Unmute channel' : 'Mute channel',
        icon: 'muted',
        onChoose: () => void setSubscription(client, { channelId, isMuted: !isMuted }),
      },
    ],
  ];
}
