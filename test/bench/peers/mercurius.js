// The closest peer: fastify, mercurius with graphql-jit, and hand-written SQL, batched by loaders for each request.
import DataLoader from 'dataloader';
import Fastify from 'fastify';
import { GraphQLScalarType } from 'graphql';
import mercurius from 'mercurius';
import { SCHEMA } from './mercurius-schema.js';
import * as sql from './mercurius-statements.js';
import { avatarUrl, openPool, ROLES, signInWith, workAsPeer } from './served.js';

const GUEST = 600;

/** Returns the reads of one request: prepared statements by name, and loaders that batch the reads of fields. */
function readsOf(pool, viewer) {
  const { id: viewerId, realm_id: realmId } = viewer;
  const isGuest = viewer.role === GUEST;
  const run = async (name, values) => (await pool.query({ name, text: sql[name], values })).rows;
  const byId = (name) =>
    new DataLoader(async (ids) => {
      const found = new Map((await run(name, [realmId, ids])).map((row) => [row.databaseId, row]));
      return ids.map((id) => found.get(id) ?? null);
    });
  const newest = new Map();
  let unread;
  return {
    viewer,
    folders: byId('FOLDERS'),
    users: byId('USERS'),
    channelsById: byId('CHANNELS_BY_ID'),
    subscriberCounts: new DataLoader(async (ids) => {
      const counts = new Map((await run('SUBSCRIBER_COUNTS', [realmId, ids])).map(({ id, count }) => [id, count]));
      return ids.map((id) => counts.get(id) ?? 0);
    }),
    reactions: new DataLoader(async (ids) => {
      const byMessage = Map.groupBy(await run('REACTIONS', [realmId, ids]), ({ message_id }) => message_id);
      return ids.map((id) => byMessage.get(id) ?? []);
    }),
    flags: new DataLoader(async (ids) => {
      const rows = new Map((await run('FLAGS', [viewerId, realmId, ids])).map((row) => [row.id, row]));
      return ids.map((id) => flagsOf(rows.get(id)));
    }),
    /** Loads the newest messages of channels, with one statement for all fields that request the same number. */
    newest(count) {
      const loader =
        newest.get(count) ??
        new DataLoader(async (ids) => {
          const rows = await run('NEWEST_OF_CHANNELS', [viewerId, ids, count, realmId]);
          const byChannel = Map.groupBy(rows, ({ channel_id }) => channel_id);
          return ids.map((id) => byChannel.get(id) ?? []);
        });
      newest.set(count, loader);
      return loader;
    },
    /** Reads the unread counts once for each request: one number per channel, and the totals. */
    unread() {
      unread ??= run('UNREAD', [viewerId, realmId]).then(unreadOf);
      return unread;
    },
    channels: (count) => run('CHANNELS', [viewerId, isGuest, realmId, count]),
    subscriptions: (count) => run('SUBSCRIPTIONS', [viewerId, realmId, count]),
    received: (count) => run('RECEIVED', [viewerId, isGuest, realmId, count]),
    topic: (channelId, topic, count) => run('TOPIC', [viewerId, isGuest, channelId, topic, count, realmId]),
  };
}

const FLAGS = [
  ['read', 'READ'],
  ['starred', 'STARRED'],
  ['collapsed', 'COLLAPSED'],
  ['mentioned', 'MENTIONED'],
  ['topic_wildcard_mentioned', 'TOPIC_WILDCARD_MENTIONED'],
  ['has_alert_word', 'HAS_ALERT_WORD'],
];

function flagsOf(row) {
  const flags = FLAGS.filter(([column]) => row[column]).map(([, flag]) => flag);
  if (row.channel_wildcard && row.received) flags.push('CHANNEL_WILDCARD_MENTIONED');
  if (!row.received) flags.push('HISTORICAL');
  return flags;
}

function unreadOf(rows) {
  const byChannel = new Map();
  const totals = { total: 0, channels: 0, conversations: 0 };
  for (const { channel_id, is_muted, count } of rows) {
    byChannel.set(channel_id, (byChannel.get(channel_id) ?? 0) + count);
    if (is_muted) continue;
    totals.total += count;
    totals[channel_id === null ? 'conversations' : 'channels'] += count;
  }
  return { byChannel, totals };
}

/** Returns the number in a global id. */
const numberOf = (id) => Number(Buffer.from(id, 'base64').toString().split(':')[1]);

const viewerOf = (row) => ({
  databaseId: row.id,
  deliveryEmail: row.email,
  email: row.email,
  fullName: row.full_name,
  joinedAt: new Date(Math.floor(row.joined_at.getTime() / 60_000) * 60_000),
  isActive: row.is_active,
  role: ROLES[row.role],
  isBot: row.bot_type !== null,
  botType: null,
  timezone: row.settings.timezone ?? '',
  avatarVersion: row.avatar_version,
  isImportedStub: row.is_imported_stub,
});

const resolvers = {
  DateTime: new GraphQLScalarType({ name: 'DateTime', serialize: (date) => date.toISOString() }),
  LongId: new GraphQLScalarType({ name: 'LongId', serialize: (id) => id }),
  Query: {
    viewer: (_, _args, { reads }) => viewerOf(reads.viewer),
    channels: async (_, { first }, { reads }) => ({ nodes: await reads.channels(first) }),
    subscriptions: async (_, { first }, { reads }) => ({ nodes: await reads.subscriptions(first) }),
    messages: async (_, { last, narrow }, { reads }) => ({
      nodes: await (narrow == null
        ? reads.received(last)
        : reads.topic(numberOf(narrow.channel.id), narrow.topicNamed, last)),
    }),
  },
  User: {
    avatarUrl: ({ databaseId, avatarVersion }) => avatarUrl(databaseId, avatarVersion),
    unreadCounts: async (_, _args, { reads }) => (await reads.unread()).totals,
  },
  Channel: {
    folder: ({ folder_id }, _args, { reads }) => (folder_id === null ? null : reads.folders.load(folder_id)),
    creator: ({ creator_id }, _args, { reads }) => (creator_id === null ? null : reads.users.load(creator_id)),
    subscriberCount: ({ databaseId }, _args, { reads }) => reads.subscriberCounts.load(databaseId),
    messages: async ({ databaseId }, { last }, { reads }) => ({ nodes: await reads.newest(last).load(databaseId) }),
  },
  ChannelSubscription: {
    // The row of a subscription also contains the columns of its channel.
    channel: (row) => row,
    unreadCount: async ({ databaseId }, _args, { reads }) =>
      (await reads.unread()).byChannel.get(databaseId) ?? 0,
  },
  Message: {
    sender: ({ sender_id }, _args, { reads }) => reads.users.load(sender_id),
    reactions: ({ databaseId }, _args, { reads }) => reads.reactions.load(databaseId),
    flags: ({ databaseId }, _args, { reads }) => reads.flags.load(databaseId),
    channel: ({ channel_id }, _args, { reads }) => (channel_id === null ? null : reads.channelsById.load(channel_id)),
  },
  Reaction: {
    user: ({ user_id, full_name }) => ({ databaseId: user_id, fullName: full_name }),
  },
};

workAsPeer(async (input) => {
  const pool = openPool(input);
  const signIn = signInWith(pool, input.together);
  const app = Fastify({ keepAliveTimeout: 75_000 });
  await app.register(mercurius, {
    schema: SCHEMA,
    resolvers,
    jit: 1,
    context: async (request) => ({ reads: readsOf(pool, await signIn(request)) }),
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return app.server.address().port;
});
