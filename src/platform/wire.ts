import type { z } from 'zod';

/** A value to be sent: read-only at every level, and without undefined fields. */
export type Outgoing<T> = unknown extends T ? T : { readonly [K in keyof T]: Outgoing<Exclude<T[K], undefined>> };

/**
 * Type of the values that a zod schema describes. Shapes that REST responses, events and state have in common are declared
 * once, as such a schema.
 */
export type Wire<S extends z.ZodType> = Outgoing<z.output<S>>;
