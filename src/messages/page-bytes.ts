import type { Tx } from '../platform/db/client.ts';
import type { Selection } from './narrow/narrow-select.ts';
import { MAX_PAGE_BYTES, tooLarge } from './reply-size.ts';
import { ENTRY_BYTES } from './stored-edits.ts';

/** Approximate size of a reaction in a response, in bytes. */
const REACTION_BYTES = 250;

/**
 * Removes messages from a selection until the rest fits into one response. Keeps the anchor and the messages nearest to it, at
 * least one on each side. If messages are removed on a side, `foundOldest` or `foundNewest` of that side becomes false.
 */
export async function cutToSize(db: Tx, organizationId: number, selection: Selection): Promise<Selection> {
  const { ids, anchor, foundOldest, foundNewest } = selection;
  if (ids.length === 0) return selection;
  const sizes = await sizesOf(db, organizationId, ids);
  const before = ids.filter((id) => id < anchor).reverse();
  const after = ids.filter((id) => id > anchor);
  const left = MAX_PAGE_BYTES - (sizes.get(anchor) ?? 0);
  const budget = before.length > 0 && after.length > 0 ? left / 2 : left;
  const [nearBefore, nearAfter] = [before, after].map((side) => nearest(side, sizes, budget)) as [number[], number[]];
  return {
    ...selection,
    ids: [...nearBefore.reverse(), ...ids.filter((id) => id === anchor), ...nearAfter],
    foundOldest: foundOldest && nearBefore.length === before.length,
    foundNewest: foundNewest && nearAfter.length === after.length,
  };
}

/**
 * Checks that messages requested by id fit into one response. A page would be cut to the size of a response, but a response to
 * a list of ids is complete or an error.
 *
 * @throws ValidationError if the messages exceed `MAX_PAGE_BYTES`.
 */
export async function requireSize(db: Tx, organizationId: number, ids: readonly number[]): Promise<void> {
  const sizes = await sizesOf(db, organizationId, ids);
  if (nearest(ids, sizes, MAX_PAGE_BYTES).length < ids.length) throw tooLarge();
}

function nearest(ids: readonly number[], sizes: ReadonlyMap<number, number>, budget: number): number[] {
  let left = budget;
  const beyond = ids.findIndex((id, i) => {
    left -= sizes.get(id) ?? 0;
    return left < 0 && i > 0;
  });
  return ids.slice(0, beyond === -1 ? ids.length : beyond);
}

/**
 * Reads the size of each message in a response, in bytes: its text and HTML, earlier versions of the text, and reactions. The
 * database computes the lengths without loading the texts.
 */
async function sizesOf(db: Tx, organizationId: number, ids: readonly number[]): Promise<Map<number, number>> {
  const rows = await db.$queryRaw<{ id: bigint; bytes: number }[]>`
    SELECT m.id, (octet_length(m.content) + octet_length(m.rendered_content) + COALESCE(e.bytes, 0)
                  + COALESCE(r.bytes, 0))::float8 AS bytes
    FROM message m
    LEFT JOIN (
      SELECT message_id, sum(${ENTRY_BYTES}::int + COALESCE(octet_length(prev_content), 0)) AS bytes
      FROM message_edit WHERE realm_id = ${organizationId} AND message_id = ANY(${ids.map(BigInt)}::bigint[])
      GROUP BY message_id
    ) AS e ON e.message_id = m.id
    LEFT JOIN (
      SELECT message_id, ${REACTION_BYTES}::int * count(*) AS bytes
      FROM reaction WHERE realm_id = ${organizationId} AND message_id = ANY(${ids.map(BigInt)}::bigint[])
      GROUP BY message_id
    ) AS r ON r.message_id = m.id
    WHERE m.realm_id = ${organizationId} AND m.id = ANY(${ids.map(BigInt)}::bigint[])`;
  return new Map(rows.map(({ id, bytes }) => [Number(id), bytes]));
}
