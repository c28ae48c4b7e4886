import type { z } from 'zod';

/** A value on its way out: nobody writes to it, and what is absent is absent. */
export type Outgoing<T> = unknown extends T ? T : { readonly [K in keyof T]: Outgoing<Exclude<T[K], undefined>> };

/** The values of a wire shape: what REST replies, events and state have in common is declared once, as a zod object. */
export type Wire<S extends z.ZodType> = Outgoing<z.output<S>>;
