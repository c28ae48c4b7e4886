import { z } from 'zod';
import type { User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import type { Wire } from '../platform/wire.ts';

/** Wire format of a bot's defaults. Default channels are given by name. */
export const wireDefaults = z.object({
  default_sending_stream: z.string().nullable(),
  default_events_register_stream: z.string().nullable(),
  default_all_public_streams: z.boolean(),
});
export type WireDefaults = Wire<typeof wireDefaults>;

/** The data of a bot that only the bot's owner and administrators can see. */
export interface WireBot extends WireDefaults {
  readonly user_id: number;
  /**
   * Services of outgoing webhooks and embedded bots. Always empty, because users can create only bots of the type `generic`.
   */
  readonly services: readonly never[];
}

export type BotDefaults = Pick<User, 'defaultSendingChannelId' | 'defaultEventsChannelId' | 'defaultAllPublicChannels'>;

/** Returns a function that returns the name of a bot's default channel by the channel's id. Reads all names with one query. */
export async function channelNames(
  db: Pick<Tx, 'channel'>,
  organizationId: number,
  bots: readonly BotDefaults[],
): Promise<(id: number | null) => string | null> {
  const ids = bots.flatMap((bot) =>
    [bot.defaultSendingChannelId, bot.defaultEventsChannelId].flatMap((id) => id ?? []),
  );
  if (ids.length === 0) return () => null;
  const rows = await db.channel.findMany({
    where: { organizationId, id: { in: [...new Set(ids)] } },
    select: { id: true, name: true },
  });
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return (id) => (id === null ? null : (names.get(id) ?? null));
}

export const toWireDefaults = (bot: BotDefaults, nameOf: (id: number | null) => string | null): WireDefaults => ({
  default_sending_stream: nameOf(bot.defaultSendingChannelId),
  default_events_register_stream: nameOf(bot.defaultEventsChannelId),
  default_all_public_streams: bot.defaultAllPublicChannels,
});

export const toWireBot = (bot: User, nameOf: (id: number | null) => string | null): WireBot => ({
  user_id: bot.id,
  ...toWireDefaults(bot, nameOf),
  services: [],
});

/** Converts bots to wire format, with the names of their default channels. */
export async function readWireBots(
  db: Pick<Tx, 'channel'>,
  organizationId: number,
  bots: readonly User[],
): Promise<WireBot[]> {
  const nameOf = await channelNames(db, organizationId, bots);
  return bots.map((bot) => toWireBot(bot, nameOf));
}
