import type { ObjectFieldsShape } from '@pothos/core';
import type { RenderedEvent } from '../../events/define.ts';
import { builder, type Types } from './builder.ts';

/**
 * What an event's fields are resolved from: its id, what the client is sent of it over REST, and what the event's type
 * says besides (`facts` of `defineEvent`).
 */
export interface EventSource<Body = unknown, Facts = unknown> {
  readonly id: number;
  readonly event: RenderedEvent & Body;
  readonly facts: Facts;
}

const nameOf = new Map<string, string>();
const keyOf = (type: string, op: string | undefined) => `${type}/${op ?? ''}`;

/** The GraphQL type of a kind of event; undefined when it has none. */
export function eventTypeName(type: string, op: string | undefined): string | undefined {
  return nameOf.get(keyOf(type, op));
}

/** Every kind of event with a GraphQL type: wire type, op ('' for none), type name. */
export function registeredEventTypes(): readonly { type: string; op: string | undefined; name: string }[] {
  return [...nameOf].map(([key, name]) => {
    const [type = '', op] = key.split('/');
    return { type, op: op === '' ? undefined : op, name };
  });
}

let enumOfTypes: ReturnType<typeof makeEventTypeEnum> | undefined;

/** The enum `EventType`, of the types that are registered. Only for the fields of a type: they are asked for last. */
export function eventTypeEnum() {
  enumOfTypes ??= makeEventTypeEnum();
  return enumOfTypes;
}

function makeEventTypeEnum() {
  const kinds = Map.groupBy(registeredEventTypes(), ({ type }) => type);
  const values = [...kinds].map(([type, ofType]) => {
    const description = `Told by ${ofType.map(({ name }) => `\`${name}\``).join(', ')}.`;
    return [type.toUpperCase(), { value: type, description }] as const;
  });
  return builder.enumType('EventType', {
    description:
      'What kind of thing an event is about: what a queue is registered for. Each is `type` over REST, in capital letters.',
    values: Object.fromEntries(values) as Record<string, { readonly value: string }>,
  });
}

export const EventInterface = builder.interfaceRef<EventSource>('Event').implement({
  description:
    'Something that happened. What it tells of itself is what was true then, in replay as live. An entity it shows is ' +
    'as the event has it where that holds all that is asked for, and else as it is when it is sent: null where it is ' +
    'gone by then, or not for the viewer to see.',
  fields: (t) => ({
    position: t.expose('id', {
      type: 'LongId',
      description: 'Its place in the log: rises with each event, not by one. The same number over every transport.',
    }),
    type: t.field({
      type: eventTypeEnum(),
      description: 'What kind of thing it is about.',
      resolve: ({ event }) => event.type,
    }),
  }),
  resolveType: ({ event }) => eventTypeName(event.type, event.op) as never,
});

/**
 * Adds the GraphQL type of one kind of event, next to its `defineEvent`.
 *
 * Its fields, and all that is reachable from them, are resolved from the event alone, at once: no context, no scope. One
 * execution serves every reader of the same rendering, so anything of one viewer's would be shown to others. Entities it
 * shows by `fromEvent` and in no other way.
 *
 * @param type As on the wire. @param op As on the wire, or undefined for types without operations.
 * @param name In the past tense: DraftsAddedEvent.
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
  description: 'Nothing happened for a while; the connection is alive.',
});
