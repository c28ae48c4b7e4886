import { gql } from '@apollo/client';
import type { Json } from '../../helpers/http.ts';
import { answerWith, channelId, password, url, username } from '../answering.ts';
import { COMPONENTS, EVENTS, FIRST_SCREEN, SCREEN, SEND, SIGN_IN } from '../documents.ts';
import { introspected } from '../introspection.ts';
import { apolloClient } from './client.ts';
import { append } from './list.ts';

const place = { queueId: '', position: -1 };
let authorization = '';
const client = apolloClient(url, () => authorization, place, introspected);
const mutate = async (mutation: string, variables: Json) =>
  (await client.mutate<Json>({ mutation: gql(mutation), variables })).data;

const { fetchApiKey } = await mutate(SIGN_IN, { input: { username, password } });
authorization = `Basic ${btoa(`${fetchApiKey.email}:${fetchApiKey.apiKey}`)}`;

const { registerEventQueue } = await mutate(FIRST_SCREEN, { channelId });
Object.assign(place, { queueId: registerEventQueue.queueId, position: registerEventQueue.position });

client.subscribe<Json>({ query: gql(EVENTS), variables: { queueId: place.queueId } }).subscribe({
  next({ data }) {
    if (data?.events.__typename === 'MessageSentEvent') append(client.cache, data.events);
  },
});

answerWith({
  screen: () => client.readQuery<Json>({ query: gql(SCREEN), variables: { channelId } })?.channel.messages.nodes,
  send: (content) => mutate(SEND, { input: { to: { topic: { channel: { id: channelId }, name: 'deck' } }, content } }),
  async components() {
    const variables = { channelId };
    const got: Json[] = [];
    for (const text of COMPONENTS) got.push((await client.query<Json>({ query: gql(text), variables })).data);
    return { got, kept: COMPONENTS.map((text) => client.readQuery<Json>({ query: gql(text), variables })) };
  },
});
