import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  isUnionType,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { projectionOptionsOf } from '../../src/api/graphql/schema/event-projections.ts';
import { registeredEventTypes } from '../../src/api/graphql/schema/event-types.ts';
import { definedEvents } from '../../src/events/define.ts';
import { ERROR_CODES } from '../../src/platform/errors.ts';
import { emptyGroups } from '../../src/server/registration/empty-groups.ts';
import { routes, STATE_GROUPS } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { createOrganization } from '../helpers/server.ts';

const schema = buildSchema();
const objects = Object.values(schema.getTypeMap()).filter((type) => isObjectType(type) && !type.name.startsWith('__'));
const implementing = (name: string) => {
  const type = schema.getType(name);
  if (!isInterfaceType(type)) throw new Error(`There is no interface ${name}`);
  return schema.getPossibleTypes(type);
};

/** Returns whether the objects of a GraphQL type are database rows, which are loaded with the permissions of the viewer. */
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
  const TELLS_ITSELF = new Set([
    ...['createVideoCall', 'deactivateOwnAccount', 'signOut', 'revokeOtherSessions'],
    ...['beginPasskeyProof', 'beginPasskeySignIn'],
  ]);
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});

  test.for(mutations.map((field) => [field.name, field] as const))(
    '%s takes one input and returns its payload or a typed error',
    ([name, field]) => {
      const title = `${name[0]?.toUpperCase()}${name.slice(1)}`;
      // A mutation without parameters has no input type.
      const inputs = TELLS_ITSELF.has(name) ? [] : [`input: ${title}Input!`];
      expect(field.args.map((arg) => `${arg.name}: ${arg.type}`)).toEqual(inputs);
      expect(String(field.type)).toBe(`${title}Result`);
      const result = getNamedType(field.type);
      if (!isUnionType(result)) throw new Error(`${result.name} is no union`);
      const [payloads, errors] = [`${title}Payload`, 'ServiceError'].map((wanted) =>
        result
          .getTypes()
          .filter((type) => type.name === wanted || type.getInterfaces().some((its) => its.name === wanted)),
      );
      expect(payloads).toHaveLength(1);
      expect(errors?.map((type) => type.name)).toEqual(
        expect.arrayContaining(['ValidationError', 'NotFoundError', 'ForbiddenError', 'ConflictError']),
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
  /**
   * Returns a document that selects a connection field once with each of the given arguments.
   *
   * @throws {Error} If this function does not support the parent type.
   */
  const reach = (parent: string, { name }: GraphQLField<unknown, unknown>, ...args: readonly string[]): string => {
    const itself = args.map((each, i) => `a${i}: ${name}(${each}) { pageInfo { hasNextPage } }`).join(' ');
    if (parent === 'Query') return `{ ${itself} }`;
    if (parent === 'Channel') return `{ channels(first: 1) { edges { node { ${itself} } } } }`;
    if (parent === 'Organization') return `{ organization { ${itself} } }`;
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
    // The field of a connection is nullable. If it is refused, other fields are therefore not affected.
    for (const { parent, field } of connections) {
      expect([parent, field.name, isNonNullType(field.type)]).toEqual([parent, field.name, false]);
      expect(field.args.map(({ name }) => name)).toEqual(expect.arrayContaining(['first', 'last', 'after', 'before']));
    }
  });

  test('give at most a hundred rows, or the documented number, and accept only their own cursors', async () => {
    const { owner } = await createOrganization();
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
      const right = ['first: 100', 'last: 100', 'first: 0', 'after: null', 'before: null, first: null'];
      const { errors: none } = await owner.graphql(reach(parent, field, ...right));
      expect([parent, field.name, none]).toEqual([parent, field.name, undefined]);
      const max = Number(/at most ([\d,]+) per page/.exec(field.description ?? '')?.[1]?.replace(',', '') ?? 100);
      const wrong = [`first: ${max + 1}`, `last: ${max + 1}`, 'first: -1', 'last: -1', 'first: 2147483647'];
      for (const args of wrong) {
        const { errors } = await owner.graphql(reach(parent, field, args));
        const codes = errors?.map(({ extensions }) => extensions.code);
        expect([parent, field.name, args, codes]).toEqual([
          parent,
          field.name,
          args,
          [expect.stringMatching(/^(BAD_REQUEST|DOCUMENT_LIMIT_EXCEEDED)$/)],
        ]);
      }
      // A wrong cursor causes an error only in its own field, so one document can contain all of them.
      const foreign = cursors.flatMap((cursor) => [`first: 1, after: ${cursor}`, `first: 1, before: ${cursor}`]);
      const { errors } = await owner.graphql(reach(parent, field, ...foreign));
      const refused = errors?.map(({ path, extensions }) => [path.at(-1), extensions.code]).toSorted();
      expect([parent, field.name, refused]).toEqual([
        parent,
        field.name,
        foreign.map((_, i) => [`a${i}`, 'BAD_REQUEST']).toSorted(),
      ]);
    }
  });
});

