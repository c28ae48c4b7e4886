import { setTimeout as sleep } from 'node:timers/promises';
import relay, { type OperationDescriptor } from 'relay-runtime';
import type { Json } from '../../helpers/http.ts';
import { answerWith, channelId, firstTopic, followed, password, url, username, type View } from '../answering.ts';
import { artifact } from './artifacts.ts';
import { relayEnvironment } from './client.ts';
import { live } from './glue.ts';

const place = { queueId: '', position: -1 };
let authorization = '';
const environment = relayEnvironment(url, () => authorization, place);
const mutate = async (name: string, variables: Json) => {
  const mutation = await artifact(name);
  return new Promise<Json>((resolve, reject) => {
    relay.commitMutation(environment, { mutation, variables, onCompleted: resolve, onError: reject });
  });
};

const operation = async (name: string, variables: Json) =>
  relay.createOperationDescriptor(relay.getRequest(await artifact(name)), variables);

/** Reads the data of an operation from the store, without a request. Undefined if any of the data is missing. */
function kept({ fragment }: OperationDescriptor): Json {
  const { data, isMissingData } = environment.lookup(fragment);
  return isMissingData ? undefined : data;
}

/** Sends a request. Retains its data, so that the store does not delete it. */
async function read(name: string, variables: Json): Promise<Json> {
  const of = await operation(name, variables);
  environment.retain(of);
  return relay.fetchQuery(environment, of.request.node, variables).toPromise();
}

/** @param isFirst Whether the data is part of the first screen, so that no request is necessary. */
function show(name: string, variables: Json, isFirst: boolean): View {
  const view: View = { data: undefined };
  const start = async () => {
    const of = await operation(name, variables);
    if (isFirst) environment.retain(of);
    else await read(name, variables);
    while (environment.check(of).status === 'missing') await sleep(10);
    const update = () => {
      view.data = kept(of) ?? view.data;
    };
    update();
    environment.subscribe(environment.lookup(of.fragment), update);
    const store = environment.getStore();
    store.subscribeToInvalidationState(store.lookupInvalidationState([relay.ROOT_ID]), () => read(name, variables));
  };
  void start();
  return view;
}

const { fetchApiKey } = await mutate('SignInMutation', { input: { username, password } });
authorization = `Basic ${btoa(`${fetchApiKey.email}:${fetchApiKey.apiKey}`)}`;
live(environment, place, { topic: firstTopic });

await answerWith(
  {
    send: (content) => mutate('SendMutation', { input: { to: { topic: firstTopic }, content } }),
    search: async (text) => (await read('SearchQuery', { text })).messages,
    async components() {
      const names = ['OneComponentQuery', 'OtherComponentQuery'];
      const got: Json[] = [];
      for (const name of names) got.push(await read(name, { channelId }));
      return { got, kept: (await Promise.all(names.map((name) => operation(name, { channelId })))).map(kept) };
    },
  },
  {
    sidebar: show('SidebarQuery', {}, true),
    topic: followed((topic) => show('TopicQuery', { topic }, topic === firstTopic)),
  },
);
