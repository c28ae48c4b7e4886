import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, text } from '../../api/rest/params.ts';
import { listSessions, revokeOtherSessions, revokeSession, signInBrowser, signOut } from './service.ts';
import { toWire, wireSession } from './wire.ts';

export const postSession = endpoint({
  method: 'POST',
  path: '/sessions',
  auth: 'none',
  twins: ['signIn'],
  summary: 'Sign a browser in',
  description:
    'With a password, as `POST /fetch_api_key`, with the same limits. The reply gives the browser a cookie, which signs it ' +
    'in from then on wherever a key would; pages of other sites are refused.',
  params: {
    username: text(z.string(), { description: "The account's e-mail address.", example: 'iris@example.com' }),
    password: text(z.string(), { description: "The account's password.", example: 'correct horse battery staple' }),
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
  twins: ['signOut'],
  summary: 'Sign this browser out',
  description: 'What is open in the session ends at once.',
  ignoresIdempotencyKey: true,
  params: {},
  reply: {},
  handle: (ctx, _values, http) => signOut(ctx, http),
});

export const getSessions = endpoint({
  method: 'GET',
  path: '/sessions',
  auth: 'basic',
  twins: ['User.sessions'],
  summary: 'List the browsers you are signed in with',
  description: 'The one last seen first.',
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
  twins: ['revokeSession'],
  summary: 'Sign one of your browsers out',
  description: 'What is open in the session ends at once.',
  params: { session_id: inPath(z.int(), { description: 'One of your sessions.' }) },
  reply: {},
  handle: (ctx, { session_id }) => revokeSession(ctx, session_id),
});

export const deleteOtherSessions = endpoint({
  method: 'DELETE',
  path: '/sessions',
  auth: 'basic',
  twins: ['revokeOtherSessions'],
  summary: 'Sign all your other browsers out',
  description: 'All of them where you are signed in by a key. What is open in the sessions ends at once.',
  params: {},
  reply: { session_ids: z.array(z.int()) },
  async handle(ctx) {
    return { session_ids: await revokeOtherSessions(ctx) };
  },
});
