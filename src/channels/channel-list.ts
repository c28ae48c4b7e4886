import type { Ctx } from '../access/context.ts';
import {
  type ChannelPermissionName,
  CONTENT_PERMISSIONS,
  METADATA_PERMISSIONS,
} from '../access/permissions/channel-permissions.ts';
import { channelActor } from '../access/permissions/require.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { BatchedReads, type ReadPlace } from '../platform/db/batched-reads.ts';
import {
  cursorKey,
  type FetchedRowKey,
  inOrder,
  isWithin,
  type Keyset,
  type RowKey,
  rowKeyOf,
  type SortColumn,
} from '../platform/db/keyset.ts';
import { isNamed } from '../platform/db/named.ts';
import { readRows } from '../platform/db/rows.ts';
import { isRowId } from '../platform/ids.ts';
import { isAdministrator, isGuest } from '../platform/roles.ts';
import { heldGroupIds } from './access.ts';
import { CHANNEL_PRIVACIES, type ChannelPrivacy } from './privacy.ts';

/** A filter for the channels that the viewer can see. A channel must match every value that is neither null nor undefined. */
export interface ChannelListFilter {
  readonly isSubscribed?: boolean | null | undefined;
  readonly onlyReadable?: boolean | null | undefined;
  readonly privacy?: readonly ChannelPrivacy[] | null | undefined;
  readonly isDefault?: boolean | null | undefined;
  readonly folderId?: number | null | undefined;
  readonly includeArchived?: boolean | null | undefined;
  /**
   * Text that the name must contain, ignoring case and accents. A name also matches if each word of the text begins a word of
   * the name, in any order.
   */
  readonly nameContains?: string | null | undefined;
  /** Id of a user. If set, only channels to which this user is subscribed match. */
  readonly subscriberId?: number | undefined;
}

/** A page of a list of channels: the sort key, the direction, the bounds and the length. */
export interface ChannelPage extends Omit<Keyset, 'limit'> {
  readonly field: 'name' | 'createdAt';
  /** Maximum number of channels of the page. Null: no limit. */
  readonly limit: number | null;
}

/** All channels of a list, with their creation times as sort keys. */
export const ALL_CHANNELS: ChannelPage = {
  ...{ field: 'createdAt', limit: null, descending: false },
  ...{ above: undefined, below: undefined },
};

/**
 * Returns one page of the channels that match the filter and that the viewer can see, as sort keys and ids. Runs one query,
 * which concurrent calls with equal filters and pages share.
 */
export async function readChannelRowKeys(ctx: Ctx, filter: ChannelListFilter, page: ChannelPage): Promise<RowKey[]> {
  const [rowKeys = []] = await pages.of(placeFor(ctx, { filter, page }), [{ ...(await requestOf(ctx, filter)), page }]);
  return [...rowKeys];
}

/**
 * Returns the number of channels that match the filter and that the viewer can see. Runs one query, which concurrent calls with
 * equal filters share.
 */
export async function countChannels(ctx: Ctx, filter: ChannelListFilter): Promise<number> {
  const [count = 0] = await counts.of(placeFor(ctx, { filter }), [await requestOf(ctx, filter)]);
  return count;
}

/**
 * Returns the key of a request. Requests with equal keys differ only in the viewer and in `subscriberId`, and share a
 * statement.
 */
const placeFor = ({ work, organizationId }: Ctx, { filter, page }: Pick<Request, 'filter'> & Partial<PageRequest>) => ({
  ...{ db: work.db, organizationId },
  statement: JSON.stringify([{ ...filter, subscriberId: filter.subscriberId !== undefined }, page]),
});

/**
 * The channels that a viewer sees regardless of subscriptions and permissions: all, all but private ones, or web-public ones.
 */
type Reach = 'all' | 'public' | 'web';

/** Viewer of a list, as columns of a row. */
interface ViewerRow {
  readonly user_id: number;
  readonly reach: Reach;
  /** Groups of the viewer whose permissions count. */
  readonly group_ids: readonly number[];
  readonly subscriber_id: number | null;
}

interface Request {
  readonly filter: ChannelListFilter;
  readonly row: ViewerRow;
}

interface PageRequest extends Request {
  readonly page: ChannelPage;
}

async function requestOf({ app, work, viewer }: Ctx, filter: ChannelListFilter): Promise<Request> {
  const { role, id } = viewer;
  const others = isGuest(role) ? 'web' : 'public';
  const reach = isAdministrator(role) && filter.onlyReadable !== true ? 'all' : others;
  const group_ids = reach === 'public' ? heldGroupIds(await channelActor(work.db, viewer, app.now())) : [];
  return { filter, row: { user_id: id, reach, group_ids, subscriber_id: filter.subscriberId ?? null } };
}

