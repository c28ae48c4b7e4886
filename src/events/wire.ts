import { z } from 'zod';

/** What clients are told over REST of a kind of event. */
export interface ToldEvent {
  readonly type: string;
  /** Undefined for types without operations. */
  readonly op: string | undefined;
  /** A noun: "everyone who sees the channel". */
  readonly heardBy: string;
  /** The whole event as it is sent. */
  readonly wire: z.ZodType;
}

const told = new Map<string, ToldEvent>();
const nameOf = (type: unknown, op: unknown) => `${type}/${op ?? ''}`;

/**
 * Says what clients are sent of a kind of event and who hears it, beside its `defineEvent`: the reference is made of it, and
 * tests hold every event against it.
 *
 * @param fields What it has besides `id`, `type` and `op`.
 */
export function tells(
  { type, op }: { readonly type: string; readonly op: string | undefined },
  heardBy: string,
  fields: z.ZodRawShape,
): void {
  const name = nameOf(type, op);
  if (told.has(name)) throw new Error(`Event ${name} is told of twice`);
  const kind = {
    id: z.int().describe('Its place in the log.'),
    type: z.literal(type),
    ...(op !== undefined && { op: z.literal(op) }),
  };
  told.set(name, { type, op, heardBy, wire: z.strictObject({ ...kind, ...fields }) });
}

tells({ type: 'heartbeat', op: undefined }, 'every queue that has been silent for a while', {});

/** Every kind of event that clients are told of. */
export const toldEvents = (): readonly ToldEvent[] => [...told.values()];

/** An event as a client gets it: the place in the log, the type, and what the type says. */
export const wireEvent = z
  .looseObject({ id: z.int(), type: z.string(), op: z.string().optional() })
  .check(({ value, issues }) => {
    const name = nameOf(value.type, value.op);
    const parsed = told.get(name)?.wire.safeParse(value);
    if (parsed?.success !== false) return;
    issues.push({ code: 'custom', input: value, message: `${name}: ${z.prettifyError(parsed.error)}` });
  })
  .meta({ id: 'Event' });
