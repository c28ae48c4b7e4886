import type { ObjectFieldsShape } from '@pothos/core';
import { type GraphQLSchema, isObjectType } from 'graphql';
import type { RenderedEvent } from '../../../events/define.ts';
import { builder, type Types } from './builder.ts';
import { toGlobalId } from './global-ids.ts';

/**
 * The value from which the fields of an event are resolved. `event` is the event in the format of the REST interface. `facts`
 * is the data that the definition of the event adds for event projections (the fields that an event alone provides).
 */
export interface EventSource<Body = unknown, Data = unknown> {
  readonly id: number;
  readonly event: RenderedEvent & Body;
  readonly facts: Data;
  /**
   * User who made the change. Null if the service, the server's operator or a client that was not signed in made it. Also null
   * for new messages, and for events that an earlier version logged.
   */
  readonly actorId: number | null;
  /** State of the reader for whom a result is computed. Absent unless the operation selects reader fields. */
  readonly reader?: unknown;
}

/** Fields of an object whose values an event changes without containing the new ones. */
export interface Outdated {
  readonly typename: string;
  /** Row id of the object. Null for types of which each viewer sees one object: `Query` and `Organization`. */
  readonly id: number | null;
  /** Names of the fields. `PERMISSIONS` stands for all permissions of the viewer. */
  readonly fields: readonly string[];
}

/** Stands for all fields `viewerCan…` of a type. */
export const PERMISSIONS = 'viewerCan*';

/** Names of the outdated fields of `Query`, or a function that returns all outdated fields. */
type OutdatedBy<Source> = readonly string[] | ((source: Source) => readonly Outdated[]);

/** Returns outdated fields of `Query`. */
export const outdatedRoot = (...fields: readonly string[]): Outdated => ({ typename: 'Query', id: null, fields });

/** Returns outdated fields of several objects of a type. */
export const outdatedOf = (typename: string, ids: readonly number[], fields: readonly string[]): Outdated[] =>
  ids.map((id) => ({ typename, id, fields }));

/** The viewer's permissions in the organization, which depend on its settings, and on the viewer's role and groups. */
export const ORGANIZATION_PERMISSIONS: Outdated = { typename: 'Organization', id: null, fields: [PERMISSIONS] };

const outdatedBy = new Map<string, OutdatedBy<EventSource>>();

/** Returns the fields that each event makes outdated, for events whose fields do not depend on the event's data. */
export const declaredOutdated = (): readonly Outdated[] =>
  [...outdatedBy.values()].flatMap((by) => (typeof by === 'function' ? [] : [outdatedRoot(...by)]));

function outdatedIn(source: EventSource): readonly Outdated[] {
  const by = outdatedBy.get(keyOf(source.event.type, source.event.op)) ?? [];
  if (typeof by === 'function') return by(source);
  return by.length === 0 ? [] : [outdatedRoot(...by)];
}

/** Returns the names of fields, with those of all permissions for `PERMISSIONS`. */
function namesIn(schema: GraphQLSchema, { typename, fields }: Outdated): string[] {
  const type = schema.getType(typename);
  const names = isObjectType(type) ? Object.keys(type.getFields()) : [];
  return fields.flatMap((field) =>
    field === PERMISSIONS ? names.filter((name) => name.startsWith('viewerCan')) : field,
  );
}

