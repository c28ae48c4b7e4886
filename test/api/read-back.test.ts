import { GraphQLError } from 'graphql';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { presentError } from '../../src/api/graphql/schema/errors.ts';
import { acknowledged } from '../../src/api/graphql/schema/read-back.ts';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../helpers/database-proxy.ts';
import { documentOf, GRAPHQL_CALLS } from '../helpers/graphql-calls.ts';
import type { Json } from '../helpers/http.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';
import { startServer } from '../helpers/server.ts';

const { DATABASE_URL } = process.env;
const schema = buildSchema();
/** Maximum number of calls for each endpoint. Further calls differ only in a value and would test nothing new. */
const MOST_CALLS = 6;

const LOGIN = `mutation ($input: FetchApiKeyInput!) {
  fetchApiKey(input: $input) { __typename ... on FetchApiKeyPayload { apiKey } }
}`;

/** Response to a call. After the first commit of the call, the database became unavailable. */
interface CutCall {
  readonly status: number;
  readonly body: Json;
  /** Number of event ids that the call used, which is the number of events that it logged. */
  readonly logged: number;
}

// These tests are skipped on the embedded database, which is reached without a connection that could fail.
describe.skipIf(DATABASE_URL === undefined)(
  'a committed change is acknowledged even if the database becomes unavailable afterwards',
  () => {
    const stack = new AsyncDisposableStack();
    let proxy: DatabaseProxy;
    let database: pg.Client;
    let scenes: { readonly rest: Scene; readonly graphql: Scene };

    beforeAll(async () => {
      const { url } = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
      proxy = stack.use(await startDatabaseProxy(url));
      database = new pg.Client({ connectionString: url });
      await database.connect();
      stack.defer(() => database.end());
      // Background workers write only once a minute. So they do not write between two statements of the tested call.
      const env = { DATABASE_URL: proxy.url, SECRET_KEY: '0'.repeat(64), EVENT_QUEUE_WRITE_SECONDS: '60' };
      const server = stack.use(
        await startServer({ env: { ...env, EVENT_HEARTBEAT_SECONDS: '45', LOG_LEVEL: 'fatal' } }),
      );
      const on = { on: server };
      scenes = { rest: await makeScene(on), graphql: await makeScene(on) };
    });
    afterAll(() => stack.disposeAsync());

    const lastId = async ({ organization }: Scene): Promise<number> => {
      const { rows } = await database.query('SELECT last_id FROM event_counter WHERE realm_id = $1', [organization.id]);
      return Number(rows[0].last_id);
    };

    async function cut(scene: Scene, call: () => Promise<{ status: number; body: Json }>): Promise<CutCall> {
      const before = await lastId(scene);
      proxy.arm();
      let answer: { status: number; body: Json };
      try {
        answer = await call();
      } finally {
        if (proxy.mend()) cuts++;
      }
      return { ...answer, logged: (await lastId(scene)) - before };
    }

    let cuts = 0;
    afterAll(() => expect(cuts).toBeGreaterThan(200));

    /**
     * Returns whether a background worker committed just before the call, so that the reply to the commit of the call was lost.
     * The outcome is then unknown as long as the database is unavailable.
     */
    const isUnknown = (reply: unknown) => {
      const isLost = /the (change may have been made|message may have been sent)/.test(JSON.stringify(reply));
      if (isLost) unknowns++;
      return isLost;
    };
    let unknowns = 0;
    afterAll(() => expect(unknowns).toBeLessThan(5));
    /**
     * Endpoints that return an error although the change was committed, each with the reason. Clients can safely call them
     * again.
     */
    const REPEATED: Readonly<Record<string, string>> = {
      'POST /users/me/presence': 'the response lists the presence of other users, which cannot be read',
    };
    const writes = routes
      .filter(({ method }) => method !== 'GET')
      .map((route) => [`${route.method} ${route.path}`, route] as const);
    const inOrder = Object.keys(REST_CALLS).flatMap((name) => writes.filter(([each]) => each === name));
    test.for(inOrder)('%s', async ([name, { method, path, auth }]) => {
      const scene = scenes.rest;
      for (const call of (REST_CALLS[name]?.(scene.names) ?? []).slice(0, MOST_CALLS)) {
        const caller = auth === 'none' ? scene.anonymous : scene[call.as ?? 'owner'];
        const make = () => caller.rest(method, pathOf(path, call), call.parameters);
        const { status, body, logged } = await cut(scene, make);
        if (logged > 0 && !(name in REPEATED) && !isUnknown(body))
          expect([status, body], JSON.stringify(call)).toEqual([200, expect.objectContaining({ result: 'success' })]);
      }
    });

    const mutations = Object.entries(GRAPHQL_CALLS).filter(([name]) => name.startsWith('Mutation.'));
    let unread = 0;
    afterAll(() => expect(unread).toBeGreaterThan(10));
    test.for(mutations)('%s', async ([, calls]) => {
      const scene = scenes.graphql;
      for (const call of calls(scene.names).slice(0, MOST_CALLS)) {
        const make = async () => {
          const { status, ...body } = await scene[call.as ?? 'owner'].graphql(
            documentOf(schema, call, { payload: true }),
            call.args,
          );
          return { status, body };
        };
        const { status, body, logged } = await cut(scene, make);
        if (logged === 0 || isUnknown(body)) continue;
        const typeName = `${call.field[0]?.toUpperCase()}${call.field.slice(1)}Payload`;
        const said = JSON.stringify([call, body]);
        expect([status, body.errors, body.data?.[call.field]?.__typename], said).toEqual([200, undefined, typeName]);
        // `notReadBack` must list every field that is null because it could not be read.
        const paths: string[][] = body.extensions?.notReadBack ?? [];
        for (const [field, ...rest] of paths) {
          expect(field).toBe(call.field);
          const [top] = rest;
          const seen = body.data[call.field];
          for (const [key, value] of Object.entries(top === undefined ? seen : { [top]: seen[top] })) {
            // `__typename` and `position` are known without reading the database, so they are never null.
            if (rest.length <= 1 && !['__typename', 'position'].includes(key)) expect(value, said).toBeNull();
          }
        }
        unread += paths.length;
      }
    });

    test('a change whose commit is not confirmed may have been made, and the error says so', async () => {
      const { owner } = scenes.rest;
      const before = await lastId(scenes.rest);
      proxy.arm(true);
      const { status, body } = await owner.rest('PATCH', '/realm', { description: 'not confirmed' });
      expect(proxy.mend()).toBe(true);
      expect([status, body.code, body.msg]).toEqual([
        ...[503, 'REQUEST_TIMEOUT', 'The service is unavailable; the change may have been made'],
      ]);
      expect(await lastId(scenes.rest)).toBe(before + 1);
    });

    test('but a user who signs in for the first time gets a key or an error, not a null key', async () => {
      const { owner, anonymous } = scenes.graphql;
      const account = { email: 'stub@example.com', password: 'correct horse battery' };
      await owner.ok('POST', '/users', { ...account, full_name: 'Stub' });
      const input = { username: account.email, password: account.password };
      // Locks the table for longer than clients wait. So the API key cannot be read after the sign-in was recorded.
      await database.query('BEGIN');
      await database.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');
      const { errors } = await anonymous.graphql(LOGIN, { input });
      await database.query('ROLLBACK');
      expect(errors).toMatchObject([{ extensions: { code: 'REQUEST_TIMEOUT' } }]);
      expect((await anonymous.graphql(LOGIN, { input })).data?.fetchApiKey.apiKey).toEqual(expect.any(String));
    });
  },
);

describe('an object deleted between the change and its read', () => {
  const gone = Object.assign(new Error('No record was found for a query'), { code: 'P2025' });
  const path = ['editMessage', 'editedMessage', 'channel'];
  const error = new GraphQLError('No record was found for a query', { path, originalError: gone });

  test('is null and listed in the reply, because the change was committed', () => {
    const data = { editMessage: { editedMessage: { channel: null } } };
    expect(acknowledged({ data, errors: [error] }, {})).toEqual({ data, extensions: { notReadBack: [path] } });
  });

  test('is not logged as an error of the service', () => {
    expect(presentError(error, pino({ level: 'silent' })).extensions).toMatchObject({ code: 'BAD_REQUEST' });
  });
});
