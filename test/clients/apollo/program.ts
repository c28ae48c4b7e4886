import { gql } from '@apollo/client';
import type { Json } from '../../helpers/http.ts';
import { answerWith, channelId, firstTopic, followed, password, url, username, type View } from '../answering.ts';
import { COMPONENTS, SEARCH, SEND, SIDEBAR, SIGN_IN, TOPIC } from '../documents.ts';
import { introspected } from '../introspection.ts';
import { apolloClient } from './client.ts';
import { live } from './glue.ts';

const place = { queueId: '', position: -1 };
let authorization = '';
const client = apolloClient(url, () => authorization, place, introspected);
const mutate = async (mutation: string, variables: Json) =>
  (await client.mutate<Json>({ mutation: gql(mutation), variables })).data;
const read = async (query: string, variables: Json) =>
  (await client.query<Json>({ query: gql(query), variables })).data;

function show(query: string, variables: Json): View {
  const view: View = { data: undefined };
  client.watchQuery<Json>({ query: gql(query), variables }).subscribe(({ data, dataState }) => {
    if (dataState === 'complete') view.data = data;
  });
  return view;
}

const { fetchApiKey } = await mutate(SIGN_IN, { input: { username, password } });
authorization = `Basic ${btoa(`${fetchApiKey.email}:${fetchApiKey.apiKey}`)}`;
await live(client, place, { topic: firstTopic });

await answerWith(
  {
    send: (content) => mutate(SEND, { input: { to: { topic: firstTopic }, content } }),
    search: async (text) => (await read(SEARCH, { text })).messages,
    async components() {
      const variables = { channelId };
      const got: Json[] = [];
      for (const text of COMPONENTS) got.push(await read(text, variables));
      return { got, kept: COMPONENTS.map((text) => client.readQuery<Json>({ query: gql(text), variables })) };
    },
  },
  { sidebar: show(SIDEBAR, {}), topic: followed((topic) => show(TOPIC, { topic })) },
);
