import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { json } from '../../api/rest/params.ts';
import { addAlertWords, listAlertWords, removeAlertWords } from './service.ts';

const reply = { alert_words: z.array(z.string()) };
const alertWords = json(z.array(z.string()), {
  description: 'Words or phrases, at most 100 characters each.',
  example: '["release", "my project"]',
});

export const getAlertWords = endpoint({
  method: 'GET',
  path: '/users/me/alert_words',
  auth: 'basic',
  equivalents: ['alertWords'],
  summary: 'List your alert words',
  params: {},
  reply,
  handle: async (ctx) => ({ alert_words: await listAlertWords(ctx) }),
});

export const postAlertWords = endpoint({
  method: 'POST',
  path: '/users/me/alert_words',
  auth: 'basic',
  equivalents: ['addAlertWords'],
  summary: 'Add alert words',
  description:
    'Messages that contain one of them get the flag `has_alert_word` for you. The response contains all your alert words.',
  params: { alert_words: alertWords },
  reply,
  handle: async (ctx, { alert_words }) => ({ alert_words: await addAlertWords(ctx, alert_words) }),
});

export const deleteAlertWords = endpoint({
  method: 'DELETE',
  path: '/users/me/alert_words',
  auth: 'basic',
  equivalents: ['removeAlertWords'],
  summary: 'Remove alert words',
  description: 'Case-insensitive. The response contains the remaining alert words.',
  params: { alert_words: alertWords },
  reply,
  handle: async (ctx, { alert_words }) => ({ alert_words: await removeAlertWords(ctx, alert_words) }),
});
