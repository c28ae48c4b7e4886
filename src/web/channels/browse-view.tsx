import { type ReactNode, useDeferredValue, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { ChannelsDocument, type ListedChannelFragment } from '../generated/graphql.ts';
import { spoken } from '../markdown/markup.ts';
import { useRights } from '../people/use-viewer.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { channelIcon } from '../ui/channel-icon.ts';
import { SearchField } from '../ui/form.tsx';
import { Header } from '../ui/header.tsx';
import { Icon } from '../ui/icons.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { openChannelSettings, openCreateChannel, openFolders } from './open-channel.tsx';
import { privaciesFor } from './privacies.ts';
import { SubscribeButton } from './subscribe-button.tsx';

/** List of all channels that the viewer can see, subscribed or not. */
export function BrowseChannels({ menu }: { readonly menu: ReactNode }) {
  const [text, setText] = useState('');
  const nameContains = useDeferredValue(text.trim());
  const rights = useRights();
  return (
    <>
      <Header menu={menu} title="Channels" />
      <div className="page" data-section>
        <section className="page-section" aria-label="All channels">
          <div className="page-bar">
            <SearchField label="Find channels" value={text} onSearch={setText} />
            <Button onClick={openFolders}>Folders</Button>
            {privaciesFor(rights).length > 0 && (
              <Button kind="primary" onClick={openCreateChannel}>
                Create a channel
              </Button>
            )}
          </div>
          <ul className="plain-list" aria-label="Channels">
            <Pages of={nameContains}>{(page) => <Page page={page} nameContains={nameContains} />}</Pages>
          </ul>
        </section>
      </div>
    </>
  );
}

function Page({ page, nameContains }: { readonly page: ListPage; readonly nameContains: string }) {
  const read = useData(
    ChannelsDocument,
    { after: page.after, ...(nameContains !== '' && { nameContains }) },
    { requestPolicy: 'cache-and-network' },
  );
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.channels ?? {};
  return (
    <>
      {nodes.map((channel) => (
        <Row key={channel.id} channel={channel} />
      ))}
      {pageInfo !== undefined && nodes.length === 0 && page.after === null && (
        <li className="row soft">No channels found.</li>
      )}
      <More page={page} info={pageInfo}>
        More channels
      </More>
    </>
  );
}

function Row({ channel }: { readonly channel: ListedChannelFragment }) {
  const { id, name, privacy, isArchived, subscriberCount, renderedDescription } = channel;
  return (
    <li className="row">
      <Icon name={channelIcon(privacy)} />
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
      <div className="row-actions">
        <SubscribeButton channel={channel} />
        <IconButton icon="settings" label={`Settings for ${name}`} onClick={() => openChannelSettings(id)} />
      </div>
    </li>
  );
}
