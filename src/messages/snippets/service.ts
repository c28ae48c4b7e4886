import type { Ctx } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, SavedSnippet } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_MESSAGE_LENGTH } from '../../platform/limits.ts';
import { lengthOf, requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { savedSnippetAdded, savedSnippetRemoved, savedSnippetUpdated } from './events.ts';

const MAX_TITLE_LENGTH = 60;

/** Fields of a snippet to set. In an edit, an absent field does not change. */
export interface SnippetEdit {
  /** Title with 1 to 60 code points after trimming. */
  readonly title?: string | undefined;
  /** Flavored Markdown with 1 to 10,000 code points after trimming. */
  readonly content?: string | undefined;
}

/** Returns the filter for the snippets that the viewer can see, which are only the viewer's own. */
export function visibleTo({ viewer }: Ctx): Prisma.SavedSnippetWhereInput {
  return { organizationId: viewer.organization.id, authorId: viewer.id };
}

const noSuchSnippet = (id: number): NotFoundError =>
  new NotFoundError('Saved snippet does not exist.', {
    type: 'SavedSnippet',
    id,
    parameter: 'saved_snippet_id',
    status: 404,
  });

/**
 * Reads one of the viewer's snippets.
 *
 * @throws NotFoundError if no snippet has this id, or it belongs to another user.
 */
export async function accessSavedSnippet(ctx: Ctx, snippetId: number): Promise<SavedSnippet> {
  const snippet = isRowId(snippetId)
    ? await ctx.work.db.savedSnippet.findFirst({ where: { id: snippetId, ...visibleTo(ctx) } })
    : null;
  if (snippet === null) throw noSuchSnippet(snippetId);
  return snippet;
}

/** Reads all of the viewer's snippets, oldest first. */
export function listSavedSnippets(ctx: Ctx): Promise<SavedSnippet[]> {
  return ctx.work.db.savedSnippet.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });
}

/**
 * Saves a snippet for the viewer and notifies the viewer's clients.
 *
 * @throws ValidationError if title or content is blank, too long, or contains a null byte.
 * @throws TotalReachedError if the viewer would have more than 1,000 snippets, or if their content would exceed 500,000 code
 *   points in total.
 */
export async function createSavedSnippet(ctx: Ctx, { title, content }: Required<SnippetEdit>): Promise<SavedSnippet> {
  const data = { ...checked({ title, content }), organizationId: ctx.viewer.organization.id, authorId: ctx.viewer.id };
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const saved = await tx.savedSnippet.create({ data: { ...data, createdAt: ctx.app.now() } });
    requireWithin('saved_snippets', await tx.savedSnippet.count({ where: visibleTo(ctx) }));
    await requireLength(tx, ctx);
    emit(savedSnippetAdded(saved), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Changes the given fields of one of the viewer's snippets and notifies the viewer's clients. If no field is given, does
 * nothing.
 *
 * @throws NotFoundError if no snippet has this id, or it belongs to another user.
 * @throws ValidationError if title or content is blank, too long, or contains a null byte.
 * @throws TotalReachedError if the content becomes longer, and the content of the viewer's snippets would exceed 500,000 code
 *   points in total.
 */
export async function updateSavedSnippet(ctx: Ctx, snippetId: number, edit: SnippetEdit): Promise<SavedSnippet> {
  const snippet = await accessSavedSnippet(ctx, snippetId);
  const data = checked(edit);
  if (Object.keys(data).length === 0) return snippet;
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const where = { id: snippetId, ...visibleTo(ctx) };
    const before = await tx.savedSnippet.findFirst({ where, select: { content: true } });
    const [saved] = await tx.savedSnippet.updateManyAndReturn({ where, data });
    if (before === null || saved === undefined) throw noSuchSnippet(snippetId);
    if (lengthOf(saved.content) > lengthOf(before.content)) await requireLength(tx, ctx);
    emit(savedSnippetUpdated(saved), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Deletes one of the viewer's snippets and notifies the viewer's clients.
 *
 * @throws NotFoundError if no snippet has this id, or it belongs to another user.
 */
export async function deleteSavedSnippet(ctx: Ctx, snippetId: number): Promise<void> {
  if (!isRowId(snippetId)) throw noSuchSnippet(snippetId);
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.savedSnippet.deleteMany({ where: { id: snippetId, ...visibleTo(ctx) } });
    if (count === 0) throw noSuchSnippet(snippetId);
    emit(savedSnippetRemoved(snippetId), users([ctx.viewer.id]));
  });
}

/**
 * Checks that the total length of the content of the viewer's snippets, in code points, is within the limit. The caller must
 * have locked the viewer's row.
 *
 * @throws TotalReachedError if the limit is exceeded.
 */
async function requireLength(tx: Tx, { viewer }: Ctx): Promise<void> {
  const [held] = await tx.$queryRaw<{ length: number | null }[]>`
    SELECT sum(char_length(content))::int AS length FROM saved_snippet
    WHERE realm_id = ${viewer.organization.id} AND author_id = ${viewer.id}`;
  requireWithin('saved_snippets_total_length', held?.length ?? 0);
}

function checked<E extends SnippetEdit>({ title, content }: E): { [K in keyof E]: string } {
  return {
    ...(title !== undefined && { title: requireText('title', title, { strip: true, min: 1, max: MAX_TITLE_LENGTH }) }),
    ...(content !== undefined && {
      content: requireText('content', content, { strip: true, min: 1, max: MAX_MESSAGE_LENGTH }),
    }),
  } as { [K in keyof E]: string };
}
