import { z } from 'zod';

/** The documentation of a kind of event that clients receive over REST. */
export interface DocumentedEvent {
  readonly type: string;
  /** The field `op` of the event. Undefined for types without operations. */
  readonly op: string | undefined;
  /** The recipients, as a noun phrase: "everyone who sees the channel". */
  readonly recipients: string;
  /** The schema of the whole event as it is sent. */
  readonly wire: z.ZodType;
}

const documented = new Map<string, DocumentedEvent>();
const nameOf = (type: unknown, op: unknown) => `${type}/${op ?? ''}`;

/**
 * Documents the content and recipients of a kind of event, next to its `defineEvent`. The events reference is generated from
 * this documentation, and tests check every event against it.
 *
 * @param fields Fields of the event besides `id`, `type` and `op`.
 * @throws Error if the kind of event is documented already.
 */
export function documentEvent(
  { type, op }: { readonly type: string; readonly op: string | undefined },
  recipients: string,
  fields: z.ZodRawShape,
): void {
  const name = nameOf(type, op);
  if (documented.has(name)) throw new Error(`Event ${name} is documented twice`);
  const kind = {
    id: z.int().describe('Position of the event in the log.'),
    type: z.literal(type),
    ...(op !== undefined && { op: z.literal(op) }),
  };
  documented.set(name, { type, op, recipients, wire: z.strictObject({ ...kind, ...fields }) });
}

documentEvent({ type: 'heartbeat', op: undefined }, 'every queue without events for a while', {});

/** Returns every kind of event that clients receive. */
export const documentedEvents = (): readonly DocumentedEvent[] => [...documented.values()];

/** An event as a client receives it: its id, its type, and the fields of that type. */
export const wireEvent = z
  .looseObject({ id: z.int(), type: z.string(), op: z.string().optional() })
  .check(({ value, issues }) => {
    const name = nameOf(value.type, value.op);
    const parsed = documented.get(name)?.wire.safeParse(value);
    if (parsed?.success !== false) return;
    issues.push({ code: 'custom', input: value, message: `${name}: ${z.prettifyError(parsed.error)}` });
  })
  .meta({ id: 'Event' });
