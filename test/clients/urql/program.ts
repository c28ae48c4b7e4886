import type { Json } from '../../helpers/http.ts';
import { answerWith, channelId, password, url, username } from '../answering.ts';
import { COMPONENTS, EVENTS, FIRST_SCREEN, SCREEN, SEND, SIGN_IN } from '../documents.ts';
import { introspected } from '../introspection.ts';
import { urqlClient } from './client.ts';
import { append } from './list.ts';

const place = { queueId: '', position: -1 };
let authorization = '';
const client = urqlClient(url, () => authorization, place, introspected, append);
const mutate = async (mutation: string, variables: Json) =>
  (await client.mutation<Json>(mutation, variables).toPromise()).data;

const { fetchApiKey } = await mutate(SIGN_IN, { input: { username, password } });
authorization = `Basic ${btoa(`${fetchApiKey.email}:${fetchApiKey.apiKey}`)}`;

const { registerEventQueue } = await mutate(FIRST_SCREEN, { channelId });
Object.assign(place, { queueId: registerEventQueue.queueId, position: registerEventQueue.position });

client.subscription(EVENTS, { queueId: place.queueId }).subscribe(() => {});

const kept = (query: string) => client.readQuery<Json>(query, { channelId }, { requestPolicy: 'cache-only' })?.data;

answerWith({
  screen: () => kept(SCREEN)?.channel.messages.nodes,
  send: (content) => mutate(SEND, { input: { to: { topic: { channel: { id: channelId }, name: 'deck' } }, content } }),
  async components() {
    const got: Json[] = [];
    for (const text of COMPONENTS) got.push((await client.query<Json>(text, { channelId }).toPromise()).data);
    return { got, kept: COMPONENTS.map(kept) };
  },
});