const OutdatedFields = builder.objectRef<Outdated>('OutdatedFields').implement({
  description:
    'Fields of an object whose values an event may have changed, and whose new values it does not contain. Such fields ' +
    'are lists that objects enter or leave, and values that depend on a changed object. A client with a cache discards the ' +
    'values of these fields, and reads the displayed ones again. Not included are: fields of the objects in the event; ' +
    'lists that the message of `MessageSentEvent` enters; lists of messages that change because of ' +
    '`MessageUpdatedEvent`, `MessagesDeletedEvent` or a flag; and the order of lists.',
  fields: (t) => ({
    typeName: t.exposeString('typename', { description: 'Name of the GraphQL type of the object.' }),
    objectId: t.id({
      nullable: true,
      description:
        'The `id` of the object. Null for `Query` and `Organization`, of which a client has only one object.',
      resolve: ({ typename, id }) => (id === null ? null : (toGlobalId(typename, id) as never)),
    }),
    fields: t.stringList({
      description: 'Names of the fields, at most 30. Each name stands for the field with any arguments.',
      resolve: (outdated, _args, _ctx, { schema }) => namesIn(schema, outdated),
    }),
  }),
});

const nameOf = new Map<string, string>();
const keyOf = (type: string, op: string | undefined) => `${type}/${op ?? ''}`;

/**
 * Returns the name of the GraphQL type of an event; undefined if it has none.
 *
 * @param type `type` of the event over REST.
 * @param op `op` of the event over REST; undefined for types without operations.
 */
export function eventTypeName(type: string, op: string | undefined): string | undefined {
  return nameOf.get(keyOf(type, op));
}

/**
 * Returns the `type` and `op` over REST, and the name of the GraphQL type, of every event that has a GraphQL type. `op` is
 * undefined for types without operations.
 */
export function registeredEventTypes(): readonly { type: string; op: string | undefined; name: string }[] {
  return [...nameOf].map(([key, name]) => {
    const [type = '', op] = key.split('/');
    return { type, op: op === '' ? undefined : op, name };
  });
}

let enumOfTypes: ReturnType<typeof makeEventTypeEnum> | undefined;

/**
 * Returns the enum `EventType`, with a value for each registered event `type`. Must be called only in a function that defines
 * fields, because these functions run after all types are registered.
 */
export function eventTypeEnum() {
  enumOfTypes ??= makeEventTypeEnum();
  return enumOfTypes;
}

/** Values of `EventType` that differ from `type` over REST. */
const VALUES: Readonly<Record<string, string>> = {
  default_streams: 'DEFAULT_CHANNELS',
  realm: 'ORGANIZATION',
  realm_bot: 'BOT',
  realm_domains: 'ORGANIZATION_DOMAINS',
  realm_emoji: 'CUSTOM_EMOJI',
  realm_user: 'USER',
  realm_user_settings_defaults: 'USER_SETTINGS_DEFAULTS',
  stream: 'CHANNEL',
};

