import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signedIn } from '../../src/access/context.ts';
import { signIn } from '../../src/access/sign-in.ts';
import { readOnSnapshot } from '../../src/access/snapshot.ts';
import { permitsOf } from '../../src/platform/db/permits.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { documentOf, GRAPHQL_CALLS, type GraphQLCall } from '../helpers/graphql-calls.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { operationBody, type Parameters, type Person } from '../helpers/person.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say, toTopic } from '../helpers/talk.ts';

// Tests that one request returns a queue and the state at the start position of the queue.

const schema = buildSchema();
/**
 * Timeout of a request in milliseconds. It is many times the usual duration, and shorter than the timeout of an idle
 * transaction.
 */
const PATIENCE_MS = 8_000;

/** Returns a mutation document that registers a queue and selects the state. */
const registering = (selection: string, definitions = '') => `mutation ${definitions} {
  registerEventQueue(input: {}) {
    __typename
    ... on RegisterEventQueuePayload { queueId position query { ${selection} } }
    ... on ServiceError { code message }
  }
}`;

let service: InProcess;
let scene: Scene;
beforeAll(async () => {
  // A service that was started in this way fails if a request reads outside its transaction.
  service = await startOnDatabaseOfRun();
  scene = await makeScene({ on: service });
});
afterAll(() => service[Symbol.asyncDispose]());

const here = () => createOrganization({}, { on: service });
const queuesOf = ({ id }: { readonly id: number }) =>
  service.app.db.eventQueue.count({ where: { userId: id, endedAt: null } });

/** Reads all events of a queue from its start, page by page. */
async function heardIn(person: Person, queueId: string): Promise<Json[]> {
  const heard: Json[] = [];
  for (let after = -1, hasMore = true; hasMore; ) {
    const query = `query ($queueId: String!, $after: LongId) { events(queueId: $queueId, after: $after) {
      endPosition hasMore events { __typename position ... on MessageSentEvent { message { databaseId } } } } }`;
    const { events } = await person.query(query, { queueId, after });
    heard.push(...events.events);
    after = events.endPosition;
    hasMore = events.hasMore;
  }
  return heard;
}

