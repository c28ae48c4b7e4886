import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { projectionOptionsOf } from '../../src/api/graphql/schema/event-projections.ts';
import { registeredEventTypes } from '../../src/api/graphql/schema/event-types.ts';
import { definedEvents } from '../../src/events/define.ts';
import { ERROR_CODES } from '../../src/platform/errors.ts';
import { routes } from '../../src/server/registries/endpoints.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { organization } from '../helpers/server.ts';

const schema = buildSchema();
const objects = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) && !type.name.startsWith('__'));
const implementing = (name: string) => {
  const type = schema.getType(name);
  if (!isInterfaceType(type)) throw new Error(`There is no interface ${name}`);
  return schema.getPossibleTypes(type);
};

/** Returns whether the objects of a type are rows, which are loaded with the permissions of the viewer. */
const isEntity = (type: GraphQLNamedType) =>
  type.extensions['pothosPrismaModel'] !== undefined || implementing('Node').includes(type as GraphQLObjectType);

describe('event types', () => {
  test('exist for every event that clients receive', () => {
    const nameOf = ({ type, op }: { type: string; op: string | undefined }) => `${type}/${op ?? ''}`;
    // Excludes event types that test files have defined that ran earlier in the same worker.
    const heard = definedEvents().filter(({ type }) => type !== 'internal' && !type.startsWith('test_'));
    expect(registeredEventTypes().map(nameOf).toSorted()).toEqual([...heard.map(nameOf), 'heartbeat/'].toSorted());
    expect(
      implementing('Event')
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(
      registeredEventTypes()
        .map(({ name }) => name)
        .toSorted(),
    );
  });

  test('contain rows only through event projections', () => {
    for (const event of implementing('Event')) {
      const reached = new Set<GraphQLNamedType>();
      const walk = (type: GraphQLNamedType): void => {
        if (reached.has(type)) return;
        reached.add(type);
        if (isInterfaceType(type) || isUnionType(type))
          for (const member of schema.getPossibleTypes(type)) walk(member);
        if (!isObjectType(type)) return;
        for (const field of Object.values(type.getFields())) {
          expect([`${type.name}.${field.name}`, field.args]).toEqual([`${type.name}.${field.name}`, []]);
          if (projectionOptionsOf(field.extensions) === undefined) walk(getNamedType(field.type));
        }
      };
      walk(event);
      expect([event.name, [...reached].filter(isEntity).map(({ name }) => name)]).toEqual([event.name, []]);
    }
  });

  test('contain nullable entities, which may be deleted or invisible to the viewer', () => {
    const entities = implementing('Event').flatMap((event) =>
      Object.values(event.getFields()).flatMap(({ name, type, extensions }) =>
        projectionOptionsOf(extensions) === undefined ? [] : [[`${event.name}.${name}`, String(type)] as const],
      ),
    );
    expect(entities.length).toBeGreaterThan(10);
    for (const [field, type] of entities)
      expect([field, type]).toEqual([field, expect.stringMatching(/^(\w+|\[\w+\]!)$/)]);
  });

  test('are distinguished from rows by this test', () => {
    expect(objects.filter(isEntity).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['User', 'Channel', 'ChannelSubscription', 'ChannelFolder', 'Draft', 'SavedSnippet']),
    );
  });
});

