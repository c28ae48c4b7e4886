import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { documentEvent } from '../../events/wire.ts';
import type { SavedSnippet } from '../../generated/prisma/client.ts';
import { type SnippetSnapshot, toSnapshot, wireOf, wireSavedSnippet } from './wire.ts';

// The events below are sent only to the author's clients, because snippets are private.

interface Payload {
  readonly saved_snippet: SnippetSnapshot;
}

/** Snapshot of a snippet, with its author. The author is the only recipient of the event. */
export interface ProjectedSnippet extends SnippetSnapshot {
  readonly authorId: number;
}

const snippetEvent = (op: 'add' | 'update') =>
  defineEvent('saved_snippets', op, (snippet: SavedSnippet): Payload => ({ saved_snippet: toSnapshot(snippet) }), {
    perUser: true,
    render: ({ saved_snippet }) => ({ type: 'saved_snippets', op, saved_snippet: wireOf(saved_snippet) }),
    facts: ({ saved_snippet }, { userId }: EventView): ProjectedSnippet => ({ ...saved_snippet, authorId: userId }),
  });

export const savedSnippetAdded = snippetEvent('add');

export const savedSnippetUpdated = snippetEvent('update');

export const savedSnippetRemoved = defineEvent('saved_snippets', 'remove', (snippetId: number) => ({
  saved_snippet_id: snippetId,
}));

for (const event of [savedSnippetAdded, savedSnippetUpdated]) {
  documentEvent(event, 'the author', { saved_snippet: wireSavedSnippet });
}
documentEvent(savedSnippetRemoved, 'the author', { saved_snippet_id: z.int() });
