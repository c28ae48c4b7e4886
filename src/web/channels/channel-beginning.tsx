import type { ChannelHeaderQuery } from '../generated/graphql.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { Button } from '../ui/button.tsx';
import { channelIcon } from '../ui/channel-icon.ts';
import { Icon } from '../ui/icons.tsx';
import { openChannelSettings } from './open-channel.tsx';

interface Props {
  readonly channel: NonNullable<ChannelHeaderQuery['channel']>;
  readonly color: string | undefined;
}

/** Introduction above the first message of a channel. It is an article, because a feed may contain only articles. */
export function ChannelBeginning({ channel, color }: Props) {
  const { id, name, privacy, creator, createdAt, renderedDescription, viewerCanAddSubscribers, isArchived } = channel;
  const created = new Date(createdAt).toLocaleDateString(undefined, { dateStyle: 'long' });
  return (
    <article className="channel-beginning" aria-labelledby={`start-${id}`} tabIndex={-1}>
      <span className="channel-beginning-mark channel-mark" style={{ color }}>
        <Icon name={channelIcon(privacy)} size={28} />
      </span>
      <h2 id={`start-${id}`}>Start of #{name}</h2>
      <p className="soft">
        {creator === null ? `Created on ${created}.` : `Created by ${creator.fullName} on ${created}.`}
      </p>
      {renderedDescription !== '' && <Markdown html={renderedDescription} isAlone />}
      {viewerCanAddSubscribers && !isArchived && (
        <Button onClick={() => openChannelSettings(id, 'subscribers')}>Add people</Button>
      )}
    </article>
  );
}
