import type { Ctx } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { NavigationView, Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { lockUser } from '../locks.ts';
import {
  type NavigationViewChange,
  navigationViewAdded,
  navigationViewRemoved,
  navigationViewUpdated,
} from './events.ts';

/**
 * URL fragments of the built-in navigation views. The service stores no names of these views, because clients have names for
 * them.
 */
const BUILT_IN: ReadonlySet<string> = new Set([
  ...['inbox', 'recent', 'feed', 'drafts', 'scheduled', 'reminders'],
  ...['narrow/has/reaction/sender/me', 'narrow/is/mentioned', 'narrow/is/starred'],
]);

/**
 * Maximum lengths of the fragment and the name of a view, in code points. Longer texts are refused with `ValidationError`. They
 * are limited because an index contains both texts.
 */
const [MAX_FRAGMENT_LENGTH, MAX_NAME_LENGTH] = [500, 100];

/** Returns the filter for views that the viewer can see: only their own. */
export function visibleTo({ viewer }: Ctx): Prisma.NavigationViewWhereInput {
  return { organizationId: viewer.organization.id, userId: viewer.id };
}

const noSuchView = () =>
  new NotFoundError('Navigation view does not exist.', { type: 'NavigationView', parameter: 'fragment', status: 404 });

/** Returns the viewer's views, oldest first. */
export function listNavigationViews(ctx: Ctx): Promise<NavigationView[]> {
  return ctx.work.db.navigationView.findMany({ where: visibleTo(ctx), orderBy: { id: 'asc' } });
}

export interface NewNavigationView {
  /** Part of the view's URL after the `#`. Unique among the viewer's views. */
  readonly fragment: string;
  readonly isPinned: boolean;
  /** Name of a custom view. Absent for a built-in view. */
  readonly name?: string | null | undefined;
}

/**
 * Adds a view to the viewer's sidebar.
 *
 * @throws ValidationError if the fragment is blank, a custom view has no name, or a built-in view has one.
 * @throws ConflictError if the view or its name already exists.
 * @throws TotalReachedError if the viewer would have more than 1,000 views.
 */
export async function addNavigationView(ctx: Ctx, input: NewNavigationView): Promise<NavigationView> {
  const fragment = requireText('fragment', input.fragment, { strip: true, min: 1, max: MAX_FRAGMENT_LENGTH });
  const name = input.name == null ? null : requireName(input.name);
  if (BUILT_IN.has(fragment)) requireNoName(name);
  else if (name === null) throw new ValidationError('Custom views must have a valid name.', { parameter: 'name' });
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    await requireFree(tx, ctx, { fragment, name });
    requireWithin('navigation_views', 1 + (await tx.navigationView.count({ where: visibleTo(ctx) })));
    const view = await tx.navigationView.create({
      data: {
        organizationId: ctx.viewer.organization.id,
        userId: ctx.viewer.id,
        fragment,
        isPinned: input.isPinned,
        name,
      },
    });
    emit(navigationViewAdded(view), users([ctx.viewer.id]));
    return view;
  });
}

const requireName = (name: string) => requireText('name', name, { strip: true, min: 1, max: MAX_NAME_LENGTH });

function requireNoName(name: string | null): void {
  if (name === null) return;
  throw new ValidationError('Built-in views cannot have a custom name.', { parameter: 'name' });
}

/**
 * Checks that none of the viewer's views has the fragment or the name. The caller must hold the lock of the viewer's row, so
 * that no concurrent request can add a view with the same fragment or name.
 *
 * @throws ConflictError if a view has the fragment or the name.
 */
async function requireFree(
  tx: Tx,
  ctx: Ctx,
  { fragment, name }: { fragment?: string; name: string | null },
): Promise<void> {
  const mine = visibleTo(ctx);
  const same = [...(fragment === undefined ? [] : [{ fragment }]), ...(name === null ? [] : [{ name }])];
  const taken = await tx.navigationView.findFirst({ where: { ...mine, OR: same }, select: { fragment: true } });
  if (taken === null) return;
  const parameter = taken.fragment === fragment ? 'fragment' : 'name';
  throw new ConflictError('Navigation view already exists.', { parameter });
}

/** Changes to a view. Absent properties are not changed. */
export interface NavigationViewEdit {
  readonly isPinned?: boolean | undefined;
  readonly name?: string | undefined;
}

/**
 * Changes one of the viewer's views. If the view already has these values, no event is published.
 *
 * @throws NotFoundError if the viewer has no view with this fragment.
 * @throws ValidationError if a built-in view is given a name.
 * @throws ConflictError if another view has the name.
 */
export async function updateNavigationView(
  ctx: Ctx,
  fragment: string,
  edit: NavigationViewEdit,
): Promise<NavigationView> {
  const name = edit.name === undefined ? undefined : requireName(edit.name);
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const view = await findView(tx, ctx, fragment);
    if (BUILT_IN.has(view.fragment)) requireNoName(name ?? null);
    const change: NavigationViewChange = {
      ...(edit.isPinned !== undefined && edit.isPinned !== view.isPinned && { is_pinned: edit.isPinned }),
      ...(name !== undefined && name !== view.name && { name }),
    };
    if (Object.keys(change).length === 0) return view;
    if (change.name != null) await requireFree(tx, ctx, { name: change.name });
    const saved = await tx.navigationView.update({
      where: { organizationId_id: { organizationId: ctx.organizationId, id: view.id } },
      data: { isPinned: change.is_pinned ?? view.isPinned, name: change.name ?? view.name },
    });
    emit(navigationViewUpdated(saved, change), users([ctx.viewer.id]));
    return saved;
  });
}

/**
 * Removes one of the viewer's views. If the view is built in, clients then show it as they do by default.
 *
 * @returns The removed view.
 * @throws NotFoundError if the viewer has no view with this fragment.
 */
export function removeNavigationView(ctx: Ctx, fragment: string): Promise<NavigationView> {
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, ctx.viewer.user);
    const view = await findView(tx, ctx, fragment);
    await tx.navigationView.delete({
      where: { organizationId_id: { organizationId: ctx.organizationId, id: view.id } },
    });
    emit(navigationViewRemoved(view), users([ctx.viewer.id]));
    return view;
  });
}

async function findView(tx: Tx, ctx: Ctx, fragment: string): Promise<NavigationView> {
  const wanted = fragment.trim();
  const view = wanted.includes('\0')
    ? null
    : await tx.navigationView.findFirst({ where: { ...visibleTo(ctx), fragment: wanted } });
  if (view === null) throw noSuchView();
  return view;
}
