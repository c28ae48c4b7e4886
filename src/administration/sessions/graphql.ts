import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { OrganizationDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { CsrfFailedError } from '../../api/cross-site.ts';
import { type GraphQLContext, perOperation } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOfList } from '../../api/graphql/schema/connection.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { mutation, publicMutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { Session } from '../../generated/prisma/client.ts';
import { User } from '../../people/graphql.ts';
import { NonexistentSubdomainError, RateLimitHitError } from '../../platform/errors.ts';
import { AuthenticationFailedError } from '../sign-in/errors.ts';
import {
  isCurrent,
  listSessions,
  revokeOtherSessions,
  revokeSession,
  signInBrowser,
  signOut,
  visibleTo,
} from './service.ts';

const SessionNode = builder.prismaNode('Session', {
  ...byNumber,
  description: 'A session: a browser in which the user is signed in. Only that user can see it.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id of the session in the REST API.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of the sign-in.' }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: 'Time of the last request, accurate to five minutes.',
    }),
    idleExpiresAt: t.expose('idleExpiresAt', {
      type: 'DateTime',
      description: 'Time at which the session expires if the browser sends no more requests.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'Time at which the session expires, even if it is in use. The user must then sign in again.',
    }),
    userAgent: t.exposeString('userAgent', {
      description: 'User-Agent header of the browser, at most 300 characters.',
    }),
    networkAddress: t.exposeString('networkAddress', {
      description: 'IPv4 or IPv6 address of the last request. Empty if it is unknown.',
    }),
    isCurrent: t.boolean({
      description: 'Whether this request uses the session.',
      resolve: (session, _args, ctx) => isCurrent(signedIn(ctx).viewer, session),
    }),
  }),
});
nodeModel('Session', 'Session', visibleTo);

/** Loads the viewer's sessions. All fields of an operation that need the sessions share one query. */
const ownSessions = perOperation(
  (ctx) =>
    new DataLoader<'own', Session[]>(
      async (asked) => {
        const sessions = await listSessions(signedIn(ctx));
        return asked.map(() => sessions);
      },
      { cache: false },
    ),
);

builder.prismaObjectField(User, 'sessions', (t) =>
  t.connection(
    {
      type: SessionNode,
      description: 'Sessions of the viewer, last used first. Empty for any other user.',
      resolve: async ({ id }, args, ctx) =>
        pageOfList(id === signedIn(ctx).viewer.id ? await ownSessions(ctx).load('own') : [], args),
    },
    { name: 'SessionConnection' },
    { name: 'SessionEdge' },
  ),
);

errorType(CsrfFailedError, 'The request came from a page of another site.');

publicMutation('signIn', {
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    'Signs a browser in with a password. The response sets a cookie that scripts cannot read. The cookie authenticates ' +
    'the browser wherever an API key would. Available over HTTP only, and not to pages of other sites. Failed ' +
    'attempts are limited as for `fetchApiKey`. Can be used once per operation.',
  input: (t) => ({
    username: t.string({ description: 'Email address of the account.' }),
    password: t.string({ description: 'Password of the account.' }),
  }),
  payload: () => ({
    userId: { type: 'ID', refersTo: 'User', description: 'Id of the user who is signed in.' },
    sessionId: { type: 'ID', refersTo: 'Session', description: 'Id of the new session.' },
  }),
  errors: [
    AuthenticationFailedError,
    UserDeactivatedError,
    OrganizationDeactivatedError,
    NonexistentSubdomainError,
    CsrfFailedError,
    RateLimitHitError,
  ],
  resolve: async (request, login) => {
    const { user, session } = await signInBrowser(request, login, (request as GraphQLContext).browser);
    return { userId: user.id, sessionId: session.id };
  },
});

publicMutation('signOut', {
  ignoresIdempotencyKey: true,
  description: 'Signs out the browser that sends the request. Its open requests and sockets are closed immediately.',
  payload: () => ({}),
  resolve: async (request) => {
    await signOut(signedIn(request), (request as GraphQLContext).browser);
    return {};
  },
});

const ENDED = 'Open requests and sockets of ended sessions are closed immediately.';

mutation('revokeSession', {
  description: `Signs out one of the viewer's browsers. ${ENDED}`,
  input: (t) => ({ sessionId: t.id({ ...refersTo('Session'), description: "Id of one of the viewer's sessions." }) }),
  payload: () => ({ sessionId: { type: 'ID', refersTo: 'Session', description: 'Id of the session that ended.' } }),
  resolve: async (ctx, { sessionId }) => {
    await revokeSession(ctx, sessionId);
    return { sessionId };
  },
});

mutation('revokeOtherSessions', {
  description: `Signs out all other browsers of the viewer. With an API key, signs out all browsers. ${ENDED}`,
  payload: () => ({
    sessionIds: { type: ['ID'], refersTo: 'Session', description: 'Ids of the sessions that ended, at most 100.' },
  }),
  resolve: async (ctx) => ({ sessionIds: await revokeOtherSessions(ctx) }),
});
