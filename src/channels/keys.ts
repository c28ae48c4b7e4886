import type { Tx } from '../platform/db/client.ts';
import { isRowId } from '../platform/ids.ts';
import { invalidChannelId } from './access.ts';

/** A channel by id, or by name in any case. */
export type ChannelKey = { readonly id: number } | { readonly name: string };

/** The result of looking up a key. */
export interface Found<K extends ChannelKey> {
  readonly key: K;
  /** Id of the channel. Null if no channel has the name. */
  readonly id: number | null;
  /** The name in lower case, as the database compares it. Empty for a key by id. */
  readonly lowered: string;
}

/**
 * Looks up channels by name, in the order of the keys. Ids are returned without checking that the channel exists.
 *
 * @throws BadRequestError for an id that no channel can have.
 */
export async function findChannels<K extends ChannelKey>(
  tx: Tx,
  realmId: number,
  keys: readonly K[],
): Promise<Found<K>[]> {
  const names = keys.flatMap((key) => ('name' in key ? [key.name.trim()] : []));
  // The database converts to lower case, because its unique index does so too.
  const rows = await tx.$queryRaw<{ name: string; lowered: string; id: number | null }[]>`
    SELECT DISTINCT n.name, lower(n.name) AS lowered, c.id FROM unnest(${names}::text[]) AS n(name)
    LEFT JOIN channel c ON c.realm_id = ${realmId} AND lower(c.name) = lower(n.name)`;
  const byName = new Map(rows.map((row) => [row.name, row]));
  return keys.map((key) => {
    if ('name' in key) {
      const found = byName.get(key.name.trim());
      return { key, id: found?.id ?? null, lowered: found?.lowered ?? '' };
    }
    if (!isRowId(key.id)) throw invalidChannelId();
    return { key, id: key.id, lowered: '' };
  });
}

export const idsOf = (found: readonly Found<ChannelKey>[]): number[] =>
  found.flatMap(({ id }) => (id === null ? [] : [id]));
