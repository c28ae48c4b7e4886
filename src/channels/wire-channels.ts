import type { Tx } from '../db/client.ts';
import type { Channel, Prisma } from '../generated/prisma/client.ts';
import type { Onlooker } from './access.ts';
import { countSubscribers } from './subscribers.ts';
import { toWireChannel, type WireChannel } from './wire.ts';

type Reader = Pick<Tx, 'channel' | '$queryRaw'>;

/** Channels with all that goes with them, in two queries, by name. The caller's `where` decides who sees them. */
export async function readWireChannels(
  db: Reader,
  onlooker: Pick<Onlooker, 'groups' | 'now'>,
  where: Prisma.ChannelWhereInput,
): Promise<WireChannel[]> {
  return toWireChannels(db, onlooker, sortedByName(await db.channel.findMany({ where })));
}

/** By name, the same everywhere: the database's order depends on its locale. */
export const sortedByName = (channels: readonly Channel[]): Channel[] =>
  channels.toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** The channels as on the wire, in their order. */
export async function toWireChannels(
  db: Reader,
  { groups, now }: Pick<Onlooker, 'groups' | 'now'>,
  channels: readonly Channel[],
): Promise<WireChannel[]> {
  const countOf = await countSubscribers(
    db,
    channels.map(({ id }) => id),
  );
  return channels.map((channel) => toWireChannel(channel, { groups, subscriberCount: countOf(channel.id), now }));
}
