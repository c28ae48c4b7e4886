/**
 * Counts quality criteria of the schema for front ends. `node test/contract.ts [schema.graphql]` prints the table in
 * `src/api/graphql/README.md`. `graphql-eslint.config.js` checks the form.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildSchema,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql';

/** Missing or wrong items of a schema, by the violated criterion. The goal is that all lists are empty. */
export interface Findings {
  readonly undescribedTypes: readonly string[];
  readonly undescribedFields: readonly string[];
  readonly undescribedArguments: readonly string[];
  readonly undescribedInputFields: readonly string[];
  readonly undescribedEnumValues: readonly string[];
  readonly mutationsWithoutErrorUnion: readonly string[];
  readonly integerIdsInInputs: readonly string[];
  readonly integerForeignKeys: readonly string[];
  /** Fields that return the id of an object, but not the object. */
  readonly foreignKeys: readonly string[];
  /** Non-null root fields that can fail: an error of one of them makes `data` of the response null. */
  readonly refusalsOfAll: readonly string[];
  readonly connectionsWithoutNodes: readonly string[];
  readonly connectionsWithoutTotalCount: readonly string[];
  /** Lists that are not paginated, and whose description gives no maximum length. */
  readonly listsWithoutBound: readonly string[];
  readonly unionFieldConflicts: readonly string[];
  /** Object types that only events return, so that the cache of a client cannot identify their objects. */
  readonly valuesOfEvents: readonly string[];
  /** Types that have an `id`, which clients use as a cache key, but whose objects `node` does not return. */
  readonly idsOfNoNode: readonly string[];
  /**
   * Pairs of optional input fields or arguments of which only one may be given, and that should be one `@oneOf` input. Without
   * deprecated ones.
   */
  readonly alternatives: readonly string[];
  /** Enum values that should be names of fields, such as those of `ChannelOrderField`, but for which no such field exists. */
  readonly valuesWithoutField: readonly string[];
  /** Scalars of this service that refer to no specification. */
  readonly unspecifiedScalars: readonly string[];
  /** Points in time whose name does not end in `At`, and other values whose name does. */
  readonly misnamedTimes: readonly string[];
  /** Members with a word of the REST interface, such as `realm`, in their name or description. */
  readonly restWords: readonly string[];
  /** Connections and edges that are not named by their node. */
  readonly misnamedConnections: readonly string[];
  /** Settings that several types of one kind (output, input, enum) declare. */
  readonly repeatedSettings: readonly string[];
  /** Unions with an error of the transport, such as a timeout. Such errors belong into `errors`. */
  readonly transportErrors: readonly string[];
}

/** Numbers of types, fields and other items in a schema. */
export interface SchemaCounts {
  readonly types: number;
  readonly fields: number;
  readonly arguments: number;
  readonly inputFields: number;
  readonly enumValues: number;
  readonly mutations: number;
  readonly connections: number;
  readonly sortedConnections: number;
  readonly connectionFields: number;
  readonly viewerCan: number;
  readonly oneOfInputs: number;
  readonly eventTypes: number;
  /** Fields, input fields and enum values. */
  readonly members: number;
  /** Members that declare a setting or permission. */
  readonly settingMembers: number;
}

/**
 * Matches fields with the id of an object that cannot be returned, because it was deleted, never existed, or is not visible to
 * the client.
 */
const NAMES_NOTHING_SHOWN =
  /^(Cancel|Delete|Remove|Revoke)\w+Payload\.|^ChannelDoesNotExistError\.|^(AcceptInvitation|Complete(Passkey)?SignIn|CompleteSignUp|FetchApiKey(ByJwt)?|SignIn)Payload\./;
