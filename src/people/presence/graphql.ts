import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { perOperation } from '../../api/graphql/loading/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { idInCursor, pageByIds } from '../../api/graphql/schema/connection.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { nodeType } from '../../api/graphql/schema/node.ts';
import { pageSize } from '../../api/graphql/schema/page-size.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { userReference } from '../event-projections.ts';
import { User } from '../graphql.ts';
import { usersById } from '../loaders.ts';
import type { ProjectedPresence } from './events.ts';
import { countPresences, MAX_USERS, presencesOf, readPresences } from './reads.ts';
import { recordPresence } from './service.ts';
import { type Presence, statusAt, toWirePresence } from './wire.ts';

const PresenceStatus = builder.enumType('PresenceStatus', {
  description: 'Presence of a user.',
  values: {
    ACTIVE: { value: 'active', description: 'The user is active in a client.' },
    IDLE: { value: 'idle', description: 'The user has a client open, but is not active.' },
    OFFLINE: { value: 'offline', description: 'No client of the user has reported presence for 200 seconds.' },
  } as const,
});

const PresencePing = builder.enumType('PresencePing', {
  description: 'Presence of the user, as reported by a client.',
  values: {
    ACTIVE: { value: 'active', description: 'The user is active in the client.' },
    IDLE: { value: 'idle', description: 'The client is open, but the user is not active.' },
  } as const,
});

const UserPresence = builder.objectRef<Presence>('UserPresence');

builder.node(UserPresence, {
  id: { resolve: ({ user }) => user.id },
  description: 'Times at which a user was last present.',
  fields: (t) => ({
    user: t.field({
      type: User,
      description: 'The user.',
      resolve: byKey(usersById, ({ user }) => user.id),
    }),
    status: t.field({
      type: PresenceStatus,
      description: 'Presence at the time of this response.',
      resolve: (presence, _args, { app }) => statusAt(toWirePresence(presence), app.now()),
    }),
    activeAt: t.expose('activeAt', { type: 'DateTime', description: 'Time at which the user was last active.' }),
    idleAt: t.expose('idleAt', { type: 'DateTime', description: 'Time at which the user was last active or idle.' }),
    version: t.expose('updateId', {
      type: 'LongId',
      description: "Number that increases with each change of any user's presence.",
    }),
  }),
});

nodeType('UserPresence', async (ctx, ids) =>
  [...(await presencesOf(ctx, ids)).values()].map((presence) => ({ ...presence, id: presence.user.id })),
);

const presences = perOperation(
  (ctx) =>
    new DataLoader<number, Presence | null>(async (ids) => {
      const known = await presencesOf(signedIn(ctx), ids);
      return ids.map((id) => known.get(id) ?? null);
    }),
);

builder.prismaObjectField(User, 'presence', (t) =>
  t.field({
    type: UserPresence,
    nullable: true,
    description: 'Presence of the user. Null for a bot, a deactivated user, and a user who was never present.',
    resolve: ({ id }, _args, ctx) => presences(ctx).load(id),
  }),
);

const LIST = 'presence';

const PresencesSinceInput = builder.inputType('PresencesSinceInput', {
  isOneOf: true,
  description: 'Lower limit of a list of presences.',
  fields: (t) => ({
    version: t.field({
      type: 'LongId',
      required: false,
      description: 'Only presences that changed after this `version`.',
    }),
    days: t.int({ required: false, description: 'Only users who were present within this number of days before now.' }),
  }),
});

builder.queryField('presences', (t) =>
  t.connection(
    {
      type: UserPresence,
      description:
        'Presences of the people of the organization, ascending by `version`. To poll for changes, pass the highest ' +
        'received `version` in `since`.',
      args: {
        since: t.arg({
          type: PresencesSinceInput,
          required: false,
          description: 'Lower limit of the list. Default: the last 14 days, or no limit with `userIds`.',
        }),
        userIds: t.arg.idList({
          ...refersTo('User'),
          required: false,
          description:
            `Only presences of these users, at most ${MAX_USERS}. Users without a presence, such as bots, are not in the list. ` +
            'Absent: all users.',
        }),
      },
      async resolve(_root, { since, userIds, ...args }, ctx) {
        const { app, work, viewer } = signedIn(ctx);
        const size = pageSize(args);
        const backward = args.first == null && args.last != null;
        const page = {
          above: idInCursor(LIST, args, 'after') ?? Number.MIN_SAFE_INTEGER,
          below: idInCursor(LIST, args, 'before') ?? Number.MAX_SAFE_INTEGER,
          limit: size + 1,
          newestFirst: backward,
        };
        const query = { newerThan: since?.version, historyDays: since?.days, userIds };
        const { presences: found } = await readPresences(work.db, viewer.organization, query, app.now(), page);
        const rows = found.slice(0, size);
        if (backward) rows.reverse();
        const counted = pageByIds(LIST, rows, { idOf: ({ updateId }) => updateId, more: found.length > size, args });
        return { ...counted, totalCount: () => countPresences(work.db, viewer.organization, query, app.now()) };
      },
    },
    { name: 'UserPresenceConnection' },
    { name: 'UserPresenceEdge' },
  ),
);

mutation('recordPresence', {
  ignoresIdempotencyKey: true,
  description: 'Records that the viewer is present. Not available to bots.',
  input: (t) => ({ status: t.field({ type: PresencePing, description: 'Presence of the viewer.' }) }),
  payload: () => ({
    presence: {
      type: UserPresence,
      nullable: true,
      description: "The viewer's presence. Null if the viewer hides it.",
    },
  }),
  async resolve(ctx, { status }) {
    await recordPresence(ctx, status);
    return { presence: (await presencesOf(ctx, [ctx.viewer.id])).get(ctx.viewer.id) ?? null };
  },
});

const knownPresence: EventProjection<ProjectedPresence> = new EventProjection<ProjectedPresence>(
  'UserPresence',
  { idOf: ({ userId }) => userId },
  {
    user: { projection: userReference, of: ({ userId }) => userId },
    activeAt: ({ active_at }) => new Date(active_at),
    idleAt: ({ idle_at }) => new Date(idle_at),
    version: ({ version }) => version,
  },
);

const presentUser = new EventProjection<ProjectedPresence>(
  'User',
  { idOf: ({ userId }) => userId },
  { databaseId: ({ userId }) => userId, presence: { projection: knownPresence, of: (presence) => presence } },
);

eventType<unknown, ProjectedPresence>(
  'presence',
  undefined,
  'PresenceChangedEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'The user, with the new `presence`.',
      ...projectedFromEvent(presentUser, ({ facts }: EventSource<unknown, ProjectedPresence>) => facts),
    }),
  }),
  { description: 'A user came online, or switched their presence off or on.' },
);
