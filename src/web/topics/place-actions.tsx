import { IconButton } from '../ui/button.tsx';
import { openChannelMenu } from './channel-menu.tsx';
import { openTopicMenu } from './topic-menu.tsx';

interface Props {
  readonly channelId: string;
  readonly topic: string | undefined;
}

/** Button that opens the menu of a channel or topic. */
export function PlaceActions({ channelId, topic }: Props) {
  return topic === undefined ? (
    <IconButton
      icon="more"
      label="Channel actions"
      aria-haspopup="menu"
      onClick={({ currentTarget }) => openChannelMenu(currentTarget, channelId)}
    />
  ) : (
    <IconButton
      icon="more"
      label="Topic actions"
      aria-haspopup="menu"
      onClick={({ currentTarget }) => openTopicMenu(currentTarget, { channelId, topic })}
    />
  );
}
