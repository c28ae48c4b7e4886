import type { Ctx, Viewer } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { lockUser } from '../locks.ts';
import { alertWordsChanged } from './events.ts';
import { deleteAlertWords, insertAlertWords } from './queries.ts';

/** Maximum length of an alert word, in code points. Longer words are refused with `ValidationError`. */
const MAX_WORD_LENGTH = 100;

/** Returns the viewer's alert words, in the order in which they were added. */
export function listAlertWords({ work, viewer }: Ctx): Promise<string[]> {
  return readAlertWords(work.db, viewer);
}

/** Returns the viewer's alert words, in the order in which they were added, as a snapshot or a transaction sees them. */
export async function readAlertWords(db: Pick<Tx, 'alertWord'>, { organization, id }: Viewer): Promise<string[]> {
  const where = { organizationId: organization.id, userId: id };
  const rows = await db.alertWord.findMany({ where, orderBy: { id: 'asc' }, select: { word: true } });
  return rows.map(({ word }) => word);
}

/**
 * Adds words to the viewer's alert words. If any is new, the viewer's clients are notified. If the viewer already has a word,
 * ignoring case, the existing word is not changed.
 *
 * @param words At most 100 code points each, after surrounding white space is removed. Blank words are ignored.
 * @returns All alert words after the change.
 * @throws ValidationError if a word is too long or contains a null byte.
 * @throws TotalReachedError if the viewer would have more than 500 words.
 */
export async function addAlertWords(ctx: Ctx, words: readonly string[]): Promise<string[]> {
  const { id, organization } = ctx.viewer;
  const given = checked(words);
  if (given.length === 0) return listAlertWords(ctx);
  return transact(ctx, async (tx, emit) => {
    await noteAlertWords(tx, organization);
    await lockUser(tx, ctx.viewer.user);
    const added = await insertAlertWords(tx, { organizationId: organization.id, userId: id }, given);
    const all = await publishIfChanged(tx, emit, ctx.viewer, added);
    if (added > 0) requireWithin('alert_words', all.length);
    return all;
  });
}

/**
 * Removes words from the viewer's alert words, ignoring case. If any existed, the viewer's clients are notified.
 *
 * @returns All alert words after the change.
 * @throws ValidationError if a word is too long or contains a null byte.
 */
export async function removeAlertWords(ctx: Ctx, words: readonly string[]): Promise<string[]> {
  const { id, organization } = ctx.viewer;
  const given = checked(words);
  if (given.length === 0) return listAlertWords(ctx);
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const removed = await deleteAlertWords(tx, { organizationId: organization.id, userId: id }, given);
    return publishIfChanged(tx, emit, ctx.viewer, removed);
  });
}

function checked(words: readonly string[]): string[] {
  return words
    .map((word, i) => requireText(`alert_words[${i}]`, word, { strip: true, max: MAX_WORD_LENGTH }))
    .filter((word) => word !== '');
}

/**
 * Marks the organization as having alert words, so that its messages are searched for them. Writes only the first time, because
 * the write locks the organization's row.
 */
async function noteAlertWords(tx: Tx, { id, hasAlertWords }: Viewer['organization']): Promise<void> {
  if (hasAlertWords) return;
  await tx.organization.updateMany({ where: { id, hasAlertWords: false }, data: { hasAlertWords: true } });
}

/**
 * Returns the viewer's complete list of alert words, and publishes this list if `changes` is not 0. The caller must hold the
 * lock of the user's row, so that the events have the order of the changes.
 */
async function publishIfChanged(tx: Tx, emit: Emit, viewer: Viewer, changes: number): Promise<string[]> {
  const words = await readAlertWords(tx, viewer);
  if (changes > 0) emit(alertWordsChanged(words), users([viewer.id]));
  return words;
}
