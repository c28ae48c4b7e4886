import { z } from 'zod';
import { endpoint } from '../rest/endpoint.ts';
import { text } from '../rest/params.ts';
import { fetchApiKey as fetch } from './login.ts';

/** B.12 */
export const fetchApiKey = endpoint({
  method: 'POST',
  path: '/fetch_api_key',
  auth: 'none',
  section: 'B.12',
  summary: 'Get an API key with a password',
  description: 'After 5 failures for one address within 30 minutes, further attempts are refused for a while.',
  params: {
    username: text(z.string(), { description: "The account's e-mail address.", example: 'iris@example.com' }),
    password: text(z.string(), { example: 'correct horse battery staple' }),
  },
  reply: { api_key: z.string(), email: z.string(), user_id: z.int() },
  async handle(request, login) {
    const { user, apiKey } = await fetch(request, login);
    return { api_key: apiKey, email: user.email, user_id: user.id };
  },
});