/** Fields with ids of objects that were deleted, or that the recipient can no longer see. */
const NAMES_WHAT_IS_GONE: ReadonlySet<string> = new Set([
  ...['AttachmentRemovedEvent.attachmentId', 'ChannelsDeletedEvent.channelIds'],
  ...['DraftRemovedEvent.draftId', 'MessagesDeletedEvent.messageIds'],
  ...['NavigationViewRemovedEvent.navigationViewId', 'OrganizationDomainRemovedEvent.organizationDomainId'],
  'PushDeviceRemovedEvent.pushDeviceId',
  ...['ReminderRemovedEvent.reminderId', 'SavedSnippetRemovedEvent.savedSnippetId'],
  ...['ScheduledMessageRemovedEvent.scheduledMessageId', 'SubscriptionsRemovedEvent.subscriptionIds'],
  'UserGroupRemovedEvent.userGroupId',
  // The object of an entry of the audit log can have been deleted since.
  'AuditLogEntry.objectId',
  // Names an object in the cache of the client, of any type.
  'OutdatedFields.objectId',
]);
/** Root fields that may be non-null, because no client is refused them, or because their items are nullable. */
const FOR_EVERYBODY: ReadonlySet<string> = new Set(['serverSettings', 'nodes']);
/** Matches descriptions that state a maximum length. */
const SAYS_BOUND = /at most|no more than|one for each|the first \d|: none\.$/i;
const INTEGERS = new Set(['Int', 'LongId']);
/** Matches names of integers that identify an object: `channelId`, `userIds`. */
const NAMES_AN_OBJECT = /(Id|Ids)$/;
/** Fields with the number that identifies the object in REST, which refer to no other object. */
const OWN = new Set(['databaseId']);
/** Matches names of enums whose values name fields. */
const NAMES_FIELDS = /(OrderField|Setting|Property|PermissionName)$/;
/** Types whose fields the values of an enum name, by the name of the enum. For `XOrderField`, the type is `X`. */
const FIELDS_OF: Readonly<Record<string, readonly string[]>> = {
  BotSetting: ['Bot'],
  ChannelProperty: ['Channel'],
  OrganizationSetting: ['Organization'],
  PermissionName: ['ChannelPermissions', 'OrganizationPermissions', 'UserGroupPermissions'],
  SubscriptionSetting: ['ChannelSubscription'],
  UserProperty: ['User'],
  UserSetting: ['UserSettings'],
};
/** Matches words of the REST interface in names. `private` describes channels, but not messages. */
const REST_NAME = /(^|_)(realm|streams?|pms?|dms?|org|private_(messages?|typing))(_|$)/;
/** Matches words of the REST interface in descriptions. */
const REST_WORD = /\b(realm|streams?|pms?|private messages?|private conversations?)\b/i;
/** Matches coordinates that may have names of the REST interface: error codes, which are the same in both APIs. */
const AS_OVER_REST = /^ErrorCode\./;
/** Matches the description of an interface that is kept for the clients of the previous version. */
const FORMER_NAME = /^Former name of /;
/** Matches types of errors that no resolver returns: of an unavailable service, and of requests without valid credentials. */
const OF_TRANSPORT = /^(RequestTimeout|StorageFull|Unauthorized|InvalidApiKey|InvalidJson)Error$/;
/** Returns whether Relay defines a type of this name, so that it needs no description here. */
const isHelper = (name: string) => /(Connection|Edge)$/.test(name) || name === 'PageInfo';

