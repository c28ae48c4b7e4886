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
import { AuthenticationFailedError, SecondFactorRequiredError } from '../sign-in/errors.ts';
import { FactorProof, REQUEST_OPTIONS, USED_PASSKEY } from '../sign-in/graphql-inputs.ts';
import { signInOptions } from '../sign-in/passkeys.ts';
import {
  completeSignIn,
  isCurrent,
  listSessions,
  revokeOtherSessions,
  revokeSession,
  signInBrowser,
  signInWithPasskey,
  signOut,
  visibleTo,
} from './service.ts';

const SessionNode = builder.prismaNode('Session', {
  ...byNumber,
  description:
    'A session: a browser in which the user is signed in. Visible to that user and to administrators. Sessions of owners are ' +
    'visible to owners only. API keys need the scope `administration` to read the sessions of other users.',
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

/** Loads sessions by the id of their user. All fields of an operation that need sessions share one query. */
const sessionsByUser = perOperation(
  (ctx) =>
    new DataLoader<number, Session[]>(
      async (ids) => {
        const sessions = Map.groupBy(await listSessions(signedIn(ctx), ids), ({ userId }) => userId);
        return ids.map((id) => sessions.get(id) ?? []);
      },
      { cache: false },
    ),
);

builder.prismaObjectField(User, 'sessions', (t) =>
  t.connection(
    {
      type: SessionNode,
      description:
        'Sessions of the user, last used first. Empty unless the user is the viewer, or the viewer is an administrator. ' +
        'Sessions of owners are visible to owners only. API keys need the scope `administration` to read those of other users.',
      resolve: async ({ id }, args, ctx) => pageOfList(await sessionsByUser(ctx).load(id), args),
    },
    { name: 'SessionConnection' },
    { name: 'SessionEdge' },
  ),
);

errorType(
  SecondFactorRequiredError,
  'Address and password are correct, and the account needs a second factor. The sign-in continues with `completeSignIn`.',
  (t) => ({
    challenge: t.string({
      description: 'Token of the sign-in, for `completeSignIn`. Valid for ten minutes.',
      resolve: ({ data }) => data.challenge,
    }),
    mustEnroll: t.boolean({
      description:
        'Whether the person has no second factor, and must first add one with `beginSecondFactorAtSignIn` or ' +
        '`beginPasskeyAtSignIn`.',
      resolve: ({ data }) => data.must_enroll,
    }),
    passkeyOptions: t.string({
      nullable: true,
      description:
        'Options with which the browser uses a passkey of the person for `completeSignIn`, as JSON text for ' +
        '`PublicKeyCredential.parseRequestOptionsFromJSON`. Null if the person has none.',
      resolve: ({ data }) => data.passkey_options ?? null,
    }),
  }),
);
errorType(CsrfFailedError, 'The request came from a page of another site.');

/** Payload of a sign-in. */
const SIGNED_IN = {
  userId: { type: 'ID', refersTo: 'User', description: 'Id of the user who is signed in.' },
  sessionId: { type: 'ID', refersTo: 'Session', description: 'Id of the new session.' },
} as const;

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
  payload: () => SIGNED_IN,
  errors: [
    AuthenticationFailedError,
    SecondFactorRequiredError,
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

publicMutation('completeSignIn', {
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    'Completes the sign-in of a browser with a second factor, after `signIn` returned `SecondFactorRequiredError`. ' +
    'After five wrong codes within 30 minutes, further codes are refused. Available over HTTP only. Can be used ' +
    'once per operation.',
  input: (t) => ({
    challenge: t.string({ description: 'Challenge of `SecondFactorRequiredError`.' }),
    proof: t.field({
      type: FactorProof,
      description:
        'Proof with a second factor. For a person who adds one: a code of the new authenticator app, or the response to the ' +
        'options of `beginPasskeyAtSignIn`.',
    }),
  }),
  payload: () => ({
    ...SIGNED_IN,
    recoveryCodes: {
      type: ['String'],
      nullable: true,
      description:
        'Recovery codes, at most 10, if this sign-in added a second factor. Null otherwise. They cannot be read again.',
    },
  }),
  errors: [
    UserDeactivatedError,
    OrganizationDeactivatedError,
    NonexistentSubdomainError,
    CsrfFailedError,
    RateLimitHitError,
  ],
  resolve: async (request, { challenge, proof }) => {
    const login = { challenge, ...proof };
    const { user, session, recoveryCodes } = await completeSignIn(request, login, (request as GraphQLContext).browser);
    return { userId: user.id, sessionId: session.id, recoveryCodes };
  },
});

publicMutation('beginPasskeySignIn', {
  ignoresIdempotencyKey: true,
  description: 'Begins a sign-in with a passkey alone. Complete it with `completePasskeySignIn` within ten minutes.',
  payload: () => ({ options: { type: 'String', description: REQUEST_OPTIONS } }),
  errors: [NonexistentSubdomainError],
  resolve: async (request) => ({ options: signInOptions(request) }),
});

publicMutation('completePasskeySignIn', {
  ignoresIdempotencyKey: true,
  provesIdentity: true,
  description:
    'Signs a browser in with a passkey alone, which counts as both factors: the authenticator must have verified the person, for ' +
    'example by a fingerprint or a PIN. Sets the same cookie as `signIn`. Available over HTTP only. Can be used once per ' +
    'operation.',
  input: (t) => ({ response: t.string({ description: USED_PASSKEY }) }),
  payload: () => SIGNED_IN,
  errors: [UserDeactivatedError, OrganizationDeactivatedError, NonexistentSubdomainError, CsrfFailedError],
  resolve: async (request, { response }) => {
    const { user, session } = await signInWithPasskey(request, response, (request as GraphQLContext).browser);
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
  scope: 'administration',
  description: `Signs out a browser of the viewer or, for administrators, of another user. ${ENDED}`,
  input: (t) => ({
    sessionId: t.id({ ...refersTo('Session'), description: 'Id of a session that the viewer can see.' }),
  }),
  payload: () => ({ sessionId: { type: 'ID', refersTo: 'Session', description: 'Id of the session that ended.' } }),
  resolve: async (ctx, { sessionId }) => {
    await revokeSession(ctx, sessionId);
    return { sessionId };
  },
});

mutation('revokeOtherSessions', {
  scope: 'administration',
  description: `Signs out all other browsers of the viewer. With an API key, signs out all browsers. ${ENDED}`,
  payload: () => ({
    sessionIds: { type: ['ID'], refersTo: 'Session', description: 'Ids of the sessions that ended, at most 100.' },
  }),
  resolve: async (ctx) => ({ sessionIds: await revokeOtherSessions(ctx) }),
});