describe('mutations', () => {
  const TELLS_ITSELF = new Set(['createVideoCall', 'deactivateOwnAccount', 'signOut', 'revokeOtherSessions']);
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});

  test.for(mutations.map((field) => [field.name, field] as const))(
    '%s takes one input and returns its payload or a typed error',
    ([name, field]) => {
      const title = `${name[0]?.toUpperCase()}${name.slice(1)}`;
      // A mutation without parameters has no input type.
      const inputs = TELLS_ITSELF.has(name) ? [] : [`input: ${title}Input!`];
      expect(field.args.map((arg) => `${arg.name}: ${arg.type}`)).toEqual(inputs);
      expect(String(field.type)).toBe(`${title}Result!`);
      const result = getNamedType(field.type);
      if (!isUnionType(result)) throw new Error(`${result.name} is no union`);
      const [payloads, errors] = [`${title}Payload`, 'ServiceError'].map((wanted) =>
        result
          .getTypes()
          .filter((type) => type.name === wanted || type.getInterfaces().some((its) => its.name === wanted)),
      );
      expect(payloads).toHaveLength(1);
      expect(errors?.map((type) => type.name)).toEqual(
        expect.arrayContaining(['BadRequestError', 'RequestTimeoutError']),
      );
      expect(result.getTypes()).toHaveLength(1 + (errors?.length ?? 0));
    },
  );

  test('return errors with the codes of REST', () => {
    const codes = schema.getType('ErrorCode');
    expect(isEnumType(codes) && codes.getValues().map(({ name }) => name)).toEqual(ERROR_CODES.toSorted());
    for (const type of implementing('ServiceError')) expect(type.name).toMatch(/Error$/);
  });
});

describe('connections', () => {
  const connections = objects.flatMap((type) =>
    Object.values((type as GraphQLObjectType).getFields())
      .filter((field) => getNamedType(field.type).name.endsWith('Connection'))
      .map((field) => ({ parent: type.name, field })),
  );
  /** Returns a document that selects a connection. @throws {Error} If the parent type is not covered here. */
  const reach = (parent: string, { name }: GraphQLField<unknown, unknown>, args: string): string => {
    const itself = `${name}(${args}) { pageInfo { hasNextPage } }`;
    if (parent === 'Query') return `{ ${itself} }`;
    if (parent === 'Channel') return `{ channels(first: 1) { edges { node { ${itself} } } } }`;
    if (parent === 'User') return `{ viewer { ${itself} } }`;
    if (parent === 'Message') return `{ messages(first: 1) { edges { node { ${itself} } } } }`;
    if (parent === 'Topic') return `{ channels(first: 1) { nodes { topics(first: 1) { nodes { ${itself} } } } } }`;
    if (parent === 'UserGroup') return `{ userGroups(first: 1) { edges { node { ${itself} } } } }`;
    throw new Error(`How does one get to ${parent}.${name}?`);
  };

  test('are used for lists that can grow', () => {
    expect(connections.map(({ parent, field }) => `${parent}.${field.name}`)).toEqual(
      expect.arrayContaining(['Query.users', 'Query.channels', 'Query.drafts', 'Channel.subscribers']),
    );
    // The field of a connection is nullable, so that its refusal does not affect other fields.
    for (const { parent, field } of connections) {
      expect([parent, field.name, isNonNullType(field.type)]).toEqual([parent, field.name, false]);
      expect(field.args.map(({ name }) => name)).toEqual(expect.arrayContaining(['first', 'last', 'after', 'before']));
    }
  });

  test('give at most a hundred rows, or the documented number, and accept only their own cursors', async () => {
    const { owner } = await organization();
    const { id: to } = await owner.ok('POST', '/channels/create', { name: 'here', subscribers: [owner.id] });
    await owner.ok('POST', '/messages', { type: 'channel', to, topic: 'topic', content: 'hello' });
    const cursors = [
      '',
      'x',
      'null',
      '[]',
      '\0',

      '["id",null]',
      '["id","1"]',
      '[{}]',
      '9'.repeat(5000),
    ].map((text) => JSON.stringify(Buffer.from(text).toString('base64url')));
    for (const { parent, field } of connections) {
      for (const args of ['first: 100', 'last: 100', 'first: 0', 'after: null', 'before: null, first: null']) {
        expect([args, (await owner.graphql(reach(parent, field, args))).errors]).toEqual([args, undefined]);
      }
      const max = Number(/at most ([\d,]+) per page/.exec(field.description ?? '')?.[1]?.replace(',', '') ?? 100);
      const wrong = [`first: ${max + 1}`, `last: ${max + 1}`, 'first: -1', 'last: -1', 'first: 2147483647'];
      for (const args of [...wrong, ...cursors.flatMap((cursor) => [`after: ${cursor}`, `before: ${cursor}`])]) {
        const { errors } = await owner.graphql(reach(parent, field, args));
        const codes = errors?.map(({ extensions }) => extensions.code);
        expect([parent, field.name, args, codes]).toEqual([
          parent,
          field.name,
          args,
          [expect.stringMatching(/^(BAD_REQUEST|DOCUMENT_LIMIT_EXCEEDED)$/)],
        ]);
      }
    }
  });
});

