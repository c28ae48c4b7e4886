import type { Tx } from '../platform/db/client.ts';
import { isRowId } from '../platform/ids.ts';
import { invalidChannelId } from './access.ts';

/** A channel by id, or by name in any case. */
export type ChannelKey = { readonly id: number } | { readonly name: string };

/** The result of looking up a channel by its key. */
export interface Found<K extends ChannelKey> {
  readonly key: K;
  /** Id of the channel. Null if no channel has the name. */
  readonly id: number | null;
  /** The name in lower case, as the database converts it. Empty if the key is an id. */
  readonly lowered: string;
}

/**
 * Returns the channel id for each key, in the order of the keys. Names are looked up. An id in a key is returned without
 * checking that the channel exists.
 *
 * @throws NotFoundError for an id that is outside the range of row ids.
 */
export async function findChannels<K extends ChannelKey>(
  tx: Tx,
  organizationId: number,
  keys: readonly K[],
): Promise<Found<K>[]> {
  const names = keys.flatMap((key) => ('name' in key ? [key.name.trim()] : []));
  // Converts to lower case in the database, because the unique index of channel names does so too.
  const rows = await tx.$queryRaw<{ name: string; lowered: string; id: number | null }[]>`
    SELECT DISTINCT n.name, lower(n.name) AS lowered, c.id FROM unnest(${names}::text[]) AS n(name)
    LEFT JOIN channel c ON c.realm_id = ${organizationId} AND lower(c.name) = lower(n.name)`;
  const byName = new Map(rows.map((row) => [row.name, row]));
  return keys.map((key) => {
    if ('name' in key) {
      const found = byName.get(key.name.trim());
      return { key, id: found?.id ?? null, lowered: found?.lowered ?? '' };
    }
    if (!isRowId(key.id)) throw invalidChannelId(key.id);
    return { key, id: key.id, lowered: '' };
  });
}

export const idsOf = (found: readonly Found<ChannelKey>[]): number[] =>
  found.flatMap(({ id }) => (id === null ? [] : [id]));
