import { execFileSync, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, type Organization, startServer } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';
import type { Chat } from './answering.ts';

// Tests the published GraphQL clients that have a cache, unmodified. Each runs in a program of its own, with the parts of an
// application: configuration (`client.ts`), documents, rendering (`program.ts`), and all other code (`glue.ts`). The tests
// compare what the client shows with the data of the service.

const CLIENTS = ['apollo', 'urql', 'relay'] as const;
const KILLS = 10;
/** Maximum number of lines of code that an application needs besides configuration, documents and rendering. */
const MAX_GLUE = 19;
/** Time between a restart of the server and the next kill, in milliseconds. */
const LIFE_MS = 600;
const PASSWORD = 'a password of the tests';

type Program = { readonly [N in keyof Chat]: (...args: string[]) => Promise<Json> } & Disposable;

/** Starts the program of a client, which signs in as the owner and displays the topic "deck" of a channel. */
async function startClient(client: string, { url, email }: Person, channelId: number): Promise<Program> {
  const env = {
    ...process.env,
    URL: `${url}/graphql`,
    USERNAME: email,
    PASSWORD,
    CHANNEL_ID: globalId('Channel', channelId),
  };
  const child = fork(join(import.meta.dirname, client, 'program.ts'), {
    env,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  let warned = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    warned += text;
  });
  const heard = async () => {
    const other = new AbortController();
    const { signal } = other;
    const [message] = await Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })]);
    other.abort();
    return message;
  };
  expect([client, await heard(), warned]).toEqual([client, 'ready', '']);
  const ask = async (name: keyof Chat, ...args: string[]) => {
    child.send([name, ...args]);
    const { answer, error } = await heard();
    expect([client, error, warned]).toEqual([client, undefined, '']);
    return answer;
  };
  return {
    screen: () => ask('screen'),
    sidebar: () => ask('sidebar'),
    search: (text = '') => ask('search', text),
    requests: () => ask('requests'),
    send: (content = '') => ask('send', content),
    components: () => ask('components'),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

/** Expects that a program shows a value, now or soon. */
const showing = (shown: () => Promise<Json>, value: Json) =>
  vi.waitFor(async () => expect(await shown()).toMatchObject(value), 60_000);

const QUIET = { send_notification_to_old_thread: false, send_notification_to_new_thread: false };

/** Sends messages to a channel until `signal` is aborted. Repeats each request until it is acknowledged. */
async function write(person: Person, channelId: number, signal: AbortSignal): Promise<void> {
  for (let i = 0; !signal.aborted; i++) {
    const message = { type: 'channel', to: channelId, topic: 'deck', content: `${person.name} ${i}` };
    const headers = { 'Idempotency-Key': randomUUID() };
    for (;;) {
      const reply = await person.rest('POST', '/messages', message, { headers }).catch(() => undefined);
      if (reply?.status === 200) break;
      await sleep(20);
    }
    await sleep(50);
  }
}

/** Returns the contents of all messages of a channel, read over REST. */
async function contentsOf(person: Person, channelId: number): Promise<string[]> {
  const narrow = [{ operator: 'channel', operand: channelId }];
  const page = { anchor: 'newest', num_before: 5000, num_after: 0, narrow, apply_markdown: false };
  const { messages } = await person.ok('GET', '/messages', page);
  return messages.map(({ content }: Json) => content);
}

/** Returns the number of lines of code of a module, without imports, comments and empty lines. */
function linesOf(file: string): number {
  const code = readFileSync(file, 'utf8').replaceAll(/^import [^;]+;$|^ *\/\*\*[\s\S]*?\*\/|^ *\/\/.*$/gm, '');
  return code.split('\n').filter((line) => line.trim() !== '').length;
}

describe('the GraphQL README', () => {
  const path = join(import.meta.dirname, '../../src/api/graphql/README.md');
  const rows = readFileSync(path, 'utf8').matchAll(/\[(\d+)\]\((\S+\/test\/clients\/\S+\.ts)\)/g);

  test('states the number of code lines of each client', () => {
    const said = [...rows].map(([, lines, file = '']) => ({ file, lines: Number(lines) }));
    expect(said).toHaveLength(3 * CLIENTS.length);
    expect(said).toEqual(said.map(({ file }) => ({ file, lines: linesOf(join(path, '..', file)) })));
  });

  test.for(CLIENTS)(
    'is right that %s needs less than 20 lines besides configuration, documents and rendering',
    (client) => {
      expect(linesOf(join(import.meta.dirname, client, 'glue.ts'))).toBeLessThanOrEqual(MAX_GLUE);
    },
  );
});

describe('clients with a cache', () => {
  let server: ServerProcess;
  let people: Organization;
  beforeAll(async () => {
    const compiler = join(import.meta.dirname, '../../node_modules/.bin/relay-compiler');
    execFileSync(compiler, ['relay.config.json'], { cwd: join(import.meta.dirname, 'relay') });
    server = await startServer();
    people = await createOrganization({}, { on: server, subdomain: '', password: PASSWORD });
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  /** Creates a channel with a message, and starts a client that displays the topic of the message. */
  async function looking(client: string) {
    const { owner, member } = people;
    const name = randomUUID();
    const channelId = await channelOf(owner, name, [owner, member]);
    const id = await say(member, channelId, 'deck', 'first');
    return { owner, member, name, channelId, id, program: await startClient(client, owner, channelId) };
  }

  test.for(CLIENTS)('%s applies events to its cache without code for each event type', async (client) => {
    const { owner, member, channelId, id, program } = await looking(client);
    using _ = program;
    const shows = (messages: readonly Json[]) => showing(program.screen, { messages });
    const first = { content: 'first', viewerHasRead: false, viewerHasStarred: false, reactionGroups: [] };
    await shows([first]);
    await member.ok('PATCH', `/messages/${id}`, { content: 'edited' });
    await shows([{ ...first, content: 'edited', lastEditedAt: expect.any(String) }]);
    for (const flag of ['read', 'starred']) {
      await owner.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag });
    }
    const marked = { content: 'edited', viewerHasRead: true, viewerHasStarred: true };
    await shows([marked]);
    await owner.ok('POST', '/messages/flags', { messages: [id], op: 'remove', flag: 'starred' });
    await shows([{ ...marked, viewerHasStarred: false }]);
    for (const person of [owner, member]) {
      await person.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'octopus' });
    }
    await shows([{ reactionGroups: [{ emojiName: 'octopus', count: 2, viewerHasReacted: true }] }]);
    await owner.ok('DELETE', `/messages/${id}/reactions`, { emoji_name: 'octopus' });
    await shows([{ reactionGroups: [{ emojiName: 'octopus', count: 1, viewerHasReacted: false }] }]);
    expect(await program.send('')).toMatchObject({ sendMessage: { code: 'BAD_REQUEST' } });
    // Client code adds new messages of all senders to the list. Later changes to these messages need no client code.
    const second = await say(member, channelId, 'deck', 'second');
    await program.send('third');
    await shows([{ content: 'edited' }, { content: 'second', viewerHasRead: false }, { content: 'third' }]);
    await member.ok('PATCH', `/messages/${second}`, { content: 'second, edited' });
    await shows([{}, { content: 'second, edited' }, { content: 'third', sender: { fullName: owner.name } }]);
    await member.ok('DELETE', `/messages/${second}`);
    await shows([{ content: 'edited' }, { content: 'third' }]);
  });

  test.for(CLIENTS)('%s moves the numbers of a sidebar by events alone', async (client) => {
    const { owner, member, name, channelId, id, program } = await looking(client);
    using _ = program;
    const { channels, totals, conversations } = await program.sidebar();
    expect(channels[name]).toEqual({ counts: [1, 0], topics: { deck: [1, 0] } });
    const requests = await program.requests();
    const pair = `${owner.name}, ${member.name}`;
    const [before = 0] = conversations[pair] ?? [];
    /** @param direct Number of further unread direct messages, and of those that mention the user. */
    const shows = (counts: Json, topics: Json, [direct, mentions]: readonly [number, number] = [0, 0]) =>
      showing(program.sidebar, {
        totals: {
          total: totals.total + counts[0] - 1 + direct,
          channels: totals.channels + counts[0] - 1,
          conversations: totals.conversations + direct,
          mentions: totals.mentions + counts[1] + mentions,
        },
        channels: { [name]: { counts, topics } },
        ...(direct > 0 && { conversations: { [pair]: [before + direct, mentions] } }),
      });
    await say(member, channelId, 'deck', `second, @**${owner.name}**`);
    await shows([2, 1], { deck: [2, 1] });
    const lunch = await say(member, channelId, 'lunch', 'new topic');
    await shows([3, 1], { deck: [2, 1], lunch: [1, 0] });
    const direct = { type: 'direct', to: [owner.id], content: `@**${owner.name}** psst` };
    const { id: whisper } = await member.ok('POST', '/messages', direct);
    await shows([3, 1], { deck: [2, 1], lunch: [1, 0] }, [1, 1]);
    await owner.ok('POST', '/messages/flags', { messages: [id, whisper], op: 'add', flag: 'read' });
    await shows([2, 1], { deck: [1, 1], lunch: [1, 0] });
    await owner.ok('POST', '/messages/flags', { messages: [id], op: 'remove', flag: 'read' });
    await shows([3, 1], { deck: [2, 1], lunch: [1, 0] });
    await owner.ok('POST', '/mark_topic_as_read', { stream_id: channelId, topic_name: 'deck' });
    await shows([1, 0], { deck: [0, 0], lunch: [1, 0] });
    await member.ok('DELETE', `/messages/${lunch}`);
    await shows([0, 0], { deck: [0, 0], lunch: [0, 0] });
    expect(await program.requests()).toBe(requests);
    // The event that all messages were marked as read lists no topics, so the client reads its data again.
    await say(member, channelId, 'deck', 'third');
    await shows([1, 0], { deck: [1, 0] });
    await owner.ok('POST', '/mark_all_as_read');
    await showing(program.sidebar, {
      totals: { total: 0, channels: 0, conversations: 0, mentions: 0 },
      channels: { [name]: { counts: [0, 0], topics: { deck: [0, 0] } } },
    });
  });

  test.for(CLIENTS)('%s follows a topic through a renaming and a move to another channel', async (client) => {
    const { owner, member, channelId, id, program } = await looking(client);
    using _ = program;
    const other = await channelOf(owner, randomUUID(), [owner, member]);
    const { id: shown } = await program.screen();
    const change = (to: Json) =>
      owner.ok('PATCH', `/messages/${id}`, { ...to, propagate_mode: 'change_all', ...QUIET });
    await change({ topic: 'bridge' });
    await showing(program.screen, { name: 'bridge', messages: [{ content: 'first' }] });
    await say(member, channelId, 'bridge', 'second');
    await showing(program.screen, { messages: [{ content: 'first' }, { content: 'second' }] });
    await change({ topic: 'cabin', stream_id: other });
    const moved = { name: 'cabin', channel: { id: globalId('Channel', other) } };
    await showing(program.screen, { ...moved, messages: [{ content: 'first' }, { content: 'second' }] });
    await say(member, other, 'cabin', 'third');
    await showing(program.screen, { ...moved, messages: [{}, {}, { content: 'third' }] });
    // If messages return to a topic that the client has shown, it shows them there again.
    await change({ topic: 'deck', stream_id: channelId });
    await showing(program.screen, { id: shown, name: 'deck', messages: [{}, {}, { content: 'third' }] });
  });

  test.for(CLIENTS)('%s shows a search with highlighted words', async (client) => {
    const { member, channelId, program } = await looking(client);
    using _ = program;
    const word = `w${randomUUID().slice(0, 8)}`;
    for (const content of [`a **${word}** here`, `no match`, `${word} again`])
      await say(member, channelId, 'deck', content);
    await say(member, channelId, word, 'in the name of the topic');
    const mark = `<span class="highlight">${word}</span>`;
    const found = await program.search(word);
    expect(found).toMatchObject({
      totalCount: 3,
      edges: [
        { highlightedContent: `<p>a <strong>${mark}</strong> here</p>`, highlightedTopicName: 'deck' },
        { highlightedContent: `<p>${mark} again</p>`, node: { content: `${word} again` } },
        { highlightedContent: '<p>in the name of the topic</p>', highlightedTopicName: mark },
      ],
      facets: {
        senders: [{ count: 3, sender: { fullName: member.name } }],
        channels: [{ count: 3, channel: { id: globalId('Channel', channelId) } }],
      },
    });
  });

  test.for(CLIENTS)('%s merges the fields of an object that two components have read', async (client) => {
    const { program } = await looking(client);
    using _ = program;
    const { got, kept } = await program.components();
    const shared = { organization: { id: expect.any(String) }, ownSettings: { id: expect.any(String) } };
    expect(got).toMatchObject([
      { ...shared, channel: { topics: { nodes: [{ name: 'deck' }] } } },
      { ...shared, channel: { messages: { nodes: [{ topic: { isResolved: false } }] } } },
    ]);
    expect(kept).toEqual(got);
  });

  test('no message is missing or duplicated on the screen after the service was killed repeatedly', {
    timeout: 300_000,
  }, async () => {
    const { owner, administrator, member } = people;
    const channelId = await channelOf(owner, randomUUID(), [owner, administrator, member]);
    await say(member, channelId, 'deck', 'first');
    using programs = new DisposableStack();
    const started: Program[] = [];
    for (const client of CLIENTS) started.push(programs.use(await startClient(client, owner, channelId)));
    const screens = started.map(
      (program) => async (): Promise<string[]> => (await program.screen()).messages.map(({ content }: Json) => content),
    );
    const requests = await Promise.all(started.map((program) => program.requests()));
    const done = new AbortController();
    const writers = [administrator, member].map((person) => write(person, channelId, done.signal));
    for (let kill = 0; kill < KILLS; kill++) {
      const before = await Promise.all(screens.map(async (screen) => (await screen()).length));
      // Waits until all clients have reconnected and received a new message.
      for (const [i, screen] of screens.entries()) {
        await vi.waitFor(async () => expect((await screen()).length).toBeGreaterThan(before[i] ?? 0), 30_000);
      }
      await sleep(LIFE_MS);
      await server.kill9();
      await server.restart();
    }
    done.abort();
    await Promise.all(writers);
    const truth = await contentsOf(member, channelId);
    expect(truth.length).toBeGreaterThan(KILLS);
    for (const [i, screen] of screens.entries()) {
      await vi.waitFor(async () => expect((await screen()).at(-1)).toBe(truth.at(-1)), 30_000);
      expect([CLIENTS[i], await screen()]).toEqual([CLIENTS[i], truth]);
    }
    expect(await Promise.all(started.map((program) => program.requests()))).toEqual(requests);
  });
});
