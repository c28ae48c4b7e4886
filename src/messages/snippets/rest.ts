import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, text } from '../../api/rest/params.ts';
import { createSavedSnippet, deleteSavedSnippet, listSavedSnippets, updateSavedSnippet } from './service.ts';
import { toWire, wireSavedSnippet } from './wire.ts';

const TITLE = { description: 'Title of the snippet. At most 60 characters.' };
const CONTENT = { description: 'Text of the snippet, as flavored Markdown. At most 10,000 characters.' };

export const getSavedSnippets = endpoint({
  method: 'GET',
  path: '/saved_snippets',
  auth: 'basic',
  equivalents: ['savedSnippets'],
  summary: 'List your saved snippets',
  params: {},
  reply: { saved_snippets: z.array(wireSavedSnippet) },
  async handle(ctx) {
    return { saved_snippets: (await listSavedSnippets(ctx)).map(toWire) };
  },
});

export const postSavedSnippet = endpoint({
  method: 'POST',
  path: '/saved_snippets',
  auth: 'basic',
  equivalents: ['createSavedSnippet'],
  summary: 'Save a snippet',
  params: {
    title: text(z.string(), { ...TITLE, example: 'Greeting' }),
    content: text(z.string(), { ...CONTENT, example: 'Hello, and **welcome**!' }),
  },
  reply: { saved_snippet_id: z.int() },
  async handle(ctx, { title, content }) {
    const { id } = await createSavedSnippet(ctx, { title, content });
    return { saved_snippet_id: id };
  },
});

export const patchSavedSnippet = endpoint({
  method: 'PATCH',
  path: '/saved_snippets/{saved_snippet_id}',
  auth: 'basic',
  equivalents: ['updateSavedSnippet'],
  summary: 'Edit a saved snippet',
  params: {
    saved_snippet_id: inPath(z.int(), { description: 'Snippet id.' }),
    title: text(z.string(), TITLE).optional(),
    content: text(z.string(), CONTENT).optional(),
  },
  reply: {},
  async handle(ctx, { saved_snippet_id, ...edit }) {
    await updateSavedSnippet(ctx, saved_snippet_id, edit);
  },
});

export const deleteSavedSnippetEndpoint = endpoint({
  method: 'DELETE',
  path: '/saved_snippets/{saved_snippet_id}',
  auth: 'basic',
  equivalents: ['deleteSavedSnippet'],
  summary: 'Delete a saved snippet',
  params: { saved_snippet_id: inPath(z.int(), { description: 'Snippet id.' }) },
  reply: {},
  async handle(ctx, { saved_snippet_id }) {
    await deleteSavedSnippet(ctx, saved_snippet_id);
  },
});
