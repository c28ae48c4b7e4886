import { type FormEvent, useState } from 'react';
import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { ChannelSubscribersDocument, SubscribeDocument, UnsubscribeDocument } from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { PersonRow } from '../people/person-row.tsx';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { More, Pages, type Place } from '../ui/pages.tsx';
import type { Channel } from './settings-channel.ts';

/** Who is subscribed to a channel, and what adds and removes them. */
export function Subscribers({ channel }: { readonly channel: Channel }) {
  const { id: channelId, viewerCanAddSubscribers, viewerCanAdminister } = channel;
  const { run, refusal } = useCommand(UnsubscribeDocument);
  const remove = (id: string) => void run({ input: { channels: [{ channelId }], userIds: [id] } });
  return (
    <>
      {viewerCanAddSubscribers && <AddSubscribers channelId={channelId} />}
      <Refusal>{refusal}</Refusal>
      <ul className="plain-list" aria-label="Subscribers">
        <Pages of={channelId}>
          {(place) => <Page channelId={channelId} place={place} onRemove={viewerCanAdminister ? remove : undefined} />}
        </Pages>
      </ul>
    </>
  );
}

interface PageProps {
  readonly channelId: string;
  readonly place: Place;
  /** Undefined where the viewer may not. */
  readonly onRemove: ((userId: string) => void) | undefined;
}

function Page({ channelId, place, onRemove }: PageProps) {
  const variables = { channelId, after: place.after };
  const [{ data }] = useQuery({ query: ChannelSubscribersDocument, variables, requestPolicy: 'cache-and-network' });
  const { nodes = [], pageInfo } = data?.channel?.subscribers ?? {};
  return (
    <>
      {nodes.map((person) => (
        <PersonRow key={person.id} person={person}>
          {onRemove !== undefined && (
            <Button aria-label={`Remove ${person.fullName}`} onClick={() => onRemove(person.id)}>
              Remove
            </Button>
          )}
        </PersonRow>
      ))}
      <More place={place} info={pageInfo}>
        More subscribers
      </More>
    </>
  );
}

function AddSubscribers({ channelId }: { readonly channelId: string }) {
  const { run, refusal, isBusy } = useCommand(SubscribeDocument);
  const [chosen, setChosen] = useState<readonly Named[]>([]);
  // Another one is an empty one.
  const [times, setTimes] = useState(0);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!(await run({ input: { channels: [{ channelId }], userIds: chosen.map(({ id }) => id) } }))) return;
    setChosen([]);
    setTimes(times + 1);
  };
  return (
    <form className="form" onSubmit={submit}>
      <PeoplePicker key={times} label="Add people" onChange={setChosen} />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy || chosen.length === 0}>
          Add
        </Button>
      </div>
    </form>
  );
}
