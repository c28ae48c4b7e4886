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

/** A snippet as its events keep it. */
export interface SnippetFacts extends WireSavedSnippet {
  /** ISO 8601, to the millisecond; absent in events logged before they told it. */
  readonly createdAt?: string;
}

export const toFacts = (snippet: SavedSnippet): SnippetFacts => ({
  ...toWire(snippet),
  createdAt: snippet.createdAt.toISOString(),
});

/** What the wire has of a snippet. */
export const wireOf = ({ createdAt: _, ...snippet }: SnippetFacts): WireSavedSnippet => snippet;