/** Checks the items of a schema, and counts them. @returns The missing or wrong items, and the numbers of all items. */
export function count(schema: GraphQLSchema): { readonly findings: Findings; readonly counted: SchemaCounts } {
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
  const objects = types.filter((type) => isObjectType(type) || isInterfaceType(type));
  const inputs = types.filter(isInputObjectType);
  const enums = types.filter(isEnumType);
  const fields = objects.flatMap((type) =>
    Object.values(type.getFields()).map((field) => ({ at: `${type.name}.${field.name}`, parent: type, field })),
  );
  const args = fields.flatMap(({ at, field }) =>
    field.args.map((arg) => ({
      at: `${at}(${arg.name}:)`,
      name: arg.name,
      type: arg.type,
      description: arg.description,
    })),
  );
  const inputFields = inputs.flatMap((type) =>
    Object.values(type.getFields()).map(({ name, type: of, description }) => ({
      at: `${type.name}.${name}`,
      name,
      type: of,
      description,
    })),
  );
  const enumValues = enums.flatMap((type) =>
    type.getValues().map(({ name, description }) => ({ at: `${type.name}.${name}`, description })),
  );
  const mutations = Object.values(schema.getMutationType()?.getFields() ?? {});
  const connections = objects.filter(({ name }) => name.endsWith('Connection')) as GraphQLObjectType[];
  const connectionFields = fields.filter(({ field }) => getNamedType(field.type).name.endsWith('Connection'));
  const isIntegerId = ({ name, type }: { name: string; type: GraphQLInputType | GraphQLOutputType }) =>
    INTEGERS.has(getNamedType(type).name) && NAMES_AN_OBJECT.test(name) && !OWN.has(name);
  const bare = <T extends { at: string; description?: string | null | undefined }>(all: readonly T[]) =>
    all.filter(({ description }) => !description).map(({ at }) => at);
  const members: readonly Member[] = [
    ...fields.map(({ at, parent, field: { name, type, description, deprecationReason } }) => ({
      ...{ at, parent, snake: toSnake(name), type, description, deprecationReason },
    })),
    ...inputs.flatMap((parent) =>
      Object.values(parent.getFields()).map(({ name, type, description, deprecationReason }) => ({
        ...{ at: `${parent.name}.${name}`, parent, snake: toSnake(name), type, description, deprecationReason },
      })),
    ),
    ...enums.flatMap((parent) =>
      parent.getValues().map((value) => ({
        ...{ at: `${parent.name}.${value.name}`, parent, snake: value.name.toLowerCase() },
        ...{ description: value.description, deprecationReason: value.deprecationReason },
      })),
    ),
  ].filter(({ deprecationReason }) => deprecationReason == null);
  const named = [
    ...members,
    ...types
      .filter(({ description }) => !FORMER_NAME.test(description ?? ''))
      .map(({ name, description }) => ({ at: name, snake: toSnake(name), description })),
  ];
  const settings = settingsIn(members);
  const eventUnion = schema.getType('Event');
  const eventTypes = isInterfaceType(eventUnion) ? schema.getPossibleTypes(eventUnion) : [];
  const read = reachedFrom(schema, [schema.getQueryType(), schema.getMutationType()]);
  const told = reachedFrom(schema, eventTypes);
  return {
    findings: {
      undescribedTypes: types
        .filter(({ name, description }) => !isHelper(name) && !description)
        .map(({ name }) => name),
      undescribedFields: bare(
        fields
          .filter(({ parent }) => !isHelper(parent.name))
          .map(({ at, field }) => ({ at, description: field.description })),
      ),
      undescribedArguments: bare(args),
      undescribedInputFields: bare(inputFields),
      undescribedEnumValues: bare(enumValues),
      mutationsWithoutErrorUnion: mutations
        .filter(({ type }) => !isUnionType(getNamedType(type)))
        .map(({ name }) => name),
      integerIdsInInputs: [...args, ...inputFields].filter(isIntegerId).map(({ at }) => at),
      integerForeignKeys: fields
        .filter(({ field }) => isIntegerId({ name: field.name, type: field.type }))
        .map(({ at }) => at),
      foreignKeys: fields
        .filter(({ field }) => field.name !== 'id')
        .filter(({ at, field }) => getNamedType(field.type).name === 'ID' && !NAMES_NOTHING_SHOWN.test(at))
        .filter(({ at }) => !NAMES_WHAT_IS_GONE.has(at))
        .map(({ at }) => at),
      refusalsOfAll: Object.values(schema.getQueryType()?.getFields() ?? {})
        .filter(({ name, type }) => isNonNullType(type) && !FOR_EVERYBODY.has(name))
        .map(({ name }) => name),
      connectionsWithoutNodes: connections.filter((type) => type.getFields()['nodes'] === undefined).map(nameOf),
      connectionsWithoutTotalCount: connections
        .filter((type) => type.getFields()['totalCount'] === undefined)
        .map(nameOf),
      listsWithoutBound: fields
        .filter(({ parent }) => !isHelper(parent.name) && !parent.getInterfaces().some(({ name }) => name === 'Event'))
        // The length of an error's `path` is limited by the depth of the input.
        .filter(({ field }) => isListType(getNullableType(field.type)) && field.name !== 'path')
        .filter(({ field }) => !SAYS_BOUND.test(field.description ?? ''))
        .map(({ at }) => at),
      unionFieldConflicts: conflicts(eventTypes),
      valuesOfEvents: objects
        .filter(({ name }) => told.has(name) && !read.has(name) && !eventTypes.some((type) => type.name === name))
        .map(nameOf),
      idsOfNoNode: objects
        .filter((type) => type.getFields()['id'] !== undefined)
        .filter((type) => type.name !== 'Node' && !type.getInterfaces().some(({ name }) => name === 'Node'))
        .map(nameOf),
      alternatives: [
        ...inputs
          .filter(({ isOneOf }) => !isOneOf)
          .flatMap((type) => alternativesAmong(type.name, Object.values(type.getFields()))),
        ...fields.flatMap(({ at, field }) => alternativesAmong(at, field.args)),
      ],
      valuesWithoutField: enums
        .filter(({ name }) => NAMES_FIELDS.test(name))
        .flatMap((type) =>
          type
            .getValues()
            .filter(({ name }) => !holdersOf(schema, type.name).some((of) => hasPath(of, name.toLowerCase())))
            .map(({ name }) => `${type.name}.${name}`),
        ),
      unspecifiedScalars: types
        .filter((type) => isScalarType(type))
        .filter(({ specifiedByURL }) => specifiedByURL == null)
        .map(nameOf),
      misnamedTimes: members
        .filter(({ type, snake }) => type && (getNamedType(type).name === 'DateTime') !== /_at$/.test(snake))
        .map(({ at }) => at),
      restWords: named
        .filter(({ at, snake }) => REST_NAME.test(snake) && !AS_OVER_REST.test(at))
        .map(({ at }) => at)
        .concat(
          named.filter(({ description }) => REST_WORD.test(description ?? '')).map(({ at }) => `${at}: description`),
        ),
      misnamedConnections: connections.flatMap((type) => {
        const edge = getNamedType(type.getFields()['edges']?.type) as GraphQLObjectType | undefined;
        const node = getNamedType(edge?.getFields()['node']?.type)?.name;
        return [type.name, edge?.name].join() === [`${node}Connection`, `${node}Edge`].join() ? [] : [type.name];
      }),
      repeatedSettings: settings.repeated,
      transportErrors: types
        .filter(isUnionType)
        .flatMap((type) => type.getTypes().map((member) => `${type.name}: ${member.name}`))
        .filter((at) => OF_TRANSPORT.test(at.split(': ')[1] ?? '')),
    },
    counted: {
      types: types.length,
      fields: fields.length,
      arguments: args.length,
      inputFields: inputFields.length,
      enumValues: enumValues.length,
      mutations: mutations.length,
      connections: connections.length,
      connectionFields: connectionFields.length,
      sortedConnections: connectionFields.filter(({ field }) => field.args.some(({ name }) => name === 'orderBy'))
        .length,
      viewerCan: fields.filter(({ field }) => field.name.startsWith('viewerCan')).length,
      oneOfInputs: inputs.filter(({ isOneOf }) => isOneOf).length,
      eventTypes: eventTypes.length,
      members: members.length,
      settingMembers: settings.count,
    },
  };
}

