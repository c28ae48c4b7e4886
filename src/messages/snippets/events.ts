import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { tells } from '../../events/wire.ts';
import type { SavedSnippet } from '../../generated/prisma/client.ts';
import { type SnippetFacts, toFacts, wireOf, wireSavedSnippet } from './wire.ts';

// All go to the author's own clients only: snippets are private.

interface Payload {
  readonly saved_snippet: SnippetFacts;
}

/** A snippet, and whose it is: nobody else hears of it. */
export interface KnownSnippet extends SnippetFacts {
  readonly authorId: number;
}

const snippetEvent = (op: 'add' | 'update') =>
  defineEvent('saved_snippets', op, (snippet: SavedSnippet): Payload => ({ saved_snippet: toFacts(snippet) }), {
    perUser: true,
    render: ({ saved_snippet }) => ({ type: 'saved_snippets', op, saved_snippet: wireOf(saved_snippet) }),
    facts: ({ saved_snippet }, { userId }: EventView): KnownSnippet => ({ ...saved_snippet, authorId: userId }),
  });

export const savedSnippetAdded = snippetEvent('add');

export const savedSnippetUpdated = snippetEvent('update');

export const savedSnippetRemoved = defineEvent('saved_snippets', 'remove', (snippetId: number) => ({
  saved_snippet_id: snippetId,
}));

for (const event of [savedSnippetAdded, savedSnippetUpdated]) {
  tells(event, 'its author', { saved_snippet: wireSavedSnippet });
}
tells(savedSnippetRemoved, 'its author', { saved_snippet_id: z.int() });
