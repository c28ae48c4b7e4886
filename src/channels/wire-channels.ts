import type { ChannelActor } from '../access/permissions/require.ts';
import type { Channel, Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { LongWork, yieldToEventLoop } from '../platform/time-slices.ts';
import { readActivity } from './activity.ts';
import { countSubscribers, NOBODY, readSubscribers, readWholeSubscribers } from './subscribers.ts';
import { type IncludeSubscribers, type SubscriberList, toWireChannel, type WireChannel } from './wire.ts';

type ChannelWireDb = Pick<Tx, 'channel' | '$queryRaw'>;

/** Channels in wire format, with the subscribers of each. */
export interface PeopledChannels {
  readonly channels: readonly WireChannel[];
  /** Returns an empty list if lists were not requested. */
  readonly listOf: (id: number) => SubscriberList;
}

/**
 * Reads channels with their activity and subscribers, sorted by name. Runs three queries, or four if `include` requests partial
 * subscriber lists. Hundreds of channels take more queries.
 *
 * @param where Condition that selects the channels that the viewer can see.
 */
export async function readPeopledChannels(
  db: ChannelWireDb,
  actor: ChannelActor,
  { where, include }: { readonly where: Prisma.ChannelWhereInput; readonly include: IncludeSubscribers },
): Promise<PeopledChannels> {
  return toPeopledChannels(db, actor, { channels: sortedByName(await readAll(db, where)), include });
}

/** Number of channels per query. A query takes a few milliseconds. */
const AT_ONCE = 250;

/** Reads all matching channels, ascending by id. Yields to the event loop between queries. */
async function readAll(db: ChannelWireDb, where: Prisma.ChannelWhereInput): Promise<Channel[]> {
  const channels: Channel[] = [];
  for (let after = 0; ; await yieldToEventLoop()) {
    const further = { AND: [where, { id: { gt: after } }] };
    const some = await db.channel.findMany({ where: further, orderBy: { id: 'asc' }, take: AT_ONCE });
    channels.push(...some);
    if (some.length < AT_ONCE) return channels;
    after = some.at(-1)?.id ?? after;
  }
}

/** Sorts channels by name. The database's order depends on its locale. */
export const sortedByName = (channels: readonly Channel[]): Channel[] =>
  channels.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Converts channels to wire format, in their order. */
export async function toWireChannels(
  db: ChannelWireDb,
  actor: ChannelActor,
  channels: readonly Channel[],
): Promise<WireChannel[]> {
  const countOf = await countSubscribers(db, idsOf(channels));
  return withCounts(db, actor, channels, countOf);
}

/** Converts channels to wire format, in their order, with lists of subscribers. The lists also give the counts. */
export async function toPeopledChannels(
  db: ChannelWireDb,
  actor: ChannelActor,
  { channels, include }: { readonly channels: readonly Channel[]; readonly include: IncludeSubscribers },
): Promise<PeopledChannels> {
  if (include === 'false') {
    return {
      channels: await toWireChannels(db, actor, channels),
      listOf: () => NOBODY,
    };
  }
  const ids = idsOf(channels);
  const listOf = await (include === 'true' ? readWholeSubscribers(db, ids) : readSubscribers(db, ids, actor.now));
  return { channels: await withCounts(db, actor, channels, (id) => listOf(id).subscribers.length), listOf };
}

const idsOf = (channels: readonly Channel[]) => channels.map(({ id }) => id);

async function withCounts(
  db: ChannelWireDb,
  { person, groups, now }: ChannelActor,
  channels: readonly Channel[],
  countOf: (id: number) => number,
): Promise<WireChannel[]> {
  const activityOf = await readActivity(db, person.realm, channels, now);
  const work = new LongWork();
  const wires: WireChannel[] = [];
  for (const channel of channels) {
    const [subscriberCount, activity] = [countOf(channel.id), activityOf(channel.id)];
    wires.push(toWireChannel(channel, { groups, subscriberCount, activity }));
    if (work.isLong) await work.rest();
  }
  return wires;
}