function makeEventTypeEnum() {
  const kinds = Map.groupBy(registeredEventTypes(), ({ type }) => type);
  const values = [...kinds].map(([type, ofType]) => {
    const description = `Published as ${ofType.map(({ name }) => `\`${name}\``).join(', ')}.`;
    return [VALUES[type] ?? type.toUpperCase(), { value: type, description }] as const;
  });
  return builder.enumType('EventType', {
    description: 'Type of an event. Clients register event queues for types.',
    values: Object.fromEntries(values) as Record<string, { readonly value: string }>,
  });
}

export const EventInterface = builder.interfaceRef<EventSource>('Event').implement({
  description:
    'An event of the event log. Its own values are those at the time of the event, even if it is sent later. An ' +
    'object, such as a message, is taken from the event if the event contains all its selected fields. ' +
    'Otherwise the current object is read when the event is sent, and is null if it was deleted or the viewer ' +
    'cannot see it.',
  fields: (t) => ({
    position: t.expose('id', {
      type: 'LongId',
      description:
        'Position of the event in the log: higher than that of every earlier event. Positions can be skipped. An event ' +
        'has the same position on every transport.',
    }),
    type: t.field({
      type: eventTypeEnum(),
      description: 'Type of the event.',
      resolve: ({ event }) => event.type,
    }),
    outdated: t.field({
      type: [OutdatedFields],
      description:
        'Fields whose values the event may have changed, and whose new values it does not contain. At most one item for ' +
        'each object in the event, one for `Query` and one for `Organization`.',
      complexity: { field: 1, multiplier: 1 },
      resolve: outdatedIn,
    }),
  }),
  resolveType: ({ event }) => eventTypeName(event.type, event.op) as never,
});

interface EventOptions<Source> {
  readonly description?: string;
  readonly formerName?: string;
  readonly outdates?: OutdatedBy<Source>;
}

/**
 * Adds the GraphQL type for events with one `type` and `op` over REST. Each such pair has one call of `defineEvent` and one
 * call of this function.
 *
 * All fields, and everything reachable from them, must resolve synchronously from the event alone, without context or
 * authorization scopes. One execution serves all recipients with the same rendering of the event, so data of one viewer would
 * reach other viewers. Entities must be shown by `projectedFromEvent`.
 *
 * @param type `type` of the event over REST.
 * @param op `op` of the event over REST; undefined for types without operations.
 * @param name Name of the GraphQL type, in the past tense: DraftsAddedEvent.
 * @param options `outdates`: the fields that the event makes outdated. `formerName`: name of the type in the previous version.
 *   It becomes an interface of the type, so that the subscriptions of open pages stay valid.
 * @throws Error if this `type` and `op` already have a GraphQL type.
 */
export function eventType<Body = unknown, Data = unknown>(
  type: string,
  op: string | undefined,
  name: string,
  fields: ObjectFieldsShape<Types, EventSource<Body, Data>>,
  { description, formerName, outdates }: EventOptions<EventSource<Body, Data>> = {},
): void {
  const key = keyOf(type, op);
  if (nameOf.has(key)) throw new Error(`Event ${key} has two GraphQL types`);
  nameOf.set(key, name);
  if (outdates !== undefined) outdatedBy.set(key, outdates as OutdatedBy<EventSource>);
  const ref = builder.objectRef<EventSource<Body, Data>>(name);
  refs.set(key, ref as ReturnType<typeof builder.objectRef<EventSource>>);
  const former = formerName === undefined ? [] : [formerInterface(formerName, name, fields)];
  ref.implement({
    ...(description !== undefined && { description }),
    interfaces: (() => [EventInterface, ...former, ...(interfacesOf.get(key) ?? [])]) as never,
    fields,
  });
}

const formerInterface = <Body, Data>(
  formerName: string,
  name: string,
  fields: ObjectFieldsShape<Types, EventSource<Body, Data>>,
) =>
  builder.interfaceRef<EventSource<Body, Data>>(formerName).implement({
    description: `Former name of \`${name}\`. Will be removed in the next version.`,
    interfaces: [EventInterface] as never,
    fields: fields as never,
  });

const refs = new Map<string, ReturnType<typeof builder.objectRef<EventSource>>>();

const interfacesOf = new Map<string, (typeof EventInterface)[]>();

/**
 * Adds an interface to the GraphQL type for events with one `type` and `op` over REST, which another file has declared. The
 * fields of the interface are added to the type and must meet the requirements of `eventType`.
 */
export function eventInterface(type: string, op: string | undefined, ref: typeof EventInterface): void {
  interfacesOf.set(keyOf(type, op), [...(interfacesOf.get(keyOf(type, op)) ?? []), ref]);
}

/**
 * Adds fields to the GraphQL type for events with one `type` and `op` over REST, which another file has declared. The fields
 * must meet the requirements of `eventType`.
 *
 * @throws Error if there is no such type.
 */
export function eventFields(type: string, op: string | undefined, fields: ObjectFieldsShape<Types, EventSource>): void {
  const ref = refs.get(keyOf(type, op));
  if (ref === undefined) throw new Error(`Event ${keyOf(type, op)} has no GraphQL type`);
  builder.objectFields(ref, fields as never);
}

eventType('heartbeat', undefined, 'HeartbeatEvent', () => ({}), {
  description: 'Sent after a period without events, to show that the connection is alive.',
});
