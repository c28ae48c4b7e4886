import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { type Json, open } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { RawSocket } from '../helpers/raw-socket.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests at which event a subscription starts, and which positions clients receive. Both must not depend on the selected fields.

const TITLES = '... on SavedSnippetAddedEvent { savedSnippet { title } }';
const EVENTS = `subscription ($queueId: String!, $after: LongId) {
  renamed: events(queueId: $queueId, after: $after) { __typename ${TITLES} } }`;
const EVENT_TYPES = { fetch_event_types: [], event_types: ['saved_snippets'] };

/** Creates a saved snippet with this title. All queues of the user receive the event about it. */
const say = (person: Person, title: string) => person.ok('POST', '/saved_snippets', { title, content: 'c' });

/** Registers a queue and creates events with these titles. @returns The id of the queue, and the ids of the events in order. */
async function queueWith(person: Person, ...titles: string[]) {
  const { queue_id: queueId } = await person.register(EVENT_TYPES);
  for (const title of titles) await say(person, title);
  const ids: number[] = (await person.poll(queueId, -1, { dontBlock: true })).map(({ id }) => id);
  return { queueId, ids };
}

const titleOf = (result: Json) => result.data.renamed.savedSnippet?.title;

/** Subscribes over a socket. @returns The first result that is not a heartbeat, or the extensions of the error. */
async function firstOverSocket(socket: RawSocket, variables: object): Promise<Json> {
  socket.subscribe('1', EVENTS, variables);
  for (;;) {
    const { type, payload } = await socket.next();
    if (type === 'error') return payload[0].extensions;
    if (type === 'next' && titleOf(payload) !== undefined) return titleOf(payload);
  }
}

/** Subscribes over SSE. Yields the results that the event stream contains. */
async function* resultsOf(person: Person, variables: object, headers: Readonly<Record<string, string>> = {}) {
  const response = await open(person.url, {
    method: 'POST',
    path: '/graphql',
    headers: { ...person.headers, accept: 'text/event-stream', 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ query: EVENTS, variables }),
  });
  try {
    for await (const line of createInterface({ input: response })) {
      if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as Json;
    }
  } finally {
    response.destroy();
  }
}

describe('every event contains its position beside the data', () => {
  test.concurrent('over a WebSocket', async () => {
    const { member } = await createOrganization();
    const { queueId, ids } = await queueWith(member, 'a', 'b');
    await using socket = await RawSocket.connected(member);
    socket.subscribe('1', EVENTS, { queueId });
    const declared = [await socket.next('next'), await socket.next('next')].map(({ payload }) => payload);
    expect(declared).toEqual([
      ...['a', 'b'].map((title, i) => ({
        data: { renamed: { __typename: 'SavedSnippetAddedEvent', savedSnippet: { title } } },
        extensions: { position: ids[i] },
      })),
    ]);
    const { payload: beat } = await socket.next('next');
    expect(beat.data.renamed.__typename).toBe('HeartbeatEvent');
    expect(beat.extensions.position).toBeGreaterThanOrEqual(ids[1] ?? Number.NaN);
  });

  test.concurrent('as server-sent events', async () => {
    const { member } = await createOrganization();
    const { queueId, ids } = await queueWith(member, 'a', 'b');
    const declared: Json[] = [];
    for await (const result of resultsOf(member, { queueId })) {
      declared.push([titleOf(result), result.extensions.position]);
      if (declared.length === 2) break;
    }
    expect(declared).toEqual([
      ['a', ids[0]],
      ['b', ids[1]],
    ]);
  });
});

