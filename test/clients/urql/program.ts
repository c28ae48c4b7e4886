import type { Json } from '../../helpers/http.ts';
import { answerWith, channelId, firstTopic, followed, password, url, username, type View } from '../answering.ts';
import { COMPONENTS, SEARCH, SEND, SIDEBAR, SIGN_IN, TOPIC } from '../documents.ts';
import { introspected } from '../introspection.ts';
import { urqlClient } from './client.ts';
import { apply, live } from './glue.ts';

const place = { queueId: '', position: -1 };
let authorization = '';
const client = urqlClient(url, () => authorization, place, introspected, apply);
const mutate = async (mutation: string, variables: Json) =>
  (await client.mutation<Json>(mutation, variables).toPromise()).data;
const read = async (query: string, variables: Json) => (await client.query<Json>(query, variables).toPromise()).data;

function show(query: string, variables: Json): View {
  const view: View = { data: undefined };
  client.query<Json>(query, variables).subscribe(({ data, stale }) => {
    if (data != null && !stale) view.data = data;
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
      const got: Json[] = [];
      for (const text of COMPONENTS) got.push(await read(text, { channelId }));
      const cached = { requestPolicy: 'cache-only' } as const;
      return { got, kept: COMPONENTS.map((text) => client.readQuery<Json>(text, { channelId }, cached)?.data) };
    },
  },
  { sidebar: show(SIDEBAR, {}), topic: followed((topic) => show(TOPIC, { topic })) },
);
