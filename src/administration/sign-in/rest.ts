import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { json, text } from '../../api/rest/params.ts';
import { toWireUser, wireUser } from '../../people/wire.ts';
import { fetchApiKeyByJwt } from './jwt.ts';
import { fetchApiKey as fetch } from './login.ts';

export const fetchApiKey = endpoint({
  method: 'POST',
  path: '/fetch_api_key',
  auth: 'none',
  equivalents: ['fetchApiKey'],
  summary: 'Get an API key with a password',
  description:
    'After 5 failed attempts for one email address within 30 minutes, or while too many requests wait to sign in, ' +
    'further attempts are refused for the time in `retry-after`.',
  params: {
    username: text(z.string(), { description: 'Email address of the account.', example: 'iris@example.com' }),
    password: text(z.string(), { description: 'Password of the account.', example: 'correct horse battery staple' }),
  },
  reply: { api_key: z.string(), email: z.string(), user_id: z.int() },
  async handle(request, login) {
    const { user, apiKey } = await fetch(request, login);
    return { api_key: apiKey, email: user.email, user_id: user.id };
  },
});

export const jwtFetchApiKey = endpoint({
  method: 'POST',
  path: '/jwt/fetch_api_key',
  auth: 'none',
  equivalents: ['fetchApiKeyByJwt'],
  summary: 'Get an API key with a JSON Web Token',
  description:
    "The token must be signed as the server's operator configured it for the organization. Its claim `email` " +
    'identifies the user.',
  ignoresIdempotencyKey: true,
  params: {
    token: text(z.string(), {
      description: 'JSON Web Token, at most 8 KiB.',
      example: 'eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl',
    }),
    include_profile: json(z.boolean(), { description: 'Whether the response contains `user`.' }).default(false),
  },
  reply: { api_key: z.string(), email: z.string(), user: wireUser.optional() },
  async handle(request, { token, include_profile }) {
    const { user, apiKey } = await fetchApiKeyByJwt(request, { token });
    return {
      api_key: apiKey,
      email: user.email,
      ...(include_profile && { user: toWireUser(user, user, { clientGravatar: false }) }),
    };
  },
});
