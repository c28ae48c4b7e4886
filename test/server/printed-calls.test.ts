import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { registeredEventTypes } from '../../src/api/graphql/schema/event-types.ts';
import type { Endpoint } from '../../src/api/rest/endpoint.ts';
import { replyCheckOf } from '../../src/api/rest/reply-check.ts';
import { definedEvents } from '../../src/events/define.ts';
import { documentedEvents } from '../../src/events/wire.ts';
import '../../src/server/registries/schema.ts';
import { postMessage } from '../../src/messages/rest.ts';
import { demoCallOf, nameOf, printedCall } from '../../src/server/pages/calls/all.ts';
import exampleEvents from '../../src/server/pages/example-events.json' with { type: 'json' };
import exampleReplies from '../../src/server/pages/example-replies.json' with { type: 'json' };
import { graphiqlTabs } from '../../src/server/pages/graphiql-tabs.ts';
import { routes } from '../../src/server/registries/features.ts';
import type { Json } from '../helpers/http.ts';
import { Person } from '../helpers/person.ts';
import { PrintedCalls, replyOf } from '../helpers/printed-calls.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { ROLES, startServer } from '../helpers/server.ts';

const README = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');
const TOUR = README.split(/^## /m).find((chapter) => chapter.startsWith('Five-minute tour')) ?? '';
const COMMANDS = [...TOUR.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block).join('');

/**
 * For each shell, flags that start it interactively without its start files. An interactive shell can lack support for
 * comments, and expands `!`.
 */
const SHELLS = { bash: ['--norc', '--noprofile', '-i'], zsh: ['-f', '-i'] } as const;

let demo: ServerProcess;
let calls: PrintedCalls;
/** Calls that each page prints, by their description. */
let printed: Readonly<Record<'/docs' | '/developers', ReadonlyMap<string, string>>>;

beforeAll(async () => {
  demo = await startServer({ env: { DEMO: 'on', DATABASE_URL: undefined } });
  calls = new PrintedCalls(demo);
  printed = { '/docs': await callsOn('/docs'), '/developers': await callsOn('/developers') };
});
afterAll(async () => {
  calls?.[Symbol.dispose]();
  await demo?.[Symbol.asyncDispose]();
});

/** Returns the calls that a page shows to a browser that has opened the start address. Keyed by description. */
async function callsOn(path: string): Promise<Map<string, string>> {
  const { start_url } = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8'));
  const body = new URLSearchParams({ token: new URL(start_url).hash.slice('#start='.length) });
  const letIn = await fetch(`${demo.url}/start`, { method: 'POST', body });
  const cookie = letIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const page = parse(await (await fetch(demo.url + path, { headers: { cookie } })).text());
  return new Map(snippetsIn(page));
}

/** Returns the owner of the demo's organization. */
function demoOwner(): Person {
  const { users } = JSON.parse(readFileSync(join(demo.dataDir, 'demo.json'), 'utf8'));
  const { user_id: id, email, api_key: apiKey } = users.find(({ role }: { role: string }) => role === 'owner');
  const account = { id, name: 'Iris Haddad', email, apiKey, role: ROLES.owner };
  return new Person({ url: demo.url, host: new URL(demo.url).host }, account);
}

type Node = DefaultTreeAdapterTypes.Node;

function snippetsIn(node: Node): [string, string][] {
  if (!('childNodes' in node)) return [];
  const attrs = 'attrs' in node ? node.attrs : [];
  const said = (name: string) => attrs.find((attr) => attr.name === name)?.value ?? '';
  if (said('class') === 'snippet') return [[said('aria-label'), textOf(node.childNodes[0])]];
  return node.childNodes.flatMap(snippetsIn);
}

const textOf = (node: Node | undefined): string => {
  if (node === undefined) return '';
  if ('value' in node) return node.value;
  return 'childNodes' in node ? node.childNodes.map(textOf).join('') : '';
};

/** Returns the names of the tested shells that are installed on this machine. */
const shells = () => Object.keys(SHELLS).filter(isInstalled);

const isInstalled = (shell: string) => existsSync(`/usr/bin/${shell}`) || existsSync(`/bin/${shell}`);

// The calls run in random order, because none depends on another.
describe.shuffle('a call of the REST reference', () => {
  test.for(routes.map((endpoint) => [nameOf(endpoint), endpoint] as const))('%s', ([name, endpoint]) => {
    const code = `${printed['/docs'].get('Set the variables of the calls')}\n${printed['/docs'].get(`Example call of ${name}`)}`;
    for (const shell of shells()) {
      const reply = replyOf(calls.run(code, [shell, '-c']));
      const { refused } = demoCallOf(endpoint);
      expect(reply, name).toMatchObject(refused === undefined ? { result: 'success' } : { code: refused.code });
      expect(reply.ignored_parameters_unsupported, name).toBeUndefined();
      if (refused !== undefined) continue;
      expect(typesIn(endpoint, replies[name]), 'npm run replies').toEqual(typesIn(endpoint, reply));
    }
  });
});

/** Returns the names and types of the fields that every response of an endpoint has, as they are in `value`. */
const typesIn = ({ reply }: Endpoint, value: object | undefined): string[] =>
  Object.entries(value ?? {})
    .filter(([name]) => reply[name]?.safeParse(undefined).success !== true)
    .map(([name, inner]) => `${name}: ${inner === null ? 'null' : typeof inner}`);

const replies: Readonly<Record<string, object>> = exampleReplies;

describe('an example reply of the REST reference', () => {
  test('exists for each endpoint with a reply, and for no other', () => {
    const answering = routes.filter(({ redirects }) => redirects !== 'always').map(nameOf);
    expect(Object.keys(replies).toSorted()).toEqual(answering.toSorted());
  });

  test('matches the declaration of its endpoint', () => {
    for (const endpoint of routes.filter(({ redirects }) => redirects !== 'always')) {
      const { result, msg, ...fields } = replies[nameOf(endpoint)] as Json;
      expect([result, msg], nameOf(endpoint)).toEqual(['success', '']);
      expect(() => replyCheckOf(endpoint)(fields), nameOf(endpoint)).not.toThrow();
    }
  });
});

describe('a call of the developers page', () => {
  test('runs as printed, in every shell', () => {
    for (const shell of shells()) {
      const lines = (about: string) =>
        calls
          .run(printed['/developers'].get(about) ?? '', [shell, '-c'])
          .stdout.replaceAll('}{', '}\n{')
          .trim()
          .split('\n');
      const [viewer, messages, sent] = lines('Read and send messages over GraphQL').map((line) => JSON.parse(line));
      expect(viewer).toMatchObject({ data: { viewer: { fullName: 'Iris Haddad' } } });
      expect(messages.data.messages.nodes).toHaveLength(3);
      expect(sent.data.sendMessage.sentMessage.databaseId).toEqual(expect.any(Number));
      const [me, page, id] = lines('Read and send messages over REST').map((line) => JSON.parse(line));
      expect([me.full_name, page.messages.length, id.result]).toEqual(['Iris Haddad', 3, 'success']);
      const [said, heard] = lines('Register a queue, send a message and read the event').map((line) =>
        JSON.parse(line),
      );
      expect(heard.events[0].message.id).toBe(said.id);
      const [once, twice] = lines('Send a message twice with one key').map((line) => JSON.parse(line));
      expect([once.result, twice.id]).toEqual(['success', once.id]);
    }
  });

  test('reads the newest messages, like the tour and GraphiQL', async () => {
    const person = demoOwner();
    const topic = 'the dock, last';
    const texts = ['dock one', 'dock two', 'dock three', 'dock four', 'dock five'];
    for (const content of texts)
      await person.ok('POST', '/messages', { type: 'channel', to: 'general', topic, content });
    const contents = async (query: string, variables = {}) => {
      const { messages } = await person.query(query, variables);
      return messages.nodes.map(({ content }: { content: string }) => content);
    };
    const [call = ''] =
      (printed['/developers'].get('Read and send messages over GraphQL') ?? '').match(/\{ messages.*?\} \}(?=")/) ?? [];
    expect(await contents(call)).toEqual(texts.slice(-3));
    const [, tour = ''] = /-d '(\{"query": "\{ messages.*)'$/m.exec(TOUR) ?? [];
    expect(await contents(JSON.parse(tour).query)).toEqual(texts.slice(-3));
    const tab = graphiqlTabs('', undefined).find(({ query }) => query.includes('query Messages'));
    expect(await contents(tab?.query ?? '', JSON.parse(tab?.variables ?? '{}'))).toEqual(texts);
  });

  test('receives server-sent events until its time limit', () => {
    const code = printed['/developers'].get('Read server-sent events for five seconds') ?? '';
    expect(code).toContain('--max-time 5 ');
    // Waits 3 instead of 5 seconds, because test servers send a heartbeat after two seconds.
    const { stdout } = calls.run(code.replace('--max-time 5', '--max-time 3'));
    expect(stdout).toMatch(/^id: \d+$/m);
    expect(jsonIn(stdout).at(-1)).toMatchObject({ data: { events: { type: 'HEARTBEAT' } } });
  });

  test('subscribes over WebSocket, in JavaScript', async () => {
    const code = printed['/developers'].get('Subscribe over WebSocket, in JavaScript') ?? '';
    const child = spawn(process.execPath, ['--input-type=module', '-e', code]);
    const output: string[] = [];
    child.stdout.on('data', (bytes) => output.push(String(bytes)));
    const send = printedCall(postMessage);
    await vi.waitFor(
      () => {
        calls.run(send);
        expect(output.join('')).toContain('{"position":');
        expect(output.join('')).toContain('"message":{"content":"Hello **everyone** :wave:"}');
      },
      { timeout: 20_000, interval: 500 },
    );
    child.kill();
  });
});

/** A temporary folder with a link to the data directory of a service, in which the commands of the tour run. */
class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'tour-'));

  constructor(dataDir: string) {
    symlinkSync(dataDir, join(this.path, 'data'));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

/**
 * Returns every JSON object in an output that is a response or the data of a server-sent event. curl writes responses without
 * line breaks between them.
 */
const jsonIn = (output: string): Json[] =>
  [...output.matchAll(/(?:^|data: |\})(?=(\{.*))/gm)].flatMap(([, rest = '']) => firstJson(rest));

/**
 * Returns the first JSON object of a text in an array, or an empty array if there is none. Other text can follow the object.
 */
function firstJson(text: string): Json[] {
  for (let end = text.indexOf('}'); end !== -1; end = text.indexOf('}', end + 1)) {
    try {
      return [JSON.parse(text.slice(0, end + 1))];
    } catch {
      // Continues: the object ends at a later brace.
    }
  }
  return [];
}

describe.for(Object.entries(SHELLS))('the tour of the README, pasted into %s', ([shell, flags]) => {
  const isHere = isInstalled(shell);
  const note = isHere ? '' : `: skipped, for there is no ${shell} here`;

  test.runIf(isHere)(`does what it describes${note}`, async () => {
    using folder = new Folder(demo.dataDir);
    const child = spawn(shell, flags, { cwd: folder.path, detached: true, stdio: 'pipe' });
    const [output, errors]: [string[], string[]] = [[], []];
    child.stdout.on('data', (bytes) => output.push(String(bytes)));
    child.stderr.on('data', (bytes) => errors.push(String(bytes)));
    const ended = once(child, 'close');
    child.stdin.write(COMMANDS.replaceAll('http://127.0.0.1:4000', demo.url).replaceAll('/tmp/', `${folder.path}/`));
    // The last command opens an event stream, which the user would stop.
    const said = () => output.join('');
    await vi.waitFor(() => expect(said()).toContain('data: {'), { timeout: 30_000, interval: 50 });
    process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
    expect(errors.join('')).not.toMatch(
      /not found|parse error|syntax error|no matches|unmatched|bad pattern|event not/i,
    );
    const replies = jsonIn(said());
    expect(replies.filter(({ result, errors }) => result === 'error' || errors !== undefined)).toEqual([]);
    const of = (...keys: readonly string[]) => replies.filter((reply) => keys.every((key) => key in reply));
    expect(of('full_name')[0]).toMatchObject({ full_name: 'Iris Haddad' });
    expect(of('data').map(({ data }) => Object.keys(data)[0])).toEqual(
      expect.arrayContaining(['viewer', 'userGroups', 'messages', 'sendMessage', 'events']),
    );
    expect(of('messages')[0]?.messages.at(-1)).toMatchObject({ subject: 'tour' });
    expect(of('queue_id', 'last_event_id')).toHaveLength(1);
    expect(of('events')[0]?.events[0]).toMatchObject({ type: 'message', message: { subject: 'tour' } });
    expect(of('data').at(-1)?.data.events.message).toMatchObject({ content: 'hello again' });
  });
});

describe('the reference of events', () => {
  const nameOf = ({ type, op }: { readonly type: string; readonly op: string | undefined }) =>
    op === undefined ? type : `${type}/${op}`;
  const HEARTBEAT = { type: 'heartbeat', op: undefined };

  test('describes every defined kind of event, and every type in GraphQL', () => {
    const told = documentedEvents().map(nameOf);
    // Excludes event types that tests in the same process have defined.
    const defined = definedEvents().filter(({ type }) => type !== 'internal' && !type.startsWith('test_'));
    expect(told.toSorted()).toEqual([...defined, HEARTBEAT].map(nameOf).toSorted());
    expect(told).toEqual(expect.arrayContaining(registeredEventTypes().map(nameOf)));
  });

  test('contains an example of every kind, which matches its description', () => {
    const examples: Readonly<Record<string, unknown>> = exampleEvents;
    expect(Object.keys(examples).toSorted()).toEqual(documentedEvents().map(nameOf).toSorted());
    for (const event of documentedEvents()) {
      expect(event.wire.safeParse(examples[nameOf(event)]), nameOf(event)).toMatchObject({ success: true });
    }
  });
});