/** Assumed number of rows of a page without a limit. The limit on the rows of a batch of reads uses it. */
const WHOLE = 500;

const pages = new BatchedReads<PageRequest, readonly RowKey[]>(readPages, ({ page }) => page.limit ?? WHOLE);
const counts = new BatchedReads<Request, number>(readCounts, () => 20);

/** Returns the viewers of a batch as rows of the table `v`, with their positions in the batch. */
const viewersOf = (requests: readonly Request[]): Prisma.Sql => Prisma.sql`
  jsonb_to_recordset(${JSON.stringify(requests.map(({ row }, place) => ({ ...row, place })))}::jsonb)
  AS v (place int, user_id int, reach text, group_ids jsonb, subscriber_id int)`;

const ID = Prisma.sql`c.id`;
const COLUMNS: Readonly<Record<ChannelPage['field'], SortColumn>> = {
  name: { key: Prisma.sql`c.sort_name`, name: Prisma.sql`c.name` },
  createdAt: { key: Prisma.sql`milliseconds(c.created_at)` },
};

async function readPages({ db, organizationId }: ReadPlace, requests: readonly PageRequest[]): Promise<RowKey[][]> {
  const [first] = requests;
  if (first === undefined) return [];
  const { page, filter } = first;
  const column = COLUMNS[page.field];
  const order = inOrder(page, column, ID);
  const rows = await readRows<FetchedRowKey & { readonly place: number }>(
    db,
    Prisma.sql`
    SELECT v.place, page.id, page.key FROM ${viewersOf(requests)} CROSS JOIN LATERAL (
      SELECT c.id, ${cursorKey(column)} AS key, row_number() OVER (ORDER BY ${order}) AS position FROM channel c
      WHERE c.realm_id = ${organizationId} AND ${isListed(organizationId, filter, PROBE)}
        AND ${isSeen(organizationId, filter, PROBE)} AND ${isWithin(page, column, ID)}
      ORDER BY ${order} LIMIT ${page.limit}::bigint
    ) AS page ORDER BY v.place, page.position`,
  );
  const found = Map.groupBy(rows, ({ place }) => place);
  return requests.map((_, place) => (found.get(place) ?? []).map(rowKeyOf));
}

async function readCounts({ db, organizationId }: ReadPlace, requests: readonly Request[]): Promise<number[]> {
  const [first] = requests;
  if (first === undefined) return [];
  const rows = await readRows<{ readonly place: number; readonly count: number }>(
    db,
    Prisma.sql`
    SELECT v.place, (${countOf(organizationId, first.filter)})::int AS count FROM ${viewersOf(requests)}`,
  );
  const found = new Map(rows.map(({ place, count }) => [place, count]));
  return requests.map((_, place) => found.get(place) ?? 0);
}

/**
 * Returns the number of listed channels, as an SQL expression over the viewer `v`. Channels that all viewers with the same
 * reach see are counted once for a whole batch: these subqueries do not depend on `v`.
 */
function countOf(organizationId: number, filter: ChannelListFilter): Prisma.Sql {
  const listed = isListed(organizationId, filter);
  const seen = isSeen(organizationId, filter);
  const counted = (condition: Prisma.Sql) =>
    Prisma.sql`(SELECT count(*) FROM channel c WHERE c.realm_id = ${organizationId} AND ${listed} AND ${condition})`;
  if (filter.isSubscribed != null || filter.subscriberId !== undefined) return counted(seen);
  const ownOnly = Prisma.sql`NOT c.is_web_public AND ${isAmong(organizationId, Prisma.sql`v.user_id`)}`;
  return Prisma.sql`
    CASE v.reach WHEN 'all' THEN ${counted(Prisma.sql`true`)}
    WHEN 'public' THEN ${counted(Prisma.sql`NOT c.invite_only`)} + ${counted(Prisma.sql`c.invite_only AND ${seen}`)}
    ELSE ${counted(Prisma.sql`c.is_web_public`)} + ${counted(ownOnly)} END`;
}

/** Returns the condition that a user is subscribed to the channel `c`. PostgreSQL reads all subscriptions of the user first. */
const isAmong = (organizationId: number, userId: Prisma.Sql): Prisma.Sql => Prisma.sql`
  c.id = ANY(ARRAY(
    SELECT s.channel_id FROM subscription s WHERE s.realm_id = ${organizationId} AND s.user_id = ${userId} AND s.active))`;

/** Returns the condition that the viewer `v` is subscribed to the channel `c`. @param probe `PROBE`, or an empty expression. */
const isOwn = (organizationId: number, probe: Prisma.Sql): Prisma.Sql => Prisma.sql`
  EXISTS (SELECT FROM subscription s
    WHERE s.realm_id = ${organizationId} AND s.user_id = v.user_id AND s.channel_id = c.id AND s.active ${probe})`;

