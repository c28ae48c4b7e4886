import relay from 'relay-runtime';
import type { Json } from '../../helpers/http.ts';
import { answerWith, channelId, password, url, username } from '../answering.ts';
import { artifact } from './artifacts.ts';
import { relayEnvironment } from './client.ts';
import { append } from './list.ts';

const place = { queueId: '', position: -1 };
let authorization = '';
const environment = relayEnvironment(url, () => authorization, place);
const mutate = async (name: string, variables: Json) => {
  const mutation = await artifact(name);
  return new Promise<Json>((resolve, reject) => {
    relay.commitMutation(environment, { mutation, variables, onCompleted: resolve, onError: reject });
  });
};

const { fetchApiKey } = await mutate('SignInMutation', { input: { username, password } });
authorization = `Basic ${btoa(`${fetchApiKey.email}:${fetchApiKey.apiKey}`)}`;

// Retains the displayed data, so that the store does not delete it.
const operation = async (name: string) =>
  relay.createOperationDescriptor(relay.getRequest(await artifact(name)), { channelId });
const screen = await operation('ScreenQuery');
environment.retain(screen);

const { registerEventQueue } = await mutate('FirstScreenMutation', { channelId });
Object.assign(place, { queueId: registerEventQueue.queueId, position: registerEventQueue.position });

relay.requestSubscription<Json>(environment, {
  subscription: await artifact('EventsSubscription'),
  variables: { queueId: place.queueId },
  updater(store, data) {
    if (data?.events.__typename === 'MessageSentEvent') append(store);
  },
});

/** Returns the data of an operation from the store. Null if any of it is missing. */
const kept = (from: typeof screen): Json =>
  environment.check(from).status === 'available' ? environment.lookup(from.fragment).data : null;

answerWith({
  screen: () => kept(screen)?.channel.messages.edges.map(({ node }: Json) => node),
  send: (content) =>
    mutate('SendMutation', { input: { to: { topic: { channel: { id: channelId }, name: 'deck' } }, content } }),
  async components() {
    const operations = await Promise.all(['OneComponentQuery', 'OtherComponentQuery'].map(operation));
    for (const one of operations) environment.retain(one);
    const got: Json[] = [];
    for (const { request } of operations) {
      got.push(await relay.fetchQuery(environment, request.node, { channelId }).toPromise());
    }
    return { got, kept: operations.map(kept) };
  },
});
