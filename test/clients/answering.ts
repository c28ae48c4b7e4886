import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '../helpers/http.ts';

/** Requests that a test sends to a child process that runs a published GraphQL client. */
export interface Chat {
  /** Returns the displayed topic, with its messages. */
  screen(): Json;
  /** Returns the unread counts that the sidebar shows. */
  sidebar(): Json;
  /** Returns the result of a search. */
  search(text: string): Promise<Json>;
  /** Returns the number of HTTP requests that the client has sent. */
  requests(): number;
  /** Sends a message to the topic that was displayed first. */
  send(content: string): Promise<unknown>;
  /**
   * Runs the queries of two user interface components.
   *
   * @returns The results of the queries (`got`), and the data that each query then reads from the cache (`kept`).
   */
  components(): Promise<{ readonly got: readonly Json[]; readonly kept: readonly Json[] }>;
}

/** Values of the environment variables that the test sets for the child process. */
export const {
  URL: url = '',
  USERNAME: username = '',
  PASSWORD: password = '',
  CHANNEL_ID: channelId = '',
} = process.env;

/** The topic that is displayed first. */
export const firstTopic: Json = { named: { channel: { id: channelId }, name: 'deck' } };

let requests = 0;
const { fetch } = globalThis;
globalThis.fetch = (...args) => {
  requests++;
  return fetch(...args);
};

/** The data of a query that a client keeps up to date. Undefined until it is complete. */
export interface View {
  data: Json;
}

/** Shows a topic. After its messages were moved, shows the topic that has them. @returns The data of the shown topic. */
export function followed(show: (topic: Json) => View): () => Json {
  let view = show(firstTopic);
  return () => {
    const movedTo = view.data?.topic?.movedTo;
    if (movedTo != null) view = show({ id: movedTo.id });
    return view.data?.topic;
  };
}

/** Returns the nodes of a list. Relay shows deleted ones as null. */
const nodesOf = ({ nodes }: Json): Json[] => nodes.filter((node: Json) => node !== null);

const counts = ({ unreadCount, unreadMentionCount }: Json) => [unreadCount, unreadMentionCount];

/** Returns the numbers of unread messages and mentions that a sidebar shows, by the names of channels, topics and people. */
function badgesIn({ viewer, subscriptions, directConversations }: Json): Json {
  const { id: _, __typename: __, ...totals } = viewer.unreadCounts;
  const channels = nodesOf(subscriptions).map((one) => {
    const topics = nodesOf(one.channel.topics).map((topic) => [topic.name, counts(topic)]);
    return [one.channel.name, { counts: counts(one), topics: Object.fromEntries(topics) }];
  });
  const conversations = nodesOf(directConversations).map((one) => {
    const names = one.participants.map(({ fullName }: Json) => fullName);
    return [names.join(', '), counts(one)];
  });
  return { totals, channels: Object.fromEntries(channels), conversations: Object.fromEntries(conversations) };
}

/**
 * Answers the requests of the parent process, as soon as the first screen is displayed. Exits when the parent process
 * disconnects.
 */
export async function answerWith(
  chat: Omit<Chat, 'sidebar' | 'screen' | 'requests'>,
  { sidebar, topic }: { readonly sidebar: View; readonly topic: () => Json },
): Promise<void> {
  const all: Chat = {
    ...chat,
    screen: () => ({ ...topic(), messages: nodesOf(topic().messages) }),
    sidebar: () => badgesIn(sidebar.data),
    requests: () => requests,
  };
  process.on('disconnect', () => process.exit());
  process.on('message', async ([name, ...args]: [keyof Chat, ...string[]]) => {
    try {
      process.send?.({ answer: (await all[name](args[0] ?? '')) ?? null });
    } catch (error) {
      process.send?.({ error: String((error as Error).stack) });
    }
  });
  while (sidebar.data === undefined || topic() === undefined) await sleep(10);
  process.send?.('ready');
}
