import { type ReactNode, useDeferredValue, useState } from 'react';
import { useQuery } from 'urql';
import { Header } from '../conversation/header.tsx';
import { ChannelsDocument, type ListedChannelFragment } from '../generated/graphql.ts';
import { spoken } from '../messages/markup.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { TextField } from '../ui/form.tsx';
import { Icon } from '../ui/icons.tsx';
import { openChannelSettings, openCreateChannel, openFolders } from './open-channel.tsx';
import { SubscribeButton } from './subscribe-button.tsx';

/** Every channel that the viewer can see, subscribed to or not. */
export function BrowseChannels({ menu }: { readonly menu: ReactNode }) {
  const [text, setText] = useState('');
  const nameContains = useDeferredValue(text.trim());
  const variables = nameContains === '' ? {} : { nameContains };
  const [{ data }] = useQuery({ query: ChannelsDocument, variables, requestPolicy: 'cache-and-network' });
  const channels = data?.channels?.nodes ?? [];
  const total = data?.channels?.totalCount ?? 0;
  return (
    <>
      <Header menu={menu} title="Channels" />
      <div className="page" data-section>
        <section className="page-section" aria-label="All channels">
          <div className="page-bar">
            <TextField label="Find" type="search" value={text} onChange={(e) => setText(e.currentTarget.value)} />
            <Button onClick={openFolders}>Folders</Button>
            <Button kind="primary" onClick={openCreateChannel}>
              Create a channel
            </Button>
          </div>
          <ul className="plain-list" aria-label="Channels">
            {channels.map((channel) => (
              <Row key={channel.id} channel={channel} />
            ))}
          </ul>
          {total > channels.length && <p className="soft">{`The first ${channels.length} of ${total}.`}</p>}
        </section>
      </div>
    </>
  );
}

function Row({ channel }: { readonly channel: ListedChannelFragment }) {
  const { id, name, isPrivate, isWebPublic, isArchived, subscriberCount, renderedDescription } = channel;
  return (
    <li className="row">
      <Icon name={isPrivate ? 'lock' : isWebPublic ? 'globe' : 'hash'} />
      <div className="row-body">
        <Link to={addressOf({ name: 'channel', channelId: id }, name)}>
          <strong>{name}</strong>
        </Link>
        <p className="soft">
          {isArchived && 'Archived · '}
          {subscriberCount === 1 ? '1 subscriber' : `${subscriberCount} subscribers`}
          {renderedDescription !== '' && ` · ${spoken(renderedDescription)}`}
        </p>
      </div>
      <SubscribeButton channel={channel} />
      <IconButton icon="settings" label={`Settings of ${name}`} onClick={() => openChannelSettings(id)} />
    </li>
  );
}