test('node(id) finds every type of node, and treats an invalid id as unknown', async () => {
  const { owner } = await createOrganization();
  const id = Buffer.from(`User:${owner.id}`).toString('base64');
  /** Returns the objects with these ids, each read by a separate `node` field. */
  const nodes = async (ids: readonly string[]): Promise<unknown[]> => {
    const variables = Object.fromEntries(ids.map((each, i) => [`v${i}`, each]));
    const fields = ids.map((_, i) => `a${i}: node(id: $v${i}) { id }`).join(' ');
    const document = `query (${ids.map((_, i) => `$v${i}: ID!`).join(', ')}) { ${fields} }`;
    return Object.values(await owner.query(document, variables));
  };
  const encoded = (texts: readonly string[]) => texts.map((text) => Buffer.from(text).toString('base64'));
  expect(await nodes([id])).toEqual([{ id }]);
  const wrong = ['abc', '1.5', '0', '-1', '01', '1e3', '1:2', '', ' 1', '2147483648', '9'.repeat(400), '\0', '１'];
  for (const type of implementing('Node').map(({ name }) => name)) {
    const found = await nodes(encoded(wrong.map((text) => `${type}:${text}`)));
    expect([type, found]).toEqual([type, wrong.map(() => null)]);
  }
  const strange = [
    '',
    'User',
    ':1',
    'Nothing:1',
    'user:1',
    '__proto__:1',
    'constructor:1',
    'Query:1',
    'Subscription:1',
  ];
  expect(await nodes(encoded(strange))).toEqual(strange.map(() => null));
  await nodes(['%%%', '💩', 'x'.repeat(10_000), String(owner.id), `${id}=`, `${id}\n`]);
});