test('node(id) finds every type of node, and treats an invalid id as unknown', async () => {
  const { owner } = await organization();
  const id = Buffer.from(`User:${owner.id}`).toString('base64');
  const node = async (of: string) => (await owner.query('query ($id: ID!) { node(id: $id) { id } }', { id: of })).node;
  expect(await node(id)).toEqual({ id });
  for (const type of implementing('Node').map(({ name }) => name)) {
    for (const text of [
      'abc',
      '1.5',
      '0',
      '-1',
      '01',
      '1e3',
      '1:2',
      '',
      ' 1',
      '2147483648',
      '9'.repeat(400),
      '\0',
      '１',
    ]) {
      expect(await node(Buffer.from(`${type}:${text}`).toString('base64'))).toBe(null);
    }
  }
  for (const text of [
    '',
    'User',
    ':1',
    'Nothing:1',
    'user:1',
    '__proto__:1',
    'constructor:1',
    'Query:1',
    'Subscription:1',
  ]) {
    expect(await node(Buffer.from(text).toString('base64'))).toBe(null);
  }
  for (const text of ['%%%', '💩', 'x'.repeat(10_000), String(owner.id), `${id}=`, `${id}\n`]) await node(text);
});

describe('the GraphQL equivalents of REST endpoints', () => {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  /** Returns the fields that an equivalent of an endpoint refers to: `sendMessage`, `Channel.topics` or `user(by:)`. */
  const fieldsOf = (twin: string): GraphQLField<unknown, unknown>[] => {
    const [, type, name = '', argument] = /^(?:(\w+)\.)?(\w+)(?:\((\w+):\))?$/.exec(twin) ?? [];
    const owners = type === undefined ? roots : objects.filter((object) => object.name === type);
    const named = owners.flatMap((owner) => (isObjectType(owner) ? (owner.getFields()[name] ?? []) : []));
    return named.filter((field) => argument === undefined || taken(field).includes(argument));
  };
  const taken = ({ args }: GraphQLField<unknown, unknown>) =>
    args.flatMap(({ name, type }) => {
      const input = getNamedType(type);
      return [name, ...(isInputObjectType(input) ? Object.keys(input.getFields()) : [])];
    });

  test('exist for every endpoint', () => {
    const missing = routes.flatMap(({ method, path, equivalents }) => {
      const unknown = equivalents.filter((twin) => fieldsOf(twin).length === 0);
      return unknown.length > 0 || equivalents.length === 0 ? [`${method} ${path}: ${unknown}`] : [];
    });
    expect(missing).toEqual([]);
  });

  test('are all root fields, except those for what REST solves differently', () => {
    const told = new Set(routes.flatMap(({ equivalents }) => equivalents.flatMap(fieldsOf)));
    const alone = roots.flatMap((root) => Object.values(root?.getFields() ?? {}).filter((field) => !told.has(field)));
    // These fields have no REST endpoint: ids, lists and suggestions of GraphQL, the limits that REST sends in headers, and the
    // page of an emailed link.
    expect(alone.map(({ name }) => name).toSorted()).toEqual([
      ...['confirmEmailChange', 'directConversations', 'node', 'nodes', 'rateLimit', 'suggestions'],
    ]);
  });
});
