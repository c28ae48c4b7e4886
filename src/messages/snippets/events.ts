import { defineEvent } from '../../events/define.ts';
import type { SavedSnippet } from '../../generated/prisma/client.ts';
import { toWire } from './wire.ts';

// All go to the author's own clients only: snippets are private.

export const savedSnippetAdded = defineEvent('saved_snippets', 'add', (snippet: SavedSnippet) => ({
  saved_snippet: toWire(snippet),
}));

export const savedSnippetUpdated = defineEvent('saved_snippets', 'update', (snippet: SavedSnippet) => ({
  saved_snippet: toWire(snippet),
}));

export const savedSnippetRemoved = defineEvent('saved_snippets', 'remove', (snippetId: number) => ({
  saved_snippet_id: snippetId,
}));
