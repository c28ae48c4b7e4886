import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { BatchedReads, type ReadPlace } from '../platform/db/batched-reads.ts';
import { listOf } from '../platform/db/lists.ts';
import { readRows } from '../platform/db/rows.ts';
import { isRowId } from '../platform/ids.ts';
import { type Guarded, readsChannel, seesChannel } from './access.ts';

/** A filter for the channels that the viewer can see. A channel must match every value that is given. */
export interface ChannelListFilter {
  readonly isSubscribed?: boolean | null | undefined;
  readonly onlyReadable?: boolean | null | undefined;
  readonly isPrivate?: boolean | null | undefined;
  readonly isWebPublic?: boolean | null | undefined;
  readonly isDefault?: boolean | null | undefined;
  readonly folderId?: number | null | undefined;
  readonly includeArchived?: boolean | null | undefined;
}

/** The columns by which a list of channels is sorted. */
export interface ListedChannel {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
}

/** A channel of a list. `subscribers` contains the ids of the requesting users who are subscribed to it. */
type Row = ListedChannel & Guarded & { readonly subscribers: readonly number[] };

/**
 * Returns the matching channels that the viewer can see, in no order. Runs one query; concurrent calls with equal filters share
 * it. Then `seesChannel` and `readsChannel` check the viewer's access to each channel.
 */
export async function listedChannels(ctx: Ctx, filter: ChannelListFilter): Promise<ListedChannel[]> {
  const { app, viewer } = ctx;
  const { isSubscribed: wanted, onlyReadable, ...ofChannel } = filter;
  const [actor, lists] = await Promise.all([
    channelActor(app.db, viewer, app.now()),
    gathered.of({ db: app.db, realmId: viewer.realm.id, statement: wordsOf(ofChannel) }, [
      { userId: viewer.id, ofChannel },
    ]),
  ]);
  const mayHave = onlyReadable === true ? [seesChannel, readsChannel] : [seesChannel];
  return (lists[0] ?? []).filter((row) => {
    const isSubscribed = row.subscribers.includes(viewer.id);
    return (wanted == null || isSubscribed === wanted) && mayHave.every((may) => may(actor, row, isSubscribed));
  });
}

/** The part of the filter that does not depend on the viewer. */
type OfChannel = Omit<ChannelListFilter, 'isSubscribed' | 'onlyReadable'>;

interface ListRequest {
  readonly userId: number;
  readonly ofChannel: OfChannel;
}

/**
 * Weight of one caller in a batch. Each caller adds a user's subscriptions to all channels, and about 50 callers fill a batch.
 */
const WEIGHT = 40;

const gathered = new BatchedReads<ListRequest, readonly Row[]>(
  async (place, wanted) => {
    const userIds = wanted.map(({ userId }) => userId);
    const rows = await readList(place, wanted[0]?.ofChannel ?? {}, userIds);
    return wanted.map(() => rows);
  },
  () => WEIGHT,
);

const wordsOf = ({ isPrivate, isWebPublic, isDefault, folderId, includeArchived }: OfChannel): string =>
  [isPrivate, isWebPublic, isDefault, folderId, includeArchived].join(' ');

/**
 * Reads the channels that match the filter.
 *
 * @param userIds Users whose subscriptions are fetched.
 */
function readList({ db, realmId }: ReadPlace, filter: OfChannel, userIds: readonly number[]): Promise<Row[]> {
  return readRows<Row>(
    db,
    Prisma.sql`
      SELECT c.id, c.name, c.created_at AS "createdAt", c.invite_only AS "inviteOnly", c.is_web_public AS "isWebPublic",
             c.creator_id AS "creatorId", CASE WHEN c.invite_only THEN c.permissions ELSE '{}' END AS permissions,
             COALESCE(own.user_ids, '{}') AS subscribers
      FROM channel c LEFT JOIN (
        SELECT s.channel_id, array_agg(s.user_id) AS user_ids FROM subscription s
        WHERE s.realm_id = ${realmId} AND s.user_id = ANY(${listOf('int', userIds)}) AND s.active
        GROUP BY s.channel_id) AS own ON own.channel_id = c.id
      WHERE c.realm_id = ${realmId} AND ${conditionOf(filter)}`,
  );
}

function conditionOf(filter: OfChannel): Prisma.Sql {
  const { isPrivate, isWebPublic, isDefault, folderId, includeArchived } = filter;
  const conditions = [
    ...(isPrivate == null ? [] : [Prisma.sql`c.invite_only = ${isPrivate}::boolean`]),
    ...(isWebPublic == null ? [] : [Prisma.sql`c.is_web_public = ${isWebPublic}::boolean`]),
    ...(isDefault == null ? [] : [Prisma.sql`c.is_default = ${isDefault}::boolean`]),
    // An invalid folder id is replaced by -1, which matches no channel.
    ...(folderId == null ? [] : [Prisma.sql`c.folder_id = ${isRowId(folderId) ? folderId : -1}::int`]),
    ...(includeArchived === true ? [] : [Prisma.sql`NOT c.is_archived`]),
  ];
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}
