import type { Tx } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import type { Selection } from './narrow/narrow-select.ts';

/**
 * Our choice: five thousand messages of the usual length. Messages may become a hundred times as long as HTML, and five
 * thousand of those would be more than the process can hold.
 */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

/**
 * As many of the messages found as may be in one reply: on each side of the anchor those nearest to it, at least one. What
 * is left out is said as what was not looked for is: the end of that side was not found.
 */
export async function cutToSize(db: Tx, realmId: number, selection: Selection): Promise<Selection> {
  const { ids, anchor, foundOldest, foundNewest } = selection;
  if (ids.length === 0) return selection;
  const sizes = await sizesOf(db, realmId, ids);
  const before = ids.filter((id) => id < anchor).reverse();
  const after = ids.filter((id) => id > anchor);
  const budget = before.length > 0 && after.length > 0 ? MAX_PAGE_BYTES / 2 : MAX_PAGE_BYTES;
  const [nearBefore, nearAfter] = [before, after].map((side) => nearest(side, sizes, budget)) as [number[], number[]];
  return {
    ...selection,
    ids: [...nearBefore.reverse(), ...ids.filter((id) => id === anchor), ...nearAfter],
    foundOldest: foundOldest && nearBefore.length === before.length,
    foundNewest: foundNewest && nearAfter.length === after.length,
  };
}

/**
 * @throws BadRequestError when the messages are too long together: who names messages means them all.
 */
export async function requireSize(db: Tx, realmId: number, ids: readonly number[]): Promise<void> {
  const sizes = await sizesOf(db, realmId, ids);
  if (nearest(ids, sizes, MAX_PAGE_BYTES).length < ids.length) {
    throw new BadRequestError('The messages are too long together; please ask for fewer.');
  }
}

function nearest(ids: readonly number[], sizes: ReadonlyMap<number, number>, budget: number): number[] {
  let left = budget;
  const beyond = ids.findIndex((id, i) => {
    left -= sizes.get(id) ?? 0;
    return left < 0 && i > 0;
  });
  return ids.slice(0, beyond === -1 ? ids.length : beyond);
}

/** Of what is read of each message: its texts, and what stood there before. The database tells without reading them. */
async function sizesOf(db: Tx, realmId: number, ids: readonly number[]): Promise<Map<number, number>> {
  const rows = await db.$queryRaw<{ id: bigint; bytes: number }[]>`
    SELECT m.id, (octet_length(m.content) + octet_length(m.rendered_content) + COALESCE((
      SELECT sum(octet_length(e.prev_content) + octet_length(e.prev_rendered_content))
      FROM message_edit e WHERE e.realm_id = m.realm_id AND e.message_id = m.id), 0))::float8 AS bytes
    FROM message m WHERE m.realm_id = ${realmId} AND m.id = ANY(${ids.map(BigInt)}::bigint[])`;
  return new Map(rows.map(({ id, bytes }) => [Number(id), bytes]));
}
