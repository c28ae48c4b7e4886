import { type FormEvent, useState } from 'react';
import { useQuery } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { ChannelSubscribersDocument, SubscribeDocument, UnsubscribeDocument } from '../generated/graphql.ts';
import { type Named, PeoplePicker } from '../people/people-picker.tsx';
import { PersonRow } from '../people/person-row.tsx';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import type { Channel } from './settings-channel.ts';

/** Who is subscribed to a channel, and what adds and removes them. */
export function Subscribers({ channel }: { readonly channel: Channel }) {
  const { id: channelId, viewerCanAddSubscribers, viewerCanAdminister } = channel;
  const [{ data }] = useQuery({
    query: ChannelSubscribersDocument,
    variables: { channelId },
    requestPolicy: 'cache-and-network',
  });
  const { run, refusal } = useCommand(UnsubscribeDocument);
  const list = data?.channel?.subscribers;
  const remove = (id: string) => void run({ input: { channels: [{ channelId }], userIds: [id] } });
  return (
    <>
      {viewerCanAddSubscribers && <AddSubscribers channelId={channelId} />}
      <Refusal>{refusal}</Refusal>
      <ul className="plain-list" aria-label="Subscribers">
        {list?.nodes.map((person) => (
          <PersonRow key={person.id} person={person}>
            {viewerCanAdminister && (
              <Button aria-label={`Remove ${person.fullName}`} onClick={() => remove(person.id)}>
                Remove
              </Button>
            )}
          </PersonRow>
        ))}
      </ul>
      {(list?.totalCount ?? 0) > (list?.nodes.length ?? 0) && (
        <p className="soft">{`The first ${list?.nodes.length} of ${list?.totalCount}.`}</p>
      )}
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
