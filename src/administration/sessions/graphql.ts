import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { RealmDeactivatedError, UserDeactivatedError } from '../../access/errors.ts';
import { CsrfFailedError } from '../../api/cross-site.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOfList } from '../../api/graphql/connection.ts';
import { type GraphQLContext, perOperation } from '../../api/graphql/context.ts';
import { errorType } from '../../api/graphql/errors.ts';
import { mutation, publicMutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
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
  description: 'A browser that somebody signed in with a password. Only they see it.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'The number that the REST API knows it by.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the browser was signed in.' }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: 'When the browser last asked for something, to five minutes.',
    }),
    idleExpiresAt: t.expose('idleExpiresAt', {
      type: 'DateTime',
      description: 'When the session is over, unless the browser asks for something before.',
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'When the session is over in any case, and the browser has to sign in again.',
    }),
    userAgent: t.exposeString('userAgent', {
      description: 'What the browser says of itself, in at most 300 characters.',
    }),
    networkAddress: t.exposeString('networkAddress', {
      description: 'The network address it was last seen at, an IPv4 or IPv6 one; empty where that is not known.',
    }),
    isCurrent: t.boolean({
      description: 'Whether it is the session in which this is asked.',
      resolve: (session, _args, ctx) => isCurrent(signedIn(ctx).viewer, session),
    }),
  }),
});
nodeModel('Session', 'Session', visibleTo);

/** There are a hundred at the most; whoever is shown several times in an answer has them read once. */
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
      description: 'The browsers in which the viewer is signed in, the last one first. Empty for any other user.',
      resolve: async ({ id }, args, ctx) =>
        pageOfList(id === signedIn(ctx).viewer.id ? await ownSessions(ctx).load('own') : [], args),
    },
    { name: 'UserSessionsConnection' },
    { name: 'UserSessionsEdge' },
  ),
);

errorType(CsrfFailedError, 'A page of another site asks.');

publicMutation('signIn', {
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    'Signs a browser in with a password: the reply gives it a cookie that no script can read, and that signs it in from ' +
    'then on wherever a key would. Over HTTP alone; refused to pages of other sites. Failures are limited as those of ' +
    '`fetchApiKey`. Once in an operation.',
  input: (t) => ({
    username: t.string({ description: "The account's e-mail address." }),
    password: t.string({ description: "The account's password." }),
  }),
  payload: () => ({
    userId: { type: 'ID', refersTo: 'User', description: 'Who is signed in.' },
    sessionId: { type: 'ID', refersTo: 'Session', description: 'The new session.' },
  }),
  errors: [
    AuthenticationFailedError,
    UserDeactivatedError,
    RealmDeactivatedError,
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
  description: 'Signs the browser out that asks. What is open in its session ends at once, sockets included.',
  payload: () => ({}),
  resolve: async (request) => {
    await signOut(signedIn(request), (request as GraphQLContext).browser);
    return {};
  },
});

const ENDED = 'What is open in it ends at once, sockets included.';

mutation('revokeSession', {
  description: `Signs one of the viewer's browsers out. ${ENDED}`,
  input: (t) => ({ sessionId: t.id({ ...refersTo('Session'), description: "One of the viewer's sessions." }) }),
  payload: () => ({ sessionId: { type: 'ID', refersTo: 'Session', description: 'The session that is over.' } }),
  resolve: async (ctx, { sessionId }) => {
    await revokeSession(ctx, sessionId);
    return { sessionId };
  },
});

mutation('revokeOtherSessions', {
  description: `Signs all of the viewer's browsers out but the one that asks; all of them for who asks with a key. ${ENDED}`,
  payload: () => ({
    sessionIds: { type: ['ID'], refersTo: 'Session', description: 'The sessions that are over; at most 100.' },
  }),
  resolve: async (ctx) => ({ sessionIds: await revokeOtherSessions(ctx) }),
});
