import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, text } from '../../api/rest/params.ts';
import { listSessions, revokeOtherSessions, revokeSession, signInBrowser, signOut } from './service.ts';
import { toWire, wireSession } from './wire.ts';

export const postSession = endpoint({
  method: 'POST',
  path: '/sessions',
  auth: 'none',
  equivalents: ['signIn'],
  summary: 'Sign a browser in',
  description:
    'Takes a password, with the same limits as `POST /fetch_api_key`. The response sets a cookie that authenticates ' +
    'the browser wherever an API key would. Requests from pages of other sites are refused.',
  params: {
    username: text(z.string(), { description: 'Email address of the account.', example: 'iris@example.com' }),
    password: text(z.string(), { description: 'Password of the account.', example: 'correct horse battery staple' }),
  },
  reply: { user_id: z.int(), session_id: z.int() },
  async handle(request, login, http) {
    const { user, session } = await signInBrowser(request, login, http);
    return { user_id: user.id, session_id: session.id };
  },
});

export const deleteCurrentSession = endpoint({
  method: 'DELETE',
  path: '/sessions/current',
  auth: 'basic',
  equivalents: ['signOut'],
  summary: 'Sign this browser out',
  description: 'Open requests and sockets of the session are closed immediately.',
  ignoresIdempotencyKey: true,
  params: {},
  reply: {},
  handle: (ctx, _values, http) => signOut(ctx, http),
});

export const getSessions = endpoint({
  method: 'GET',
  path: '/sessions',
  auth: 'basic',
  equivalents: ['User.sessions'],
  summary: 'List the browsers you are signed in with',
  description: 'Last used first.',
  params: {},
  reply: { sessions: z.array(wireSession) },
  async handle(ctx) {
    return { sessions: (await listSessions(ctx)).map((session) => toWire(session, ctx.viewer)) };
  },
});

export const deleteSession = endpoint({
  method: 'DELETE',
  path: '/sessions/{session_id}',
  auth: 'basic',
  equivalents: ['revokeSession'],
  summary: 'Sign one of your browsers out',
  description: 'Open requests and sockets of the session are closed immediately.',
  params: { session_id: inPath(z.int(), { description: 'Id of one of your sessions.' }) },
  reply: {},
  handle: (ctx, { session_id }) => revokeSession(ctx, session_id),
});

export const deleteOtherSessions = endpoint({
  method: 'DELETE',
  path: '/sessions',
  auth: 'basic',
  equivalents: ['revokeOtherSessions'],
  summary: 'Sign all your other browsers out',
  description:
    'With an API key, all browsers are signed out. Open requests and sockets of the sessions are closed immediately.',
  params: {},
  reply: { session_ids: z.array(z.int()) },
  async handle(ctx) {
    return { session_ids: await revokeOtherSessions(ctx) };
  },
});
