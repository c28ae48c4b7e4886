import type { Scope } from '../../access/context.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import { stubLoggedIn } from '../../people/events.ts';
import { lockRealm } from '../../people/locks.ts';
import { roleGroupsChanged } from '../user-groups/role-groups.ts';

/** Records the first login of a user who was imported or created over the API. Its time becomes the user's join date. */
export async function recordFirstLogin(scope: Scope, userId: number): Promise<void> {
  const joinedAt = scope.app.now();
  await transact(scope, async (tx, emit) => {
    await lockRealm(tx, scope.realmId);
    const before = await tx.user.findFirst({
      where: { realmId: scope.realmId, id: userId, isImportedStub: true },
      include: { realm: true },
    });
    if (before === null) return;
    const data = { isImportedStub: false, isPlaceholder: false, joinedAt };
    const after = await tx.user.update({ where: { realmId_id: { realmId: scope.realmId, id: userId } }, data });
    for (const event of stubLoggedIn(userId, joinedAt)) emit(event, everyone());
    await roleGroupsChanged(tx, emit, { before, after }, { realm: before.realm, now: joinedAt });
  });
}
