import type { ObjectFieldsShape } from '@pothos/core';
import type { RenderedEvent } from '../../../events/define.ts';
import { builder, type Types } from './builder.ts';

/**
 * The value from which the fields of an event are resolved: its id, its REST representation, and the `facts` that its
 * definition adds for event projections.
 */
export interface EventSource<Body = unknown, Facts = unknown> {
  readonly id: number;
  readonly event: RenderedEvent & Body;
  readonly facts: Facts;
}

const nameOf = new Map<string, string>();
const keyOf = (type: string, op: string | undefined) => `${type}/${op ?? ''}`;

/**
 * Returns the name of the GraphQL type of an event; undefined if it has none.
 *
 * @param op Wire op; undefined for types without operations.
 */
export function eventTypeName(type: string, op: string | undefined): string | undefined {
  return nameOf.get(keyOf(type, op));
}

/** Returns every kind of event that has a GraphQL type: wire type, wire op (undefined if none) and type name. */
export function registeredEventTypes(): readonly { type: string; op: string | undefined; name: string }[] {
  return [...nameOf].map(([key, name]) => {
    const [type = '', op] = key.split('/');
    return { type, op: op === '' ? undefined : op, name };
  });
}

let enumOfTypes: ReturnType<typeof makeEventTypeEnum> | undefined;

/**
 * Returns the enum `EventType`, with a value for each registered wire type. Must be called only in a function that defines
 * fields, because these run after all types are registered.
 */
export function eventTypeEnum() {
  enumOfTypes ??= makeEventTypeEnum();
  return enumOfTypes;
}

function makeEventTypeEnum() {
  const kinds = Map.groupBy(registeredEventTypes(), ({ type }) => type);
  const values = [...kinds].map(([type, ofType]) => {
    const description = `Published as ${ofType.map(({ name }) => `\`${name}\``).join(', ')}.`;
    return [type.toUpperCase(), { value: type, description }] as const;
  });
  return builder.enumType('EventType', {
    description:
      'Type of an event. Clients register event queues for types. Each value is `type` over REST, in capital letters.',
    values: Object.fromEntries(values) as Record<string, { readonly value: string }>,
  });
}

export const EventInterface = builder.interfaceRef<EventSource>('Event').implement({
  description:
    'An event of the log. Its own values are those at the time of the event, both live and in replay. An entity is read ' +
    'from the event if the event contains all selected fields. Otherwise its current state is read when the event is ' +
    'sent, and it is null if it was deleted or the viewer cannot see it.',
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
 * Adds the GraphQL type of a kind of event. Each kind has one call of `defineEvent` and one of this function.
 *
 * All fields, and everything reachable from them, must resolve synchronously from the event alone, without context or
 * authorization scopes. One execution serves all readers with the same rendering of the event, so data of one viewer would
 * reach other viewers. Entities must be shown by `projectedFromEvent`.
 *
 * @param type Wire type.
 * @param op Wire op; undefined for types without operations.
 * @param name Name of the GraphQL type, in the past tense: DraftsAddedEvent.
 * @throws Error if this kind of event already has a type.
 */
export function eventType<Body = unknown, Facts = unknown>(
  type: string,
  op: string | undefined,
  name: string,
  fields: ObjectFieldsShape<Types, EventSource<Body, Facts>>,
  { description }: { readonly description?: string } = {},
): void {
  const key = keyOf(type, op);
  if (nameOf.has(key)) throw new Error(`Event ${key} has two GraphQL types`);
  nameOf.set(key, name);
  builder.objectRef<EventSource<Body, Facts>>(name).implement({
    ...(description !== undefined && { description }),
    interfaces: [EventInterface] as never,
    fields,
  });
}

eventType('heartbeat', undefined, 'HeartbeatEvent', () => ({}), {
  description: 'Sent after a period without events, to show that the connection is alive.',
});