describe('a registration that selects the state', () => {
  test('returns the state, and its queue starts there', async () => {
    const { owner, member } = await here();
    const channelId = await channelOf(owner, 'deck', [owner, member]);
    await say(member, channelId, 'words', 'before');
    const { registerEventQueue: first } = await owner.query(
      registering('viewer { databaseId } messages(last: 10) { nodes { content } }'),
    );
    expect(first).toMatchObject({
      query: { viewer: { databaseId: owner.id }, messages: { nodes: [{ content: 'before' }] } },
    });
    expect(first.position).toBe((await owner.register({ fetch_event_types: [] })).last_event_id);
    const sent = await member.mutate('sendMessage', { to: toTopic(channelId, 'words'), content: 'after' }, 'position');
    expect(await heardIn(owner, first.queueId)).toMatchObject([{ position: sent.position }]);
  });

  test('returns the same over a socket', async () => {
    const { owner } = await here();
    const { data } = await owner.graphqlOverSocket(registering('viewer { databaseId }'));
    expect(data.registerEventQueue).toMatchObject({ query: { viewer: { databaseId: owner.id } } });
    expect(await heardIn(owner, data.registerEventQueue.queueId)).toEqual([]);
  });

  test.for([
    ['an alias', 'mutation { queue: registerEventQueue(input: {}) { ...Q } }'],
    ['fragments', 'mutation { ...M } fragment M on Mutation { registerEventQueue(input: {}) { ...Q } }'],
    ['two halves', 'mutation { registerEventQueue(input: {}) { __typename } registerEventQueue(input: {}) { ...Q } }'],
  ])('can be written with %s', async ([, document]) => {
    const { owner } = await here();
    const fragment =
      'fragment Q on RegisterEventQueuePayload { place: position world: query { viewer { databaseId } } }';
    const data = await owner.query(`${document} ${fragment}`);
    const [payload] = Object.values(data) as Json[];
    expect(payload).toMatchObject({ place: expect.any(Number), world: { viewer: { databaseId: owner.id } } });
    expect(await queuesOf(owner)).toBe(1);
  });

  test('is the only field of its operation, or the operation has no effect', async () => {
    const { owner } = await here();
    const beside = (directive: string) => `mutation ($with: Boolean!) {
      addAlertWords(input: { words: ["argo"] }) { __typename }
      registerEventQueue(input: {}) {
        ... on RegisterEventQueuePayload { position query ${directive} { viewer { databaseId } } } } }`;
    const refused = await owner.graphql(beside('@include(if: $with)'), { with: true });
    expect(refused.errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
    expect([await queuesOf(owner), (await owner.query('{ alertWords }')).alertWords]).toEqual([0, []]);
    const { registerEventQueue } = await owner.query(beside('@include(if: $with)'), { with: false });
    expect(registerEventQueue).toEqual({ position: expect.any(Number) });
    expect([await queuesOf(owner), (await owner.query('{ alertWords }')).alertWords]).toEqual([1, ['argo']]);
  });

  test('creates no queue if it is refused or cannot be answered', async () => {
    const { owner, anonymous } = await here();
    const { data } = await owner.graphql(
      `mutation { registerEventQueue(input: { idleTimeoutSeconds: 0 }) { __typename
        ... on RegisterEventQueuePayload { query { viewer { id } } } ... on ServiceError { code } } }`,
    );
    expect(data.registerEventQueue).toEqual({ __typename: 'ValidationError', code: 'BAD_REQUEST' });
    const broken = await owner.graphql(
      registering('messages(last: 1, after: "nonsense") { edges { cursor } } viewer { id }'),
    );
    expect(broken).toMatchObject({ data: { registerEventQueue: { query: { messages: null, viewer: {} } } } });
    expect(await queuesOf(owner)).toBe(1);
    const { queue_id } = await owner.register({ fetch_event_types: [] });
    const paged = await owner.graphql(registering(`viewer { id } events(queueId: "${queue_id}") { hasMore }`));
    expect(paged).toMatchObject({
      data: { registerEventQueue: { query: { events: null, viewer: { id: expect.any(String) } } } },
      errors: [{ path: ['registerEventQueue', 'query', 'events'], extensions: { code: 'BAD_REQUEST' } }],
    });
    expect(paged.errors?.[0]?.message).toMatch(/not part of the snapshot/);
    // If fields of the state are refused, the queue is registered nevertheless.
    expect(await queuesOf(owner)).toBe(3);
    const strange = await anonymous.graphql(registering('serverSettings { __typename }'));
    expect(strange.errors).toMatchObject([{ extensions: { code: 'UNAUTHORIZED' } }]);
  });

  test('runs each time, whatever its idempotency key', async () => {
    const { owner } = await here();
    const operation = { query: registering('viewer { id }'), variables: {}, extensions: { idempotencyKey: 'once' } };
    const { headers, body } = operationBody(operation);
    const register = async () => {
      const request = { method: 'POST', path: '/graphql', headers: { ...owner.headers, ...headers }, body } as const;
      return JSON.parse((await send(owner.url, request)).text).data.registerEventQueue.queueId;
    };
    expect(await register()).not.toBe(await register());
    expect(await queuesOf(owner)).toBe(2);
  });

  /**
   * Runs `act` while the request for the state that `asking` sends waits. The request waits because other requests occupy the
   * service.
   *
   * @returns The result of `asking`.
   */
  async function whileWaiting<T>(
    { organization }: Organization,
    asking: () => Promise<T>,
    act: () => Promise<unknown>,
  ): Promise<T> {
    const { database, config } = service.app;
    const held = Promise.withResolvers<void>();
    const places = permitsOf(config.databasePoolSize).each;
    const holding = Array.from({ length: places }, () => database.snapshots.run(organization.id, () => held.promise));
    const { waiting } = database.snapshots;
    let isAnswered = false;
    const answering = asking().finally(() => {
      isAnswered = true;
    });
    // Waits until the request is authenticated and queued.
    await expect.poll(() => database.snapshots.waiting).toBe(waiting + 1);
    await act();
    expect(isAnswered).toBe(false);
    held.resolve();
    await Promise.all(holding);
    return answering;
  }

  test('shows the state that the viewer can access when it is read, not when they were authenticated', async () => {
    const org = await here();
    const { owner, member } = org;
    const hidden = await channelOf(owner, 'hidden', [owner], { invite_only: true });
    const document = registering(
      'viewer { role } channel(by: { id: $channelId }) { name } users(first: 1) { totalCount }',
      '($channelId: ID)',
    );
    const asking = () => member.query(document, { channelId: hidden });
    const { registerEventQueue } = await whileWaiting(org, asking, async () => {
      await owner.ok('PATCH', `/users/${member.id}`, { role: 200 });
      const place = { subscriptions: [{ name: 'hidden' }], principals: [member.id] };
      await owner.ok('POST', '/users/me/subscriptions', place);
    });
    expect(registerEventQueue.query).toMatchObject({ viewer: { role: 'ADMINISTRATOR' }, channel: { name: 'hidden' } });
  });

  test('is refused if the user was deactivated meanwhile', async () => {
    const org = await here();
    const { owner, member } = org;
    const asking = () => member.graphql(registering('viewer { id }'));
    const { errors } = await whileWaiting(org, asking, () => owner.ok('DELETE', `/users/${member.id}`));
    expect(errors).toMatchObject([{ extensions: { code: 'USER_DEACTIVATED' } }]);
    expect(await queuesOf(member)).toBe(0);
  });
});

describe('every field of the root, within a registration', () => {
  /** Returns a mutation that registers a queue. Below `query`, it selects the fields that the call selects. */
  function within(call: GraphQLCall): string {
    const [, definitions = '', selection = ''] =
      /^query (\([^)]*\))? \{ (.*) \}$/s.exec(documentOf(schema, call)) ?? [];
    return registering(selection, definitions);
  }

  /** Names of fields that are not compared, because they change over time or describe the request itself. */
  const WITHOUT = ['remaining', 'resetAt', 'cost', 'serverTimestamp'];
  const lasting = (value: unknown) =>
    JSON.parse(JSON.stringify(value, (key, inner) => (WITHOUT.includes(key) ? null : inner)) ?? 'null');

  const queries = Object.entries(GRAPHQL_CALLS).filter(([name]) => name.startsWith('Query.'));
  test('is tested', () => {
    const fields = Object.keys(schema.getQueryType()?.getFields() ?? {});
    expect(queries.map(([name]) => name.slice('Query.'.length)).sort()).toEqual(fields.sort());
  });

  test.for(queries)('%s returns the same as at the root, or is refused immediately', async ([name, make]) => {
    for (const call of make(scene.names)) {
      const said = JSON.stringify(call);
      const ask = (document: string, variables: Parameters) => scene.owner.graphql(document, variables);
      const [atRoot, inside] = [
        await ask(documentOf(schema, call), call.args),
        await timed(ask(within(call), call.args), said),
      ];
      if (name === 'Query.events') {
        expect(inside.errors, said).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
        continue;
      }
      expect(
        inside.errors?.map(({ message, extensions }: Json) => [message, extensions.code]),
        said,
      ).toEqual(atRoot.errors?.map(({ message, extensions }: Json) => [message, extensions.code]));
      if (atRoot.errors === undefined)
        expect(lasting(inside.data.registerEventQueue.query), said).toEqual(lasting(atRoot.data));
    }
  });

  async function timed<T>(work: Promise<T>, said: string): Promise<T> {
    const late = sleep(PATIENCE_MS, undefined, { ref: false }).then(() => {
      throw new Error(`No answer in ${PATIENCE_MS / 1000} s: ${said}`);
    });
    return Promise.race([work, late]);
  }
});

