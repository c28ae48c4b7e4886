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
  /** Returns the subscribers by channel id. The list is empty if subscriber lists were not requested. */
  readonly listOf: (id: number) => SubscriberList;
}

/**
 * Reads channels with their activity and subscribers, sorted by name. Runs three to five queries, and one more for every 250
 * channels.
 *
 * @param where Database condition for the channels to read. It must exclude channels that the viewer cannot see.
 */
export async function readPeopledChannels(
  db: ChannelWireDb,
  actor: ChannelActor,
  { where, include }: { readonly where: Prisma.ChannelWhereInput; readonly include: IncludeSubscribers },
): Promise<PeopledChannels> {
  return toPeopledChannels(db, actor, { channels: sortedByName(await readAll(db, where)), include });
}

/**
 * Maximum number of channels that one query reads. Further channels are read by further queries. Each query takes a few
 * milliseconds.
 */
const AT_ONCE = 250;

/** Reads all channels that match `where`, ascending by id. Yields to the event loop between queries. */
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

/**
 * Sorts channels by name, in the order of code units. The database does not sort them, because its sort order depends on its
 * locale.
 */
export const sortedByName = (channels: readonly Channel[]): Channel[] =>
  channels.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Converts channels to wire format, in their order. */
export async function toWireChannels(
  db: ChannelWireDb,
  actor: ChannelActor,
  channels: readonly Channel[],
): Promise<WireChannel[]> {
  const countOf = await countSubscribers(db, actor.person.organization.id, idsOf(channels));
  return withCounts(db, actor, channels, countOf);
}

/**
 * Converts channels to wire format, in their order, with lists of subscribers. The subscriber counts are the lengths of these
 * lists.
 */
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
  const [organizationId, ids] = [actor.person.organization.id, idsOf(channels)];
  const listOf = await (include === 'true'
    ? readWholeSubscribers(db, organizationId, ids)
    : readSubscribers(db, organizationId, ids, actor.now));
  return { channels: await withCounts(db, actor, channels, (id) => listOf(id).subscribers.length), listOf };
}

const idsOf = (channels: readonly Channel[]) => channels.map(({ id }) => id);

async function withCounts(
  db: ChannelWireDb,
  { person, groups, now }: ChannelActor,
  channels: readonly Channel[],
  countOf: (id: number) => number,
): Promise<WireChannel[]> {
  const activityOf = await readActivity(db, person.organization, channels, now);
  const work = new LongWork();
  const wires: WireChannel[] = [];
  for (const channel of channels) {
    const [subscriberCount, activity] = [countOf(channel.id), activityOf(channel.id)];
    wires.push(toWireChannel(channel, { groups, subscriberCount, activity }));
    if (work.isLong) await work.rest();
  }
  return wires;
}
