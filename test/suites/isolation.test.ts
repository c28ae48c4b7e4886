import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { expectAlike, type Outcome } from '../helpers/alike.ts';
import { documentOf, GRAPHQL_CALLS, nodeIds } from '../helpers/graphql-calls.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { contentsOf, makeScene, type Names, nothing, type Scene } from '../helpers/scene.ts';

type Kind = keyof Names;
const KINDS = Object.keys(nothing()) as Kind[];
const schema = buildSchema();

const endpoints = routes.map((route) => [`${route.method} ${route.path}`, route] as const);
/**
 * Returns the name of a channel in the other organization. Each call uses another name, because some calls create a channel
 * with the given name.
 */
const channelFor = (call: string) => `the other's channel for ${call}`.slice(0, 60);

/** Two equivalent organizations on one server. All calls are made by users of `own`. */
let own: Scene;
let other: Scene;
let before: Json;

/** Checks that calls with names of the other organization have the outcome of calls with names of nonexistent objects. */
const expectAbsent = <C>(title: string, calls: (names: Names) => readonly C[], make: (call: C) => Promise<Outcome>) => {
  const foreign = { ...other.names, channelName: channelFor(title) };
  return expectAlike({ own: own.names, foreign, kinds: KINDS }, calls, make);
};

describe('objects of another organization behave like objects that do not exist', () => {
  beforeAll(async () => {
    [own, other] = await Promise.all([makeScene(), makeScene()]);
    const names = [...endpoints.map(([name]) => name), ...Object.keys(GRAPHQL_CALLS)].map(channelFor);
    const subscriptions = [...new Set(names)].map((name) => ({ name }));
    await other.owner.ok('POST', '/users/me/subscriptions', { subscriptions });
    before = await contentsOf(other);
  });
  afterAll(async () => expect(await contentsOf(other)).toEqual(before));

  test.concurrent.for(endpoints)('for %s', async ([name, { method, path, auth }]) => {
    const caller = auth === 'none' ? own.anonymous : own.owner;
    const calls = (names: Names) => REST_CALLS[name]?.(names) ?? [];
    const count = await expectAbsent(name, calls, (call) => caller.rest(method, pathOf(path, call), call.parameters));
    // The id of an organization does not identify an object in it.
    expect(count > 0 || !/(?<!realm)_id\}|email\}/.test(path)).toBe(true);
  });

  test.concurrent.for(Object.entries(GRAPHQL_CALLS))('for %s', async ([name, calls]) => {
    await expectAbsent(name, calls, async (call) => {
      const { status, data, errors } = await own.owner.graphql(documentOf(schema, call), call.args);
      return { status, body: { data, errors } };
    });
  });

  test('for node(id) and nodes(ids)', async () => {
    const seen = async (person: Person, names: Names) => {
      const ids = nodeIds(names);
      const found = await Promise.all(
        ids.map(async (id) => (await person.query('query ($id: ID!) { node(id: $id) { id } }', { id })).node),
      );
      // A query that loads these objects in a batch must also find none of them.
      expect((await person.query('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).nodes).toEqual(found);
      return found;
    };
    expect(await seen(other.owner, other.names)).toEqual(nodeIds(other.names).map((id) => ({ id })));
    expect(await seen(own.owner, other.names)).toEqual(nodeIds(other.names).map(() => null));
    expect(await seen(own.guest, { ...own.names, ...nothing() })).toEqual(nodeIds(nothing()).map(() => null));
  });

  test('for its credentials, which are valid only in its own organization', async () => {
    for (const path of ['/users/me', '/register'] as const) {
      const { status, body } = await own.anonymous
        .as(other.owner.authorization)
        .rest(path === '/register' ? 'POST' : 'GET', path);
      expect([status, body.code]).toEqual([401, 'INVALID_API_KEY']);
    }
    const bearer = own.anonymous.as(`Bearer ${other.owner.apiKey}`);
    expect((await bearer.graphql('{ viewer { id } }')).errors).toMatchObject([
      { extensions: { code: 'INVALID_API_KEY' } },
    ]);
  });
});
