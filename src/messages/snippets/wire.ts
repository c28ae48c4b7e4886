import { z } from 'zod';
import type { SavedSnippet } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireSavedSnippet = z
  .object({ id: z.int(), title: z.string(), content: z.string(), date_created: z.int().describe('UNIX seconds.') })
  .meta({ id: 'SavedSnippet' });
export type WireSavedSnippet = Wire<typeof wireSavedSnippet>;

export function toWire({ id, title, content, createdAt }: SavedSnippet): WireSavedSnippet {
  return { id, title, content, date_created: Math.floor(createdAt.getTime() / 1000) };
}