/**
 * SQL at the end of a subquery on subscriptions. It makes the planner look up the subscription of each row of a page, instead
 * of reading all subscriptions of the viewer.
 */
const PROBE = Prisma.sql`OFFSET 0`;

/** Returns the given privacies without duplicates, in a fixed order. */
const kindsOf = (wanted: readonly ChannelPrivacy[]): readonly ChannelPrivacy[] => [...new Set(wanted)].sort();

function privacyCondition(kinds: readonly ChannelPrivacy[]): Prisma.Sql {
  const conditions = kinds.map((kind) => {
    const { inviteOnly, isWebPublic, historyPublicToSubscribers: isShared } = CHANNEL_PRIVACIES[kind];
    return Prisma.sql`(c.invite_only = ${inviteOnly}::boolean AND c.is_web_public = ${isWebPublic}::boolean
                       AND c.history_public_to_subscribers = ${isShared}::boolean)`;
  });
  return conditions.length === 0 ? Prisma.sql`false` : Prisma.sql`(${Prisma.join(conditions, ' OR ')})`;
}

/** Returns the condition that the channel `c` matches the filter for the viewer `v`. */
function isListed(organizationId: number, filter: ChannelListFilter, probe = Prisma.empty): Prisma.Sql {
  const { privacy, isDefault, folderId, includeArchived, nameContains, isSubscribed } = filter;
  const subscribed = (wanted: boolean) =>
    wanted ? isAmong(organizationId, Prisma.sql`v.user_id`) : Prisma.sql`NOT ${isOwn(organizationId, probe)}`;
  const conditions = [
    ...(privacy == null ? [] : [privacyCondition(kindsOf(privacy))]),
    ...(isDefault == null ? [] : [Prisma.sql`c.is_default = ${isDefault}::boolean`]),
    // An invalid folder id is replaced by -1, which matches no channel.
    ...(folderId == null ? [] : [Prisma.sql`c.folder_id = ${isRowId(folderId) ? folderId : -1}::int`]),
    ...(includeArchived === true ? [] : [Prisma.sql`NOT c.is_archived`]),
    ...(nameContains == null ? [] : [isNamed(nameContains, NAME)]),
    ...(isSubscribed == null ? [] : [subscribed(isSubscribed)]),
    ...(filter.subscriberId === undefined ? [] : [isAmong(organizationId, activeSubscriber(organizationId))]),
  ];
  return conditions.length === 0 ? Prisma.sql`true` : Prisma.join(conditions, ' AND ');
}

const NAME = { name: Prisma.sql`c.name`, words: Prisma.sql`c.name_words` };
/** The user whose channels are listed. A deactivated user has no channels. */
const activeSubscriber = (organizationId: number): Prisma.Sql => Prisma.sql`
  (SELECT u.id FROM user_account u WHERE u.realm_id = ${organizationId} AND u.id = v.subscriber_id AND u.is_active)`;

/**
 * Returns the condition that the viewer `v` sees the channel `c`, or also reads it, if the filter requires it. Equivalent to
 * `seesChannel` and `readsChannel`: users who can read a channel also see it.
 */
function isSeen(organizationId: number, { onlyReadable }: ChannelListFilter, probe = Prisma.empty): Prisma.Sql {
  const names: readonly ChannelPermissionName[] = onlyReadable === true ? CONTENT_PERMISSIONS : METADATA_PERMISSIONS;
  return Prisma.sql`(
    v.reach = 'all' OR c.is_web_public OR (v.reach = 'public' AND NOT c.invite_only) OR ${isOwn(organizationId, probe)}
    OR (v.reach = 'public' AND (c.creator_id = v.user_id OR c.permissions <> '{}')
      AND (${Prisma.join(names.map(isHeld), ' OR ')})))`;
}

/** Returns the condition that the viewer `v` holds a permission in the channel `c`. */
function isHeld(name: ChannelPermissionName): Prisma.Sql {
  const holders = Prisma.sql`c.permissions -> ${Prisma.raw(`'${name}'`)}`;
  const isNamedIn = Prisma.sql`
    ${holders} -> 'members' @> to_jsonb(v.user_id)
    OR EXISTS (SELECT FROM jsonb_array_elements(${holders} -> 'groups') AS held WHERE v.group_ids @> held.value)`;
  // Only this permission has a single user as its default holder.
  if (name !== 'can_administer_channel_group') return isNamedIn;
  return Prisma.sql`(c.creator_id = v.user_id AND ${holders} IS NULL) OR ${isNamedIn}`;
}
