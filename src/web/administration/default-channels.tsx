import { useDeferredValue, useState } from 'react';
import { useClient } from 'urql';
import { useData } from '../api/use-data.ts';
import {
  DefaultChannelsDocument,
  type DefaultChannelsQueryVariables,
  SetDefaultChannelDocument,
} from '../generated/graphql.ts';
import { act } from '../ui/act.ts';
import { Button } from '../ui/button.tsx';
import { SearchField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';

/** Channels to which new users are subscribed, and a search for further ones. */
export function DefaultChannels() {
  const [text, setText] = useState('');
  const nameContains = useDeferredValue(text.trim());
  const others: Filter = {
    isDefault: false,
    // Private channels cannot be default channels.
    privacy: ['PUBLIC', 'WEB_PUBLIC'],
    ...(nameContains !== '' && { nameContains }),
  };
  return (
    <>
      <p className="soft">New users are subscribed to these channels when they join. Guests are not subscribed.</p>
      <ul className="plain-list" aria-label="Default channels">
        <Pages of="default channels">{(page) => <Channels page={page} filter={{ isDefault: true }} />}</Pages>
      </ul>
      <h3>Other channels</h3>
      <SearchField label="Find channels" value={text} onSearch={setText} />
      <ul className="plain-list" aria-label="Other channels">
        <Pages of={nameContains}>{(page) => <Channels page={page} filter={others} />}</Pages>
      </ul>
    </>
  );
}

type Filter = Omit<DefaultChannelsQueryVariables, 'after'>;

function Channels({ page, filter }: { readonly page: ListPage; readonly filter: Filter }) {
  const client = useClient();
  const variables = { ...filter, after: page.after };
  const read = useData(DefaultChannelsDocument, variables, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.channels ?? {};
  const set = (channelId: string) =>
    void act(client, SetDefaultChannelDocument, { input: { channelId, isDefault: !filter.isDefault } });
  return (
    <>
      {nodes.map(({ id, name, subscriberCount }) => (
        <li key={id} className="row">
          <div className="row-body">
            <strong>
              #<bdi>{name}</bdi>
            </strong>
            <p className="soft">{subscriberCount === 1 ? '1 subscriber' : `${subscriberCount} subscribers`}</p>
          </div>
          <Button aria-label={`${filter.isDefault ? 'Remove' : 'Add'} ${name}`} onClick={() => set(id)}>
            {filter.isDefault ? 'Remove' : 'Add'}
          </Button>
        </li>
      ))}
      {nodes.length === 0 && page.after === null && <li className="row soft">No channels.</li>}
      <More page={page} info={pageInfo}>
        More channels
      </More>
    </>
  );
}
