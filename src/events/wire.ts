import { z } from 'zod';

/** An event as a client gets it: the place in the log, the type, and what the type says. */
export const wireEvent = z
  .looseObject({ id: z.int(), type: z.string(), op: z.string().optional() })
  .meta({ id: 'Event' });
