import { builder } from '../graphql/builder.ts';
import { AUTHENTICATION_METHODS, readServerSettings, type ServerSettings as Settings } from './server-settings.ts';

const methods = { ...AUTHENTICATION_METHODS, openidConnect: AUTHENTICATION_METHODS['openid connect'] };

const AuthenticationMethods = builder.objectRef<typeof methods>('AuthenticationMethods').implement({
  description: 'The ways of signing in: whether each is offered.',
  fields: (t) => ({
    password: t.exposeBoolean('password'),
    dev: t.exposeBoolean('dev'),
    email: t.exposeBoolean('email'),
    ldap: t.exposeBoolean('ldap'),
    remoteuser: t.exposeBoolean('remoteuser'),
    saml: t.exposeBoolean('saml'),
    openidConnect: t.exposeBoolean('openidConnect'),
  }),
});

interface External {
  readonly name: string;
  readonly displayName: string;
  readonly displayIcon: string | null;
  readonly loginUrl: string;
  readonly signupUrl: string;
}

const ExternalAuthenticationMethod = builder.objectRef<External>('ExternalAuthenticationMethod').implement({
  description: 'A third party by which one can sign in.',
  fields: (t) => ({
    name: t.exposeString('name'),
    displayName: t.exposeString('displayName'),
    displayIcon: t.exposeString('displayIcon', { nullable: true }),
    loginUrl: t.exposeString('loginUrl'),
    signupUrl: t.exposeString('signupUrl'),
  }),
});

const PublicRealm = builder.objectRef<NonNullable<Settings['realm']>>('PublicRealm').implement({
  description: 'What anybody may know of an organization.',
  fields: (t) => ({
    url: t.exposeString('url'),
    name: t.exposeString('name'),
    icon: t.exposeString('icon', { description: 'URL of the square logo.' }),
    description: t.exposeString('description', { description: 'HTML.' }),
    webPublicAccessEnabled: t.exposeBoolean('webPublicAccessEnabled'),
  }),
});

const ServerSettings = builder.objectRef<Settings>('ServerSettings').implement({
  description: 'What a client learns before it signs in.',
  fields: (t) => ({
    authenticationMethods: t.field({ type: AuthenticationMethods, resolve: () => methods }),
    externalAuthenticationMethods: t.field({ type: [ExternalAuthenticationMethod], resolve: () => [] }),
    featureLevel: t.exposeInt('featureLevel', { description: 'All features up to this level are there.' }),
    version: t.exposeString('version'),
    mergeBase: t.exposeString('mergeBase'),
    pushNotificationsEnabled: t.boolean({ resolve: () => false }),
    isIncompatible: t.exposeBoolean('isIncompatible', { description: 'Whether this client is too old to go on.' }),
    emailAuthEnabled: t.boolean({ resolve: () => AUTHENTICATION_METHODS.email }),
    requireEmailFormatUsernames: t.boolean({ resolve: () => true }),
    realm: t.expose('realm', { type: PublicRealm, nullable: true, description: 'Null where the host has none.' }),
  }),
});

builder.queryField('serverSettings', (t) =>
  t.field({
    type: ServerSettings,
    description: 'The server, and the organization at the host asked. Needs no credentials.',
    resolve: (_root, _args, ctx) => readServerSettings(ctx),
  }),
);
