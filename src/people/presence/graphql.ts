import DataLoader from 'dataloader';
import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { idInCursor, pageByIds } from '../../api/graphql/connection.ts';
import { perOperation } from '../../api/graphql/context.ts';
import { EntityFacts, fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { nodeType } from '../../api/graphql/node.ts';
import { pageSize } from '../../api/graphql/page-size.ts';
import { byKey } from '../../api/graphql/together.ts';
import { userReference } from '../entity-facts.ts';
import { User } from '../graphql.ts';
import { usersById } from '../loaders.ts';
import type { KnownPresence } from './events.ts';
import { presencesOf, readPresences } from './reads.ts';
import { recordPresence } from './service.ts';
import { type Presence, statusAt, toWirePresence } from './wire.ts';

const PresenceStatus = builder.enumType('PresenceStatus', {
  description: 'Whether somebody is there.',
  values: {
    ACTIVE: { value: 'active', description: 'Doing something.' },
    IDLE: { value: 'idle', description: 'With a client open.' },
    OFFLINE: { value: 'offline', description: 'Not seen for 200 seconds.' },
  } as const,
});

const PresencePing = builder.enumType('PresencePing', {
  description: 'What a client tells of the person in front of it.',
  values: {
    ACTIVE: { value: 'active', description: 'Doing something.' },
    IDLE: { value: 'idle', description: 'With a client open.' },
  } as const,
});

const UserPresence = builder.objectRef<Presence>('UserPresence');

builder.node(UserPresence, {
  id: { resolve: ({ user }) => user.id },
  description: 'When somebody was last there.',
  fields: (t) => ({
    user: t.field({
      type: User,
      description: 'Whom it is about.',
      resolve: byKey(usersById, ({ user }) => user.id),
    }),
    status: t.field({
      type: PresenceStatus,
      description: 'Whether they are there, as of this answer.',
      resolve: (presence, _args, { app }) => statusAt(toWirePresence(presence), app.now()),
    }),
    activeAt: t.expose('activeAt', { type: 'DateTime', description: 'Last seen doing something.' }),
    idleAt: t.expose('idleAt', { type: 'DateTime', description: 'Last seen at all.' }),
    version: t.expose('updateId', { type: 'LongId', description: 'Grows with each change of anybody.' }),
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
    description: 'When they were last there; null for a bot, for who is deactivated, and for who was never seen.',
    resolve: ({ id }, _args, ctx) => presences(ctx).load(id),
  }),
);

const LIST = 'presence';

const PresencesSinceInput = builder.inputType('PresencesSinceInput', {
  isOneOf: true,
  description: 'From where on presences are listed.',
  fields: (t) => ({
    version: t.field({
      type: 'LongId',
      required: false,
      description: 'What has changed after this `version`, whenever that was.',
    }),
    days: t.int({ required: false, description: 'Who was seen in so many days.' }),
  }),
});

builder.queryField('presences', (t) =>
  t.connection({
    type: UserPresence,
    description:
      'When the people of the organization were last there, by `version`. To hear what has changed, ask for what is newer ' +
      'than the last one seen.',
    args: {
      since: t.arg({
        type: PresencesSinceInput,
        required: false,
        description: 'Leaves out what is older. Absent: who was not seen for 14 days.',
      }),
    },
    async resolve(_root, { since, ...args }, ctx) {
      const { app, viewer } = signedIn(ctx);
      const size = pageSize(args);
      const backward = args.first == null && args.last != null;
      const page = {
        above: idInCursor(LIST, args, 'after') ?? Number.MIN_SAFE_INTEGER,
        below: idInCursor(LIST, args, 'before') ?? Number.MAX_SAFE_INTEGER,
        limit: size + 1,
        newestFirst: backward,
      };
      const query = { newerThan: since?.version, historyDays: since?.days };
      const { presences: found } = await readPresences(app.db, viewer.realm, query, app.now(), page);
      const rows = found.slice(0, size);
      if (backward) rows.reverse();
      return pageByIds(LIST, rows, { idOf: ({ updateId }) => updateId, more: found.length > size, args });
    },
  }),
);

mutation('recordPresence', {
  ignoresIdempotencyKey: true,
  description: 'Tells that the viewer is there. Not for bots.',
  input: (t) => ({ status: t.field({ type: PresencePing, description: 'What the viewer is doing.' }) }),
  payload: () => ({
    presence: { type: UserPresence, nullable: true, description: "The viewer's presence; null for who shows none." },
  }),
  async resolve(ctx, { status }) {
    await recordPresence(ctx, status);
    return { presence: (await presencesOf(ctx, [ctx.viewer.id])).get(ctx.viewer.id) ?? null };
  },
});

const knownPresence: EntityFacts<KnownPresence> = new EntityFacts<KnownPresence>(
  'UserPresence',
  { idOf: ({ userId }) => userId },
  {
    user: { facts: userReference, of: ({ userId }) => userId },
    activeAt: ({ active_at }) => new Date(active_at),
    idleAt: ({ idle_at }) => new Date(idle_at),
    version: ({ version }) => version,
  },
);

const presentUser = new EntityFacts<KnownPresence>(
  'User',
  { idOf: ({ userId }) => userId },
  { databaseId: ({ userId }) => userId, presence: { facts: knownPresence, of: (presence) => presence } },
);

eventType<unknown, KnownPresence>(
  'presence',
  undefined,
  'PresenceChangedEvent',
  (t) => ({
    user: t.field({
      type: User,
      nullable: true,
      description: 'Whose `presence` it is.',
      ...fromEvent(presentUser, ({ facts }: EventSource<unknown, KnownPresence>) => facts),
    }),
  }),
  { description: 'Somebody came online, or shows that they are there no longer.' },
);