test('60 registrations while messages are sent: the state ends at the position, and the queue starts there', {
  timeout: 120_000,
}, async () => {
  const SENDS = 90;
  const REGISTRATIONS = 30;
  const tryIn = async () => {
    const { owner, member, organization } = await here();
    const channelId = await channelOf(owner, 'busy', [owner, member]);
    let left = SENDS;
    const sending = async () => {
      while (left-- > 0) await say(member, channelId, 'load', `message ${left}`);
    };
    const registered: Json[] = [];
    let toRegister = REGISTRATIONS;
    const document = registering('messages(last: 100) { nodes { databaseId } }');
    const asking = async () => {
      while (toRegister-- > 0) {
        registered.push((await owner.query(document)).registerEventQueue);
        await sleep(5);
      }
    };
    await Promise.all([sending(), sending(), sending(), asking(), asking()]);
    const sent = await service.app.db.message.findMany({
      where: { organizationId: organization.id, topic: 'load' },
      select: { id: true, sentEventId: true },
    });
    expect([sent.length, registered.length]).toEqual([SENDS, REGISTRATIONS]);
    const idsWhere = (is: (position: number) => boolean) =>
      sent
        .filter(({ sentEventId }) => is(Number(sentEventId)))
        .map(({ id }) => Number(id))
        .toSorted((a, b) => a - b);
    let between = 0;
    for (const { queueId, position, query } of registered) {
      const inState = query.messages.nodes
        .map(({ databaseId }: Json) => databaseId)
        .toSorted((a: number, b: number) => a - b);
      expect(inState).toEqual(idsWhere((at) => at <= position));
      const heard = (await heardIn(owner, queueId)).filter(({ __typename }) => __typename === 'MessageSentEvent');
      const ids = heard.map(({ message }) => message.databaseId);
      expect(ids.toSorted((a, b) => a - b)).toEqual(idsWhere((at) => at > position));
      if (inState.length > 0 && inState.length < SENDS) between++;
    }
    return between;
  };
  const between = await Promise.all([tryIn(), tryIn()]);
  // Each client has registered often while messages were being sent.
  for (const count of between) expect(count).toBeGreaterThan(REGISTRATIONS / 3);
});

