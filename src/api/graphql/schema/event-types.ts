import type { ObjectFieldsShape } from '@pothos/core';
import type { RenderedEvent } from '../../../events/define.ts';
import { builder, type Types } from './builder.ts';

/**
 * The value from which the fields of an event are resolved. `event` is the event in the format of the REST interface. `facts`
 * is the data that the definition of the event adds for event projections.
 */
export interface EventSource<Body = unknown, Facts = unknown> {
  readonly id: number;
  readonly event: RenderedEvent & Body;
  readonly facts: Facts;
  /** State of the reader for whom a result is computed. Absent unless the operation selects reader fields. */
  readonly reader?: unknown;
}

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
    'An event of the event log. Its own values are those at the time of the event, also if it is sent later. An ' +
    'object, such as a message, is taken from the event if the event contains all its selected fields. ' +
    'Otherwise the current object is read when the event is sent, and is null if it was deleted or the viewer ' +
    'cannot see it.',
  fields: (t) => ({
    position: t.expose('id', {
      type: 'LongId',
      description:
        'Position of the event in the log. Each event has a higher position than the one before, but not always by one. ' +
        'The event has the same position on every transport.',
    }),
    type: t.field({
      type: eventTypeEnum(),
      description: 'Type of the event.',
      resolve: ({ event }) => event.type,
    }),
  }),
  resolveType: ({ event }) => eventTypeName(event.type, event.op) as never,
});

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
 * @param options `formerName`: name of the type in the previous version. It becomes an interface of the type, so that the
 *   subscriptions of open pages stay valid.
 * @throws Error if this `type` and `op` already have a GraphQL type.
 */
export function eventType<Body = unknown, Facts = unknown>(
  type: string,
  op: string | undefined,
  name: string,
  fields: ObjectFieldsShape<Types, EventSource<Body, Facts>>,
  { description, formerName }: { readonly description?: string; readonly formerName?: string } = {},
): void {
  const key = keyOf(type, op);
  if (nameOf.has(key)) throw new Error(`Event ${key} has two GraphQL types`);
  nameOf.set(key, name);
  const ref = builder.objectRef<EventSource<Body, Facts>>(name);
  refs.set(key, ref as ReturnType<typeof builder.objectRef<EventSource>>);
  const former = formerName === undefined ? [] : [formerInterface(formerName, name, fields)];
  ref.implement({
    ...(description !== undefined && { description }),
    interfaces: (() => [EventInterface, ...former, ...(interfacesOf.get(key) ?? [])]) as never,
    fields,
  });
}

const formerInterface = <Body, Facts>(
  formerName: string,
  name: string,
  fields: ObjectFieldsShape<Types, EventSource<Body, Facts>>,
) =>
  builder.interfaceRef<EventSource<Body, Facts>>(formerName).implement({
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