/** A field, input field or enum value that is not deprecated. */
interface Member {
  /** Type and name, such as `Channel.name`. */
  readonly at: string;
  readonly parent: GraphQLNamedType;
  /** Name in lower case with underscores, whatever the kind of member. */
  readonly snake: string;
  readonly description?: string | null | undefined;
  readonly deprecationReason?: string | null | undefined;
  /** Absent for enum values. */
  readonly type?: GraphQLInputType | GraphQLOutputType;
}

const toSnake = (name: string): string =>
  name.replaceAll(/[A-Z]+(?![a-z])|[A-Z]/g, (letters, at) => `${at > 0 ? '_' : ''}${letters}`).toLowerCase();

/** Returns the types whose fields the values of an enum name. Empty if the enum is unknown. */
const holdersOf = (schema: GraphQLSchema, name: string): readonly GraphQLObjectType[] =>
  (FIELDS_OF[name] ?? [name.replace(/OrderField$/, '')]).map((of) => schema.getType(of)).filter(isObjectType);

/** Returns whether a name in lower case is a field of the type, or of an object in such a field: `channel_name`. */
function hasPath(type: GraphQLObjectType, snake: string): boolean {
  return Object.values(type.getFields()).some((field) => {
    const own = toSnake(field.name);
    if (own === snake) return true;
    const inner = getNamedType(field.type);
    return snake.startsWith(`${own}_`) && isObjectType(inner) && hasPath(inner, snake.slice(own.length + 1));
  });
}

