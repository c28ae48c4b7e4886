import type { Ctx } from '../access/context.ts';
import { channelActor } from '../access/permissions/require.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { readRows } from '../platform/db/rows.ts';
import { isRowId } from '../platform/ids.ts';
import { type Guarded, readsChannel, seesChannel } from './access.ts';

/** Which of the channels that the viewer sees to list: each that is given leaves out those it does not fit. */
export interface ChannelListFilter {
  readonly isSubscribed?: boolean | null | undefined;
  readonly onlyReadable?: boolean | null | undefined;
  readonly isPrivate?: boolean | null | undefined;
  readonly isWebPublic?: boolean | null | undefined;
  readonly isDefault?: boolean | null | undefined;
  readonly folderId?: number | null | undefined;
  readonly includeArchived?: boolean | null | undefined;
}

/** What a list of channels is sorted by. */
export interface ListedChannel {
  readonly id: number;
  readonly name: string;
  readonly createdAt: Date;
}

type Row = ListedChannel & Guarded & { readonly isSubscribed: boolean };

/**
 * The channels of a list, in no order: one query, however many. Who may see them is decided by the rule itself; what it
 * asks of permissions is read of those alone whose permissions decide it.
 */
export async function listedChannels(ctx: Ctx, filter: ChannelListFilter): Promise<ListedChannel[]> {
  const { app, viewer } = ctx;
  const actor = await channelActor(app.db, viewer, app.now());
  const rows = await readRows<Row>(
    app.db,
    Prisma.sql`
      SELECT c.id, c.name, c.created_at AS "createdAt", c.invite_only AS "inviteOnly", c.is_web_public AS "isWebPublic",
             c.creator_id AS "creatorId", COALESCE(s.active, false) AS "isSubscribed",
             CASE WHEN c.invite_only AND s.active IS NOT TRUE THEN c.permissions ELSE '{}' END AS permissions
      FROM channel c LEFT JOIN subscription s ON s.channel_id = c.id AND s.user_id = ${viewer.id}
      WHERE c.realm_id = ${viewer.realm.id} AND ${conditionOf(filter)}`,
  );
  const mayHave = filter.onlyReadable === true ? [seesChannel, readsChannel] : [seesChannel];
  return rows.filter((row) => mayHave.every((may) => may(actor, row, row.isSubscribed)));
}

function conditionOf(filter: ChannelListFilter): Prisma.Sql {
  const { isSubscribed, isPrivate, isWebPublic, isDefault, folderId, includeArchived } = filter;
  const conditions = [
    ...(isPrivate == null ? [] : [Prisma.sql`c.invite_only = ${isPrivate}::boolean`]),
    ...(isWebPublic == null ? [] : [Prisma.sql`c.is_web_public = ${isWebPublic}::boolean`]),
    ...(isDefault == null ? [] : [Prisma.sql`c.is_default = ${isDefault}::boolean`]),
    // An id that no row can have is the id of no folder.
    ...(folderId == null ? [] : [Prisma.sql`c.folder_id = ${isRowId(folderId) ? folderId : -1}::int`]),
    ...(isSubscribed == null ? [] : [Prisma.sql`COALESCE(s.active, false) = ${isSubscribed}::boolean`]),
    ...(includeArchived === true ? [] : [Prisma.sql`NOT c.is_archived`]),
  ];
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}
