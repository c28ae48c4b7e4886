import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { ChannelSubscribersDocument, SubscribeDocument, UnsubscribeDocument } from '../generated/graphql.ts';
import { AddPeople } from '../people/add-people.tsx';
import { MemberRow } from '../people/person-row.tsx';
import { Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import type { Channel } from './settings-channel.ts';

/** List of the subscribers of a channel, with controls to add and remove them. */
export function Subscribers({ channel }: { readonly channel: Channel }) {
  const { id: channelId, viewerCanAddSubscribers, viewerCanAdminister } = channel;
  const { run, refusal } = useCommand(UnsubscribeDocument);
  const remove = (id: string) => void run({ input: { channels: [{ id: channelId }], userIds: [id] } });
  return (
    <>
      {viewerCanAddSubscribers && <AddSubscribers channelId={channelId} />}
      <Refusal>{refusal}</Refusal>
      <ul className="plain-list" aria-label="Subscribers">
        <Pages of={channelId}>
          {(page) => <Page channelId={channelId} page={page} onRemove={viewerCanAdminister ? remove : undefined} />}
        </Pages>
      </ul>
    </>
  );
}

interface PageProps {
  readonly channelId: string;
  readonly page: ListPage;
  /** Called to remove a subscriber. Undefined if the viewer cannot remove subscribers. */
  readonly onRemove: ((userId: string) => void) | undefined;
}

function Page({ channelId, page, onRemove }: PageProps) {
  const variables = { channelId, after: page.after };
  const read = useData(ChannelSubscribersDocument, variables, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.channel?.subscribers ?? {};
  return (
    <>
      {nodes.map((person) => (
        <MemberRow key={person.id} person={person} onRemove={onRemove} />
      ))}
      <More page={page} info={pageInfo}>
        More subscribers
      </More>
    </>
  );
}

function AddSubscribers({ channelId }: { readonly channelId: string }) {
  const command = useCommand(SubscribeDocument);
  return (
    <AddPeople
      label="Add people"
      command={command}
      adding={(chosen) => ({
        input: { channels: [{ channel: { id: channelId } }], userIds: chosen.map(({ id }) => id) },
      })}
    />
  );
}