/** Matches types whose fields are settings or permissions. */
const OF_SETTINGS = /^UserSettings$|Permissions$/;
/** Fields that all objects have. They are not settings. */
const NO_SETTINGS = new Set(['id', 'name', 'description', 'rendered_description', 'permissions']);

/**
 * Counts the members of types that declare settings or permissions. A type declares a group of settings if it has more than
 * half of the names of the group. The groups are the values of `OrganizationSetting`, and the fields of each output type that
 * `OF_SETTINGS` matches.
 *
 * @returns `count`: number of these members. `repeated`: names of types of the same kind (output, input, enum) that declare the
 * same group.
 */
function settingsIn(members: readonly Member[]): { readonly count: number; readonly repeated: readonly string[] } {
  const byType = [...Map.groupBy(members, ({ parent }) => parent)].map(([type, own]) => ({
    type,
    kind: isEnumType(type) ? 'enum' : isInputObjectType(type) ? 'input' : 'output',
    names: new Set(own.map(({ snake }) => snake)),
  }));
  const groups = byType
    .filter(
      ({ type, kind }) => type.name === 'OrganizationSetting' || (kind === 'output' && OF_SETTINGS.test(type.name)),
    )
    .map(({ names }) => [...names].filter((name) => !NO_SETTINGS.has(name)));
  const declaring = groups.map((group) =>
    byType.filter(({ names }) => group.filter((name) => names.has(name)).length > group.length / 2),
  );
  const repeated = declaring.flatMap((types) =>
    [...Map.groupBy(types, ({ kind }) => kind).values()]
      .filter((ofKind) => ofKind.length > 1)
      .map((ofKind) => ofKind.map(({ type }) => type.name).join(', ')),
  );
  const all = [...new Set(groups.flat())];
  const types = new Set(declaring.flat());
  return {
    count: [...types].reduce((sum, { names }) => sum + all.filter((name) => names.has(name)).length, 0),
    repeated: [...new Set(repeated)],
  };
}

/** Returns the names of the given types and of all types that their fields lead to, directly or indirectly. */
function reachedFrom(schema: GraphQLSchema, from: readonly (GraphQLNamedType | null | undefined)[]) {
  const reached = new Set<string>();
  const walk = (type: GraphQLNamedType): void => {
    if (reached.has(type.name)) return;
    reached.add(type.name);
    if (isUnionType(type) || (isInterfaceType(type) && type.name !== 'Event')) {
      schema.getPossibleTypes(type).forEach(walk);
    }
    if (isObjectType(type) || isInterfaceType(type)) {
      for (const field of Object.values(type.getFields())) walk(getNamedType(field.type));
    }
  };
  for (const type of from) if (type != null) walk(type);
  return reached;
}

/** Arguments of a field, or fields of an input. */
type Given = readonly {
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly description?: string | null | undefined;
  readonly deprecationReason?: string | null | undefined;
}[];

/** Matches the suffix of fields that refer to an object: "channelId", "channelName", "anchorId". */
const HOW_IT_IS_NAMED = /(Id|Name|Email|Key|Ref)$/;
/** Fields that identify an object if the parent's name contains the kind of the object: `user(userId:, email:)`. */
const KNOWN_BY = new Set(['name', 'email']);
/** Match fields that refer to a channel or topic (`A_CHANNEL`), or to users (`PEOPLE`). */
const [A_CHANNEL, PEOPLE] = [/^(channel|topic)(Id|Name)?$/, /^(direct|directTo|toUserIds|recipients|recipientIds)$/];
/** Matches phrases in the description of a field which say that this field excludes another field of the same input. */
const NOT_TOGETHER = /(?:instead of|absent with|not with|without|either|unless) `(\w+)`/gi;

/**
 * Returns pairs of optional fields of which only one may be given. Such a pair is two ways to refer to one object, or two kinds
 * of recipients of a message. It is detected by names and descriptions.
 */
