import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { ApiKeyScope } from '../../api/graphql/schema/api-key-scope.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOfList } from '../../api/graphql/schema/connection.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType, outdatedOf } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { NamedApiKey } from '../../generated/prisma/client.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { RateLimitHitError } from '../../platform/errors.ts';
import type { KeyScope } from '../../platform/key-scopes.ts';
import { PasswordRequiredError } from '../sign-in/errors.ts';
import { CURRENT_PASSWORD } from '../sign-in/proof.ts';
import { createApiKey, listApiKeys, renameApiKey, revokeApiKey, visibleTo } from './service.ts';

const NAME = 'Name of the key, at most 100 characters.';
const EXPIRES = 'Time from which the key is invalid, within the next ten years. Null: the key does not expire.';

const ApiKey = builder.prismaNode('NamedApiKey', {
  ...byNumber,
  name: 'ApiKey',
  description:
    'An API key with a name and scopes, in addition to the default key. Visible to its user, to the owner of a bot, and to ' +
    'administrators. Keys of owners are visible to owners only. API keys need the scope `administration` to read the keys of ' +
    'other people and of their bots.',
  fields: (t) => ({
    name: t.exposeString('name', { description: NAME }),
    scopes: t.field({
      type: [ApiKeyScope],
      description: 'Kinds of operations that the key permits, at most 4. The permissions of its user apply as well.',
      select: { scopes: true },
      resolve: ({ scopes }) => scopes as KeyScope[],
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the key was created.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true, description: EXPIRES }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last request with the key, accurate to a minute. Null if there was none.',
    }),
  }),
});
nodeModel('ApiKey', 'NamedApiKey', visibleTo);

const ApiKeyConnection = builder.connectionObject({ type: ApiKey, name: 'ApiKeyConnection' }, { name: 'ApiKeyEdge' });

/** Loads named keys by the id of their user. All fields of an operation that need keys share one query. */
const keysByUser = perOperation(
  (ctx) =>
    new DataLoader<number, NamedApiKey[]>(
      async (ids) => {
        const keys = Map.groupBy(await listApiKeys(signedIn(ctx), ids), ({ userId }) => userId);
        return ids.map((id) => keys.get(id) ?? []);
      },
      { cache: false },
    ),
);

builder.objectField(User, 'apiKeys', (t) =>
  t.connection(
    {
      type: ApiKey,
      nullable: true,
      description:
        'Named API keys of the user, newest first, without the default key. Empty unless the user is the viewer or a bot of ' +
        'the viewer, or the viewer is an administrator. Keys of owners are visible to owners only. API keys need the scope ' +
        '`administration` to read the keys of other people and of their bots.',
      resolve: async ({ id }, args, ctx) => pageOfList(await keysByUser(ctx).load(id), args),
    },
    ApiKeyConnection,
  ),
);

mutation('createApiKey', {
  scope: 'administration',
  ignoresIdempotencyKey: true,
  description:
    'Creates an API key with a name and scopes, for the viewer or a bot. If the request is authenticated with an API key, the ' +
    'new key can have only scopes of that key, and does not expire later.',
  input: (t) => ({
    name: t.string({ description: NAME }),
    scopes: t.field({ type: [ApiKeyScope], description: 'Kinds of operations that the key permits, at least one.' }),
    expiresAt: t.field({ type: 'DateTime', required: false, description: EXPIRES }),
    botId: t.id({
      ...refersTo('User'),
      required: false,
      description: 'Id of a bot that the viewer can administer. Default: the key is for the viewer.',
    }),
    currentPassword: t.string({ required: false, description: CURRENT_PASSWORD }),
  }),
  payload: () => ({
    apiKey: { type: ApiKey, description: 'The new key.' },
    secret: {
      type: 'String',
      description: 'The key itself, with which clients authenticate. It cannot be read again.',
    },
  }),
  errors: [PasswordRequiredError, RateLimitHitError],
  resolve: async (ctx, { name, scopes, expiresAt, botId, currentPassword }) =>
    createApiKey(ctx, {
      ...{ name, scopes, expiresAt: expiresAt ?? undefined, botId: botId ?? undefined },
      currentPassword: currentPassword ?? undefined,
    }),
});

const WHICH = 'Id of the key.';

mutation('renameApiKey', {
  scope: 'administration',
  description: 'Renames an API key of the viewer or of a bot that the viewer can administer.',
  input: (t) => ({
    apiKeyId: t.id({ ...refersTo('ApiKey'), description: WHICH }),
    name: t.string({ description: NAME }),
  }),
  payload: () => ({ apiKey: { type: ApiKey, description: 'The key after the change.' } }),
  resolve: async (ctx, { apiKeyId, name }) => ({ apiKey: await renameApiKey(ctx, apiKeyId, name) }),
});

mutation('revokeApiKey', {
  scope: 'administration',
  description:
    'Revokes an API key that the viewer can see. Open requests and sockets of the key are closed immediately. If the key ' +
    'belongs to another user, that person or the owner of the bot is notified by email.',
  input: (t) => ({ apiKeyId: t.id({ ...refersTo('ApiKey'), description: WHICH }) }),
  payload: () => ({ apiKeyId: { type: 'ID', refersTo: 'ApiKey', description: 'Id of the revoked key.' } }),
  resolve: async (ctx, { apiKeyId }) => {
    await revokeApiKey(ctx, apiKeyId);
    return { apiKeyId };
  },
});

interface Changed {
  readonly user_id: number;
}

eventType<Changed>(
  'api_keys_changed',
  undefined,
  'ApiKeysChangedEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'User whose keys changed.',
      ...projectedFromEvent(userReference, ({ event }: EventSource<Changed>) => event.user_id),
    }),
  }),
  {
    description:
      'The named API keys of a user changed. Sent to the user, to the owner of a bot, and to administrators. If the user is ' +
      'an owner of the organization, only owners receive it besides the user.',
    outdates: ({ event }) => outdatedOf('User', [event.user_id], ['apiKeys']),
  },
);