describe('a subscription starts after the highest of the acknowledged, declared and requested positions', () => {
  const starts = [
    { what: 'nothing', first: 'a' },
    { what: 'the declared position', declared: 1, first: 'b' },
    { what: 'the requested position', after: 1, first: 'b' },
    { what: 'an earlier requested position, and a later declared one', after: 1, declared: 3, first: 'd' },
    { what: 'a declared position before the requested one', after: 3, declared: 1, first: 'd' },
    {
      what: 'the acknowledged position, with lower declared and requested ones',
      acknowledged: 3,
      after: 1,
      declared: 2,
      first: 'd',
    },
    { what: 'the acknowledged position, with the start declared', acknowledged: 2, declared: 0, first: 'c' },
    { what: 'a declared position, with the start requested', after: 0, declared: 2, first: 'c' },
  ];

  test.concurrent.for(starts)('$what', async ({ acknowledged = 0, after, declared, first }) => {
    const { member } = await createOrganization();
    for (const over of ['WebSocket', 'SSE']) {
      const { queueId, ids } = await queueWith(member, 'a', 'b', 'c', 'd');
      if (acknowledged > 0) await member.poll(queueId, ids[acknowledged - 1] ?? Number.NaN, { dontBlock: true });
      // If a client has received 0 events, its position is the start of the queue: -1.
      const positionOf = (count: number) => (count === 0 ? -1 : ids[count - 1]);
      const variables = { queueId, ...(after !== undefined && { after: positionOf(after) }) };
      if (over === 'WebSocket') {
        const positions = {
          'of a queue of yesterday': 7,
          ...(declared !== undefined && { [queueId]: positionOf(declared) }),
        };
        await using socket = await RawSocket.connected(member, { positions });
        expect(await firstOverSocket(socket, variables)).toBe(first);
        // Browsers send only ids of frames that they received. No frame has the id of the start, so that case is left out.
      } else if (declared !== 0) {
        const headers: Record<string, string> =
          declared === undefined ? {} : { 'last-event-id': String(positionOf(declared)) };
        const { value } = await resultsOf(member, variables, headers).next();
        expect(titleOf(value)).toBe(first);
      }
    }
  });

  test.concurrent('and a position beyond the log is refused, not treated as its end', async () => {
    const { member } = await createOrganization();
    const { queueId } = await queueWith(member, 'a');
    const future = 1_000_000_000;
    const refused = { code: 'BAD_EVENT_QUEUE_ID', reason: 'from_future' };
    await using socket = await RawSocket.connected(member, { positions: { [queueId]: future } });
    expect(await firstOverSocket(socket, { queueId })).toMatchObject(refused);
    await using other = await RawSocket.connected(member);
    expect(await firstOverSocket(other, { queueId })).toBe('a');
  });
});

describe('positions declared in connection_init', () => {
  const positions: readonly [string, unknown, string][] = [
    ['text', '7', '"positions" must be an object of event ids by queue id'],
    ['a list', [7], '"positions" must be an object of event ids by queue id'],
    ['true', true, '"positions" must be an object of event ids by queue id'],
    ['an object of text', { x: '7' }, '"positions" must be an object of event ids by queue id'],
    ['an object of nothing', { x: null }, '"positions" must be an object of event ids by queue id'],
    ['a fraction', { x: 1.5 }, '"positions" must be an object of event ids by queue id'],
    ['more than a number holds exactly', { x: 2 ** 53 }, '"positions" must be an object of event ids by queue id'],
    ['less than the start', { x: -2 }, '"positions" must be an object of event ids by queue id'],
    [
      'too many',
      Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`queue ${i}`, i])),
      '"positions" can have at most 1000 entries',
    ],
  ];

  test.concurrent.for(positions)('that are %s close the socket with 4400 and the reason', async ([, sent, reason]) => {
    const { member } = await createOrganization();
    await using socket = await RawSocket.open(member);
    socket.send({ type: 'connection_init', payload: { authorization: member.authorization, positions: sent } });
    expect(await socket.closed).toEqual({ code: 4400, reason });
  });

  test.concurrent('can be omitted, or be up to a thousand', async () => {
    const { member } = await createOrganization();
    const most = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`queue ${i}`, i]));
    for (const sent of [undefined, null, {}, most, JSON.parse('{"__proto__": 7}')]) {
      await using socket = await RawSocket.connected(member, { positions: sent });
      socket.subscribe('1', '{ __typename }');
      await socket.next('next');
    }
  });
});