function alternativesAmong(at: string, all: Given): string[] {
  const optional = all.filter(({ type, deprecationReason }) => !isNonNullType(type) && deprecationReason == null);
  const stem = (name: string) => name.replace(HOW_IT_IS_NAMED, '');
  const owner = at.toLowerCase();
  const isPair = ([one, other]: readonly [Given[number], Given[number]]) =>
    stem(one.name) === stem(other.name) ||
    (KNOWN_BY.has(other.name) && one.name.endsWith('Id') && owner.includes(stem(one.name).toLowerCase())) ||
    (A_CHANNEL.test(one.name) && PEOPLE.test(other.name)) ||
    [...(one.description ?? '').matchAll(NOT_TOGETHER)].some(([, name]) => name === other.name);
  const pairs = optional.flatMap((one) =>
    optional.filter((other) => other !== one).map((other) => [one, other] as const),
  );
  const found = pairs.filter(isPair).map((pair) =>
    pair
      .map(({ name }) => name)
      .toSorted()
      .join(' | '),
  );
  return [...new Set(found)].map((names) => `${at}: ${names}`);
}

const nameOf = ({ name }: GraphQLNamedType) => name;

/**
 * Returns names that are used for fields of different types, in object types that one document can select together. A document
 * that selects two such fields must use aliases.
 */
function conflicts(types: readonly GraphQLObjectType[]): string[] {
  const typesOf = new Map<string, Map<string, string[]>>();
  for (const type of types) {
    for (const field of Object.values(type.getFields())) {
      const byType = typesOf.get(field.name) ?? new Map<string, string[]>();
      typesOf.set(field.name, byType);
      byType.set(String(field.type), [...(byType.get(String(field.type)) ?? []), type.name]);
    }
  }
  return [...typesOf]
    .filter(([, byType]) => byType.size > 1)
    .map(([name, byType]) => `${name}: ${[...byType].map(([type, of]) => `${type} (${of.length})`).join(', ')}`);
}

function table({ findings, counted }: ReturnType<typeof count>): string {
  const share = (missing: readonly string[], all: number) =>
    (100 - (100 * missing.length) / Math.max(1, all)).toFixed(1);
  const rows: readonly (readonly [string, string | number])[] = [
    ['types described, %', share(findings.undescribedTypes, counted.types)],
    ['fields described, %', share(findings.undescribedFields, counted.fields)],
    ['arguments described, %', share(findings.undescribedArguments, counted.arguments)],
    ['input fields described, %', share(findings.undescribedInputFields, counted.inputFields)],
    ['enum values described, %', share(findings.undescribedEnumValues, counted.enumValues)],
    ['mutations with a typed error union, %', share(findings.mutationsWithoutErrorUnion, counted.mutations)],
    ['integer ids in arguments and inputs', findings.integerIdsInInputs.length],
    ['integer foreign keys on output objects', findings.integerForeignKeys.length],
    ['ids of objects that are not shown', findings.foreignKeys.length],
    ['connection types', counted.connections],
    ['connections with `nodes`, %', share(findings.connectionsWithoutNodes, counted.connections)],
    ['connections with `totalCount`, %', share(findings.connectionsWithoutTotalCount, counted.connections)],
    ['connection fields with `orderBy`', `${counted.sortedConnections} of ${counted.connectionFields}`],
    ['`viewerCan…` fields', counted.viewerCan],
    ['`@oneOf` inputs', counted.oneOfInputs],
    ['inputs and arguments that name one thing in two ways', findings.alternatives.length],
    ['event types on one field', counted.eventTypes],
    ['types of values in events', findings.valuesOfEvents.length],
    ['fields of events that conflict', findings.unionFieldConflicts.length],
    ['enum values without a field of their name', findings.valuesWithoutField.length],
    ['scalars without a specification', findings.unspecifiedScalars.length],
    ['dates that do not end in `At`, and other values that do', findings.misnamedTimes.length],
    ['members with a word of the REST interface', findings.restWords.length],
    ['connections not named by their node', findings.misnamedConnections.length],
    ['members that declare a setting or permission', `${counted.settingMembers} of ${counted.members}`],
    ['groups of types of one kind that declare the same settings', findings.repeatedSettings.length],
    ['errors of the transport in unions', findings.transportErrors.length],
  ];
  return ['| Measure | |', '|---|---|', ...rows.map(([what, value]) => `| ${what} | ${value} |`)].join('\n');
}

if (import.meta.main) {
  const [path = join(import.meta.dirname, '../schema.graphql'), verbose] = process.argv.slice(2);
  const result = count(buildSchema(readFileSync(path, 'utf8')));
  console.log(table(result));
  if (verbose !== undefined) console.log(JSON.stringify(result.findings, null, 2));
}
