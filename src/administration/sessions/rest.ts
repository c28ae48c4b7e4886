import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, text } from '../../api/rest/params.ts';
import {
  completeSignIn,
  listSessions,
  listSessionsOf,
  revokeOtherSessions,
  revokeSession,
  signInBrowser,
  signOut,
} from './service.ts';
import { toWire, wireSession } from './wire.ts';

export const postSession = endpoint({
  method: 'POST',
  path: '/sessions',
  auth: 'none',
  equivalents: ['signIn'],
  summary: 'Sign a browser in',
  description:
    'Signs in with a password. Failed attempts are limited as for `POST /fetch_api_key`. The response sets a ' +
    'cookie that authenticates ' +
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

export const postSecondStep = endpoint({
  method: 'POST',
  path: '/sessions/second_factor',
  auth: 'none',
  equivalents: ['completeSignIn'],
  summary: 'Complete the sign-in of a browser with a second factor',
  description:
    'Continues a sign-in for which `POST /sessions` returned `SECOND_FACTOR_REQUIRED`, with either `code` or `passkey`. After 5 ' +
    'wrong codes within 30 minutes, further codes are refused. `recovery_codes` contains new recovery codes if this request ' +
    'added the second factor, otherwise it is null.',
  params: {
    challenge: text(z.string(), { description: 'The `challenge` of the error.', example: 'c2VhbGVk' }),
    code: text(z.string(), {
      description: 'Code of the authenticator app, six digits, or a recovery code.',
      example: '123456',
    }).optional(),
    passkey: text(z.string(), {
      description: 'Response of the browser to the `passkey_options` of the error, as JSON text.',
      example: '{"id":"cGFzc2tleQ"}',
    }).optional(),
  },
  reply: { user_id: z.int(), session_id: z.int(), recovery_codes: z.array(z.string()).nullable() },
  async handle(request, login, http) {
    const { user, session, recoveryCodes } = await completeSignIn(request, login, http);
    return { user_id: user.id, session_id: session.id, recovery_codes: recoveryCodes };
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
    return { sessions: (await listSessions(ctx, [ctx.viewer.id])).map((session) => toWire(session, ctx.viewer)) };
  },
});

export const getSessionsOf = endpoint({
  method: 'GET',
  path: '/users/{user_id}/sessions',
  auth: 'basic',
  equivalents: ['User.sessions'],
  summary: 'List the browsers a user is signed in with',
  description:
    'Last used first. Empty unless the user is the viewer, or the viewer is an administrator. Sessions of owners are listed ' +
    'for owners only. API keys need the scope `administration` to list those of other users.',
  params: { user_id: inPath(z.int(), { description: 'Id of the user.' }) },
  reply: { sessions: z.array(wireSession) },
  async handle(ctx, { user_id }) {
    return { sessions: (await listSessionsOf(ctx, user_id)).map((session) => toWire(session, ctx.viewer)) };
  },
});

export const deleteSession = endpoint({
  method: 'DELETE',
  path: '/sessions/{session_id}',
  auth: 'basic',
  equivalents: ['revokeSession'],
  scope: 'administration',
  summary: 'Sign a browser out',
  description:
    'Ends a session of your own. Administrators can end sessions of other users except owners, and owners ' +
    'those of all users. Open requests and sockets of the session are closed immediately.',
  params: { session_id: inPath(z.int(), { description: 'Id of the session.' }) },
  reply: {},
  handle: (ctx, { session_id }) => revokeSession(ctx, session_id),
});

export const deleteOtherSessions = endpoint({
  method: 'DELETE',
  path: '/sessions',
  auth: 'basic',
  equivalents: ['revokeOtherSessions'],
  scope: 'administration',
  summary: 'Sign all your other browsers out',
  description:
    'With an API key, all browsers are signed out. Open requests and sockets of the sessions are closed immediately.',
  params: {},
  reply: { session_ids: z.array(z.int()) },
  async handle(ctx) {
    return { session_ids: await revokeOtherSessions(ctx) };
  },
});