const { DATABASE_URL } = process.env;
describe.runIf(DATABASE_URL !== undefined && DATABASE_URL !== '')('on PostgreSQL', () => {
  test('reading a snapshot neither waits for changes nor blocks them', async () => {
    const { owner, member, organization } = await here();
    const channelId = await channelOf(owner, 'deck', [owner, member]);
    const { host, authorization } = owner;
    const ctx = signedIn(await signIn(service.app, { host, authorization, userAgent: undefined }));
    const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reading = readOnSnapshot(ctx, async ({ db }) => {
      begun.resolve();
      await over.promise;
      return db.message.count({ where: { organizationId: organization.id } });
    });
    await begun.promise;
    await say(member, channelId, 'words');
    over.resolve();
    expect(await reading).toBe(0);

    const other = new pg.Client({ connectionString: service.app.config.databaseUrl });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query('SELECT 1 FROM event_counter WHERE realm_id = $1 FOR UPDATE', [organization.id]);
      await other.query('SELECT 1 FROM realm WHERE id = $1 FOR UPDATE', [organization.id]);
      const { registerEventQueue } = await owner.query(registering('messages(last: 5) { nodes { id } }'));
      expect(registerEventQueue.query.messages.nodes).toHaveLength(1);
    } finally {
      await other.end();
    }
  });

  test('a registration that selects the state fails as a whole if a part cannot be read in time', async () => {
    const { owner } = await here();
    const other = new pg.Client({ connectionString: service.app.config.databaseUrl });
    await other.connect();
    try {
      await other.query('BEGIN');
      await other.query('LOCK TABLE draft IN ACCESS EXCLUSIVE MODE');
      const { data, errors } = await owner.graphql(registering('viewer { id } drafts { nodes { id } } alertWords'));
      expect([data ?? null, errors]).toMatchObject([null, [{ extensions: { code: 'REQUEST_TIMEOUT' } }]]);
      expect(await queuesOf(owner)).toBe(0);
    } finally {
      await other.end();
    }
  });
});
