import type { Tx } from '../../platform/db/client.ts';
import { headOf } from './matching.ts';

interface WordsOwner {
  readonly userId: number;
  readonly organizationId: number;
}

/**
 * Adds the given alert words that the user does not have yet, ignoring case.
 *
 * @returns Number of words added.
 */
export function insertAlertWords(
  tx: Tx,
  { organizationId, userId }: WordsOwner,
  words: readonly string[],
): Promise<number> {
  return tx.$executeRaw`
    INSERT INTO alert_word (realm_id, user_id, word, head)
    SELECT ${organizationId}, ${userId}, given.word, given.head
    FROM unnest(${[...words]}::text[], ${words.map(headOf)}::text[]) WITH ORDINALITY AS given (word, head, place)
    ORDER BY given.place
    ON CONFLICT DO NOTHING`;
}

/**
 * Removes the user's alert words that equal a given word, ignoring case.
 *
 * @returns Number of words removed.
 */
export function deleteAlertWords(
  tx: Tx,
  { organizationId, userId }: WordsOwner,
  words: readonly string[],
): Promise<number> {
  return tx.$executeRaw`
    DELETE FROM alert_word WHERE realm_id = ${organizationId} AND user_id = ${userId}
      AND lower(word) IN (SELECT lower(given.word) FROM unnest(${[...words]}::text[]) AS given (word))`;
}
