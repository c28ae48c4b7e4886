import { z } from 'zod';
import type { SavedSnippet } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireSavedSnippet = z
  .object({
    id: z.int(),
    title: z.string(),
    content: z.string(),
    date_created: z.int().describe('Creation time, in UNIX seconds.'),
  })
  .meta({ id: 'SavedSnippet' });
export type WireSavedSnippet = Wire<typeof wireSavedSnippet>;

export function toWire({ id, title, content, createdAt }: SavedSnippet): WireSavedSnippet {
  return { id, title, content, date_created: Math.floor(createdAt.getTime() / 1000) };
}

/** Snapshot of a snippet in an event, from which the event is rendered. */
export interface SnippetSnapshot extends WireSavedSnippet {
  /** Time of the creation, in ISO 8601 with milliseconds. Absent in events logged by earlier versions. */
  readonly createdAt?: string;
}

export const toSnapshot = (snippet: SavedSnippet): SnippetSnapshot => ({
  ...toWire(snippet),
  createdAt: snippet.createdAt.toISOString(),
});

/** Returns a snippet as the REST API shows it, without the fields that only event snapshots contain. */
export const wireOf = ({ createdAt: _, ...snippet }: SnippetSnapshot): WireSavedSnippet => snippet;
