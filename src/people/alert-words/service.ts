import type { Ctx, Viewer } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Tx } from '../../platform/db/client.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { lockUser } from '../locks.ts';
import { alertWordsChanged } from './events.ts';
import { deleteAlertWords, insertAlertWords } from './queries.ts';

/** In code points. */
const MAX_WORD_LENGTH = 100;

/** The viewer's alert words, in the order in which they were added. */
export function listAlertWords({ app, viewer }: Ctx): Promise<string[]> {
  return readAlertWords(app.db, viewer);
}

/** As `listAlertWords`, from a snapshot or within a change. */
export async function readAlertWords(db: Pick<Tx, 'alertWord'>, { realm, id }: Viewer): Promise<string[]> {
  const where = { realmId: realm.id, userId: id };
  const rows = await db.alertWord.findMany({ where, orderBy: { id: 'asc' }, select: { word: true } });
  return rows.map(({ word }) => word);
}

/**
 * Adds words to the viewer's alert words and tells the viewer's clients, if any is new. One that is there in another
 * case stays as it is.
 *
 * @param words At most 100 code points each without surrounding white space; blank ones are passed over.
 * @returns All words there are after it.
 * @throws BadRequestError when a word is too long or holds a null byte.
 * @throws TotalReachedError when there would be more than 500.
 */
export async function addAlertWords(ctx: Ctx, words: readonly string[]): Promise<string[]> {
  const { id, realm } = ctx.viewer;
  const given = checked(words);
  if (given.length === 0) return listAlertWords(ctx);
  return transact(ctx, async (tx, emit) => {
    await noteAlertWords(tx, realm);
    await lockUser(tx, ctx.viewer.user);
    const added = await insertAlertWords(tx, { realmId: realm.id, userId: id }, given);
    const all = await tell(tx, emit, ctx.viewer, added);
    if (added > 0) requireWithin('alert_words', all.length);
    return all;
  });
}

/**
 * Removes words, in whatever case, from the viewer's alert words and tells the viewer's clients, if any was there.
 *
 * @returns All words there are after it.
 * @throws BadRequestError when a word is too long or holds a null byte.
 */
export async function removeAlertWords(ctx: Ctx, words: readonly string[]): Promise<string[]> {
  const { id, realm } = ctx.viewer;
  const given = checked(words);
  if (given.length === 0) return listAlertWords(ctx);
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const removed = await deleteAlertWords(tx, { realmId: realm.id, userId: id }, given);
    return tell(tx, emit, ctx.viewer, removed);
  });
}

function checked(words: readonly string[]): string[] {
  return words
    .map((word, i) => requireText(`alert_words[${i}]`, word, { strip: true, max: MAX_WORD_LENGTH }))
    .filter((word) => word !== '');
}

/**
 * Has messages of the organisation searched for alert words from here on. Done once for each organisation, because it
 * locks its row.
 */
async function noteAlertWords(tx: Tx, { id, hasAlertWords }: Viewer['realm']): Promise<void> {
  if (hasAlertWords) return;
  await tx.realm.updateMany({ where: { id, hasAlertWords: false }, data: { hasAlertWords: true } });
}

/** Tells the whole list, if it changed. The user is locked: changes of it, and what they tell, follow one another. */
async function tell(tx: Tx, emit: Emit, viewer: Viewer, changes: number): Promise<string[]> {
  const words = await readAlertWords(tx, viewer);
  if (changes > 0) emit(alertWordsChanged(words), users([viewer.id]));
  return words;
}
