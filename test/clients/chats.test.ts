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
import { type Organization, organization, startServer } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';
import type { Chat } from './answering.ts';

// Tests the published GraphQL clients that have a cache, unmodified. Each runs in a program that only configures it. The test
// takes the displayed messages from the client's cache.

const CLIENTS = ['apollo', 'urql', 'relay'] as const;
const KILLS = 10;
/** Time between a restart of the server and the next kill, in milliseconds. */
const LIFE_MS = 600;
const PASSWORD = 'a password of the tests';

type Program = { readonly [N in keyof Chat]: (...args: string[]) => Promise<Json> } & Disposable;

/** Starts a client's program, signed in as the owner, which displays the channel. */
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
    send: (content = '') => ask('send', content),
    components: () => ask('components'),
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

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
});

describe('clients with a cache', () => {
  let server: ServerProcess;
  let people: Organization;
  beforeAll(async () => {
    const compiler = join(import.meta.dirname, '../../node_modules/.bin/relay-compiler');
    execFileSync(compiler, ['relay.config.json'], { cwd: join(import.meta.dirname, 'relay') });
    server = await startServer();
    people = await organization({}, { on: server, subdomain: '', password: PASSWORD });
  }, 60_000);
  afterAll(() => server?.[Symbol.asyncDispose]());

  /** Creates a channel with a message, and starts a client that displays it. */
  async function looking(client: string) {
    const { owner, member } = people;
    const channelId = await channelOf(owner, randomUUID(), [owner, member]);
    const id = await say(member, channelId, 'deck', 'first');
    return { owner, member, channelId, id, program: await startClient(client, owner, channelId) };
  }

  test.for(CLIENTS)('%s applies events to its cache without code for each event type', async (client) => {
    const { owner, member, channelId, id, program } = await looking(client);
    using _ = program;
    const shows = (lines: readonly Json[]) =>
      vi.waitFor(async () => expect(await program.screen()).toMatchObject(lines), 10_000);
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
    using programs = new DisposableStack();
    const screens: (() => Promise<string[]>)[] = [];
    for (const client of CLIENTS) {
      const program = programs.use(await startClient(client, owner, channelId));
      screens.push(async () => (await program.screen()).map(({ content }: Json) => content));
    }
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
  });
});
