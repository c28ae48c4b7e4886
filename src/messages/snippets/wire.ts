import type { SavedSnippet } from '../../generated/prisma/client.ts';

export interface WireSavedSnippet {
  readonly id: number;
  readonly title: string;
  readonly content: string;
  /** UNIX seconds. */
  readonly date_created: number;
}

export function toWire({ id, title, content, createdAt }: SavedSnippet): WireSavedSnippet {
  return { id, title, content, date_created: Math.floor(createdAt.getTime() / 1000) };
}
