import { isInterfaceType, lexicographicSortSchema, buildSchema as parseSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { projectionOptionsOf } from '../../src/api/graphql/schema/event-projections.ts';
import { referredType } from '../../src/api/graphql/schema/refs.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { count } from '../contract.ts';

const schema = lexicographicSortSchema(buildSchema());
const { findings, counted } = count(schema);

describe('the schema', () => {
  test.for([
    ['every mutation has its typed errors', 'mutationsWithoutErrorUnion'],
    ['no input takes a number as the id of an object', 'integerIdsInInputs'],
    ['no field returns a number as the id of another object', 'integerForeignKeys'],
    ['no field returns the id of another object instead of the object', 'foreignKeys'],
    ['the error of a root field leaves the other root fields of the operation', 'refusalsOfAll'],
    ['every list has its nodes', 'connectionsWithoutNodes'],
    ['every list has its total', 'connectionsWithoutTotalCount'],
    ['every list that is not a connection states its maximum length', 'listsWithoutBound'],
    ['all events can be selected in one document without an alias', 'unionFieldConflicts'],
    ['`node` finds every object that has an id', 'idsOfNoNode'],
    ['alternative values are one `@oneOf` input', 'alternatives'],
    ['every enum value that names a field is the name of a field', 'valuesWithoutField'],
    ['every scalar refers to its specification', 'unspecifiedScalars'],
    ['names of points in time end in At, and no others do', 'misnamedTimes'],
    ['connections and edges have the name of their node', 'misnamedConnections'],
    ['unions contain no errors of the transport', 'transportErrors'],
  ] as const)('%s', ([, finding]) => {
    expect(findings[finding]).toEqual([]);
  });

  test('uses no words of the REST interface, except for emoji', () => {
    expect(findings.restWords).toEqual(['ReactionType.REALM_EMOJI']);
  });

  test('declares each setting once per kind of type, except for changes of permissions with expected holders', () => {
    expect(findings.repeatedSettings).toEqual([
      'ChannelPermissionEditsInput, ChannelPermissionsInput',
      'UserGroupPermissionEditsInput, UserGroupPermissionsInput',
    ]);
  });

  test('has events refer to entities, except for an event for old clients', () => {
    expect(findings.valuesOfEvents).toEqual(['MutedTopic', 'UnreadChange']);
  });

  test('has an entity in every event, unless none exists or it was deleted', () => {
    const event = schema.getType('Event');
    const without = (isInterfaceType(event) ? schema.getPossibleTypes(event) : []).filter((type) => {
      // The actor does not count as an object in the event.
      const fields = Object.values(type.getFields()).filter(({ name }) => name !== 'actor');
      const namesWhatIsGone = fields.some((field) => referredType(field.extensions) !== undefined);
      return !namesWhatIsGone && !fields.some((field) => projectionOptionsOf(field.extensions) !== undefined);
    });
    expect(without.map(({ name }) => name)).toEqual([
      ...['AlertWordsChangedEvent', 'HeartbeatEvent', 'IdentityProvidersChangedEvent'],
      ...['InvitationsChangedEvent', 'LinkedIdentitiesChangedEvent', 'PushDeviceAddedEvent', 'PushDeviceUpdatedEvent'],
      ...['ServiceRestartedEvent', 'VideoCallTokenChangedEvent'],
    ]);
  });

  test('is checked for ids of types that are not nodes, and for alternatives', () => {
    const { findings: found } = count(
      parseSchema(`
        interface Node { id: ID! }
        type Query { thing(thingId: ID, name: String): Thing node: Found }
        type Thing { id: ID! }
        type Found implements Node { id: ID! }
        type Mutation { change(input: ChangeInput, either: OneOfChangeInput): Thing }
        input ChangeInput { name: String channelId: ID channelName: String directTo: [ID!] folderId: ID
          "An end."
          place: String
          "A thing; instead of \`place\`."
          at: ID }
        input OneOfChangeInput @oneOf { channelId: ID channelName: String }
      `),
    );
    expect(found).toMatchObject({
      idsOfNoNode: ['Thing'],
      alternatives: [
        'ChangeInput: channelId | channelName',
        'ChangeInput: channelId | directTo',
        'ChangeInput: channelName | directTo',
        'ChangeInput: at | place',
        'Query.thing: name | thingId',
      ],
    });
  });

  test('is checked for names of fields, times, connections and settings, and for words', () => {
    const { findings: found } = count(
      parseSchema(`
        scalar LongId
        scalar DateTime @specifiedBy(url: "https://example.com")
        type Query { users: QueryUsersConnection thing: Thing }
        type QueryUsersConnection { edges: [UserEdge!]! nodes: [User!]! }
        type UserEdge { node: User! cursor: String! }
        "Members of the realm."
        type User { name: String! lastSeen: DateTime! age: Int! channel: Thing streamId: Int @deprecated }
        enum UserOrderField { NAME CHANNEL_MADE_AT SIZE }
        type Thing { madeAt: DateTime! createdAt: Int! }
        type UserSettings { enterSends: Boolean pmSound: String }
        input UpdateUserSettingsInput { enterSends: Boolean pmSound: String }
        input UserSettingsInput { enterSends: Boolean pmSound: String }
        type RequestTimeoutError { code: String }
        union ChangeResult = Thing | RequestTimeoutError
      `),
    );
    expect(found).toMatchObject({
      valuesWithoutField: ['UserOrderField.SIZE'],
      unspecifiedScalars: ['LongId'],
      misnamedTimes: ['User.lastSeen', 'Thing.createdAt'],
      misnamedConnections: ['QueryUsersConnection'],
      repeatedSettings: ['UpdateUserSettingsInput, UserSettingsInput'],
      transportErrors: ['ChangeResult: RequestTimeoutError'],
      restWords: [
        ...['UserSettings.pmSound', 'UpdateUserSettingsInput.pmSound', 'UserSettingsInput.pmSound'],
        'User: description',
      ],
    });
  });

  test('is complete', () => {
    expect(counted.mutations).toBeGreaterThan(80);
    expect(counted.eventTypes).toBeGreaterThan(60);
    expect(counted.connectionFields).toBeGreaterThan(20);
    expect(counted.sortedConnections).toBeGreaterThan(12);
  });

  test('declares the type of every id in an argument or input, unless any object is accepted', () => {
    const anything: string[] = [];
    const isId = (type: unknown) => /^\[?ID!?\]?!?$/.test(String(type));
    for (const type of Object.values(schema.getTypeMap())) {
      if (!('getFields' in type) || type.name.startsWith('__')) continue;
      for (const field of Object.values(type.getFields())) {
        if (!('args' in field)) {
          if (isId(field.type) && referredType(field.extensions) === undefined)
            anything.push(`${type.name}.${field.name}`);
          continue;
        }
        for (const arg of field.args) {
          if (isId(arg.type) && referredType(arg.extensions) === undefined) {
            anything.push(`${type.name}.${field.name}(${arg.name}:)`);
          }
        }
      }
    }
    expect(anything).toEqual(['AuditLogFilterInput.objectId', 'Query.node(id:)', 'Query.nodes(ids:)']);
  });
});
