import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { NamedCounters } from '../faults/outcome.ts';
import type { Json } from '../helpers/http.ts';
import { PATHOLOGICAL } from '../helpers/pathological-markup.ts';
import { ByteSocket } from './frames.ts';
import { timed } from './http.ts';

/** Number of concurrent senders of each kind of request. */
const LANES = 4;

/** Address of the server to flood, and the credentials of the user who floods it. */
export interface FloodSource {
  readonly url: string;
  readonly host: string;
  readonly email: string;
  readonly authorization: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** Sends requests of all kinds concurrently until `until` is aborted. Counts the responses by kind of request and status. */
async function flood(source: FloodSource, until: AbortSignal, told: NamedCounters): Promise<void> {
  const address = { 'x-forwarded-for': '10.6.6.6' };
  const headers = { ...source.headers, ...address };
  const lane = async (name: string, act: (i: number) => Promise<string>) => {
    for (let i = 0; !until.aborted; i++) {
      told.add(`${name}: ${await act(i).catch(() => 'cut off')}`);
      await sleep(5);
    }
  };
  const ask = (method: string, path: string, body?: string, more: Record<string, string> = form) =>
    timed(source.url, { method, path: `${path}`, body, headers: { ...headers, ...(body !== undefined && more) } }).then(
      ({ reply }) => String(reply?.status),
    );
  const texts = Object.values(PATHOLOGICAL);
  const query = (text: string) =>
    ask('POST', '/graphql', JSON.stringify({ query: text }), { 'content-type': 'application/json' });
  const aliases = (field: (i: number) => string, count: number) =>
    Array.from({ length: count }, (_, i) => `a${i}: ${field(i)}`).join(' ');
  const wrong = (i: number) => `username=owner%40${source.email.split('@')[1]}&password=wrong${i}`;
  const sorts: Readonly<Record<string, (i: number) => Promise<string>>> = {
    drafts: () => ask('GET', '/api/v1/drafts'),
    registrations: () => ask('POST', '/api/v1/register', 'client_gravatar=true'),
    rendering: (i) =>
      ask(
        'POST',
        '/api/v1/messages/render',
        new URLSearchParams({ content: texts[i % texts.length] ?? '' }).toString(),
      ),
    searches: () =>
      ask(
        'GET',
        `/api/v1/messages?anchor=newest&num_before=5000&num_after=0&narrow=${encodeURIComponent('[["search","ми"]]')}`,
      ),
    'sign-ins': (i) => ask('POST', '/api/v1/fetch_api_key', wrong(i)),
    'sign-ins by aliases': () =>
      query(
        `mutation { ${aliases((i) => `fetchApiKey(input: { username: "owner@x.example", password: "w${i}" }) { __typename }`, 40)} }`,
      ),
    'aliases of reads': () => query(`{ ${aliases(() => 'drafts(first: 100) { edges { node { content } } }', 10)} }`),
    sockets: async () => {
      const socket = await ByteSocket.open(source.url, source.host, () => {});
      socket.say({ type: 'connection_init', payload: { authorization: source.authorization } });
      for (let i = 0; i < 100; i++)
        socket.say({
          id: String(i),
          type: 'subscribe',
          payload: { query: '{ drafts(first: 100) { edges { node { content } } } }' },
        });
      socket.stopReading();
      const gone = await Promise.race([
        socket.ended,
        sleep(1_000, undefined, { signal: until }).catch(() => undefined),
      ]);
      socket.cut();
      return gone === undefined ? 'open' : String(gone.code);
    },
    'sockets of strangers': async () => {
      const all = await Promise.all(
        Array.from({ length: 25 }, () => ByteSocket.open(source.url, source.host, () => {}).catch(() => undefined)),
      );
      await sleep(1_000, undefined, { signal: until }).catch(() => undefined);
      for (const socket of all) socket?.cut();
      return `${all.filter((socket) => socket !== undefined).length} open`;
    },
    'long polls': async () => {
      const { reply } = await timed(source.url, {
        method: 'POST',
        path: '/api/v1/register',
        body: 'fetch_event_types=[]',
        headers: { ...headers, ...form },
      });
      const { queue_id: queue, code }: Json = JSON.parse(reply?.text ?? '{}');
      return queue === undefined ? String(code) : ask('GET', `/api/v1/events?queue_id=${queue}&last_event_id=-1`);
    },
  };
  await Promise.all(
    Object.entries(sorts).flatMap(([name, act]) => Array.from({ length: LANES }, () => lane(name, act))),
  );
}

const over = new AbortController();
const told = new NamedCounters();
parentPort?.once('message', () => over.abort());
await flood(workerData as FloodSource, over.signal, told);
parentPort?.postMessage(told.toString());