describe('the GraphQL equivalents of REST endpoints', () => {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  /**
   * Returns the GraphQL fields that the equivalent of a REST endpoint names, for example `sendMessage`, `Channel.topics` or
   * `user(by:)`.
   */
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

  const mutations = new Set<unknown>(Object.values(schema.getMutationType()?.getFields() ?? {}));
  const isList = ({ type }: GraphQLField<unknown, unknown>) =>
    isListType(getNullableType(type)) || getNamedType(type).name.endsWith('Connection');
  /** Whether a field of a reply is an array, or an object with arbitrary keys. */
  const isListInReply = (field: z.ZodType): boolean =>
    field instanceof z.ZodOptional || field instanceof z.ZodNullable
      ? isListInReply(field.unwrap() as z.ZodType)
      : field instanceof z.ZodArray || field instanceof z.ZodRecord;

  test('are mutations, for every endpoint that changes something', () => {
    /** Endpoints with another method than GET that change nothing. */
    const reading = ['POST /messages/render'];
    const wrong = routes
      .filter(({ method }) => method !== 'GET')
      .filter(({ equivalents }) => !equivalents.flatMap(fieldsOf).some((field) => mutations.has(field)));
    expect(wrong.map(({ method, path }) => `${method} ${path}`)).toEqual(reading);
  });

  test('are lists, for every endpoint that reads a list', () => {
    /** Endpoints whose list has another form in GraphQL, with that form. */
    const others = {
      'GET /events': 'a subscription, which returns one event after the other',
      'GET /server_settings': 'fields for the ways to sign in',
    };
    const wrong = routes
      .filter(({ method, reply }) => method === 'GET' && Object.values(reply).some(isListInReply))
      .filter(({ equivalents }) => !equivalents.flatMap(fieldsOf).some(isList));
    expect(wrong.map(({ method, path }) => `${method} ${path}`)).toEqual(Object.keys(others));
  });

  test('exist for every group of the state that a registration returns', () => {
    const fields: Readonly<Record<string, readonly string[]>> = {
      ...{ attachment: ['uploadSpaceUsed'] },
      ...{ alert_words: ['alertWords'], channel_folders: ['channelFolders'], drafts: ['drafts'] },
      ...{ custom_profile_fields: ['customProfileFields'], default_streams: ['Channel.isDefault'] },
      device: ['pushDevices'],
      message: ['User.unreadCounts', 'subscriptions', 'directConversations', 'messages'],
      ...{ muted_topics: ['userTopics'], user_topic: ['userTopics'], navigation_views: ['navigationViews'] },
      ...{ presence: ['presences'], realm: ['organization', 'serverSettings'], realm_bot: ['ownBots'] },
      ...{ realm_domains: ['organizationDomains'], realm_emoji: ['customEmoji'], realm_user: ['viewer', 'users'] },
      ...{ realm_user_groups: ['userGroups'], realm_user_settings_defaults: ['userSettingsDefaults'] },
      ...{ recent_private_conversations: ['directConversations'], reminders: ['reminders'] },
      ...{ saved_snippets: ['savedSnippets'], scheduled_messages: ['scheduledMessages'] },
      ...{ starred_messages: ['User.starredMessages'], stream: ['channels'], subscription: ['subscriptions'] },
      ...{ user_settings: ['ownSettings'], user_status: ['User.status'], video_calls: ['hasVideoCallToken'] },
    };
    // Groups of features that the service does not have are empty.
    const groups = new Set(STATE_GROUPS.filter((group) => !emptyGroups.includes(group)).map(({ name }) => name));
    expect(Object.keys(fields).toSorted()).toEqual([...groups].toSorted());
    const unknown = Object.entries(fields).filter(([, names]) => names.some((name) => fieldsOf(name).length === 0));
    expect(unknown).toEqual([]);
  });

  test('are all root fields, except those for what REST solves differently', () => {
    const told = new Set(routes.flatMap(({ equivalents }) => equivalents.flatMap(fieldsOf)));
    const alone = roots.flatMap((root) => Object.values(root?.getFields() ?? {}).filter((field) => !told.has(field)));
    // These GraphQL fields have no equivalent REST endpoint: ids, lists, identity providers, API keys with a name, second factors,
    // devices, suggestions, limits that REST sends in headers, the
    // pages to which emailed links lead, and what REST does with a narrow.
    expect(alone.map(({ name }) => name).toSorted()).toEqual([
      'acceptInvitation',
      'addPasskey',
      'beginPasskey',
      'beginPasskeyAtSignIn',
      'beginPasskeyProof',
      'beginPasskeySignIn',
      'beginSecondFactor',
      'beginSecondFactorAtSignIn',
      'completePasskeySignIn',
      'completeSignUp',
      'confirmEmailChange',
      'confirmSecondFactor',
      'continueInApp',
      'createApiKey',
      'createIdentityProvider',
      'deleteIdentityProvider',
      'directConversations',
      'linkedIdentities',
      'markConversationAsRead',
      'node',
      'nodes',
      'ownSecondFactor',
      'pushDevices',
      'pushPublicKey',
      'rateLimit',
      'removePasskey',
      'removeSecondFactor',
      'renameApiKey',
      'renamePasskey',
      'replaceRecoveryCodes',
      'requestInvitation',
      'requestOrganization',
      'requestPasswordReset',
      'requestSignUp',
      'resetPassword',
      'resetSecondFactor',
      'revokeApiKey',
      'sendPasswordReset',
      'signOutProvider',
      'suggestions',
      'topic',
      'topics',
      'unlinkIdentity',
      'updateIdentityProvider',
    ]);
  });
});
