import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json } from '../../api/rest/params.ts';
import { createDrafts, deleteDraft, listDrafts, updateDraft } from './service.ts';
import { DRAFT_TYPES, toWire, wireDraft } from './wire.ts';

const draft = z.strictObject({
  type: z.enum(DRAFT_TYPES),
  to: z.array(z.int()),
  topic: z.string(),
  content: z.string(),
  timestamp: z.number().nullish(),
});

const EXAMPLE = '{"type": "stream", "to": [1], "topic": "greetings", "content": "hello"}';

export const getDrafts = endpoint({
  method: 'GET',
  path: '/drafts',
  auth: 'basic',
  equivalents: ['drafts'],
  summary: 'List your drafts',
  description: 'Oldest edit first.',
  params: {},
  reply: { count: z.int(), drafts: z.array(wireDraft) },
  async handle(ctx) {
    const drafts = await listDrafts(ctx);
    return { count: drafts.length, drafts: drafts.map(toWire) };
  },
});

export const postDrafts = endpoint({
  method: 'POST',
  path: '/drafts',
  auth: 'basic',
  equivalents: ['createDrafts'],
  summary: 'Create drafts',
  description: 'If one of the drafts is invalid, none is created.',
  params: {
    drafts: json(z.array(draft), {
      description:
        'The new drafts. `to` has one channel id, or user ids. `timestamp` is the time of the last edit. Absent: now.',
      example: `[${EXAMPLE}]`,
    }).default([]),
  },
  reply: { ids: z.array(z.int()) },
  async handle(ctx, { drafts }) {
    const saved = await createDrafts(ctx, drafts);
    return { ids: saved.map(({ id }) => id) };
  },
});

export const patchDraft = endpoint({
  method: 'PATCH',
  path: '/drafts/{draft_id}',
  auth: 'basic',
  equivalents: ['updateDraft'],
  summary: 'Edit a draft',
  description: 'Replaces the draft completely.',
  params: {
    draft_id: inPath(z.int(), { description: 'Draft id.' }),
    draft: json(draft, { description: 'The new draft.', example: EXAMPLE }),
  },
  reply: {},
  async handle(ctx, { draft_id, draft }) {
    await updateDraft(ctx, draft_id, draft);
  },
});

export const deleteDraftEndpoint = endpoint({
  method: 'DELETE',
  path: '/drafts/{draft_id}',
  auth: 'basic',
  equivalents: ['deleteDraft'],
  summary: 'Delete a draft',
  params: { draft_id: inPath(z.int(), { description: 'Draft id.' }) },
  reply: {},
  async handle(ctx, { draft_id }) {
    await deleteDraft(ctx, draft_id);
  },
});
