import { useViewer } from '../people/use-viewer.ts';
import { type Place, routeTo } from '../routing/place.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { namesOf } from '../ui/person.tsx';
import { shownTopic } from '../ui/topic-names.ts';

export interface Located {
  readonly channel: { readonly id: string; readonly name: string } | null;
  readonly topicName: string;
  /** Recipients of a direct message or draft. Null for channel messages. */
  readonly recipients: readonly { readonly id: string; readonly fullName: string }[] | null;
}

interface Props {
  readonly of: Located;
  readonly onFollow?: () => void;
}

/** Link to the destination of a message or draft. */
export function PlaceLink({ of: { channel, topicName, recipients }, onFollow }: Props) {
  const { viewerId } = useViewer();
  const place: Place | undefined =
    channel !== null
      ? { channelId: channel.id, topic: topicName }
      : recipients !== null && recipients.length > 0
        ? { directTo: recipients.map(({ id }) => id) }
        : undefined;
  if (place === undefined) return <>No recipient yet</>;
  const others = recipients?.filter(({ id }) => id !== viewerId) ?? [];
  const name =
    channel !== null
      ? `#${channel.name} › ${shownTopic(topicName)}`
      : others.length > 0
        ? namesOf(others)
        : 'Notes to self';
  return (
    <Link to={addressOf(routeTo(place, viewerId), channel?.name)} onClick={onFollow}>
      {name}
    </Link>
  );
}
