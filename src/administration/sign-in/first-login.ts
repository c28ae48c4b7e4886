import type { Scope } from '../../access/context.ts';
import { everyone } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import { stubLoggedIn } from '../../people/events.ts';
import { lockOrganization } from '../../people/locks.ts';
import { roleGroupsChanged } from '../user-groups/role-groups.ts';

/**
 * Records the first login of a user who was imported or created over the API. The user's join date is set to the time of this
 * login.
 */
export async function recordFirstLogin(scope: Scope, userId: number): Promise<void> {
  const joinedAt = scope.app.now();
  await transact(scope, async (tx, emit) => {
    await lockOrganization(tx, scope.organizationId);
    const before = await tx.user.findFirst({
      where: { organizationId: scope.organizationId, id: userId, isImportedStub: true },
      include: { organization: true },
    });
    if (before === null) return;
    const data = { isImportedStub: false, isPlaceholder: false, joinedAt };
    const after = await tx.user.update({
      where: { organizationId_id: { organizationId: scope.organizationId, id: userId } },
      data,
    });
    for (const event of stubLoggedIn(userId, joinedAt)) emit(event, everyone());
    await roleGroupsChanged(tx, emit, { before, after }, { organization: before.organization, now: joinedAt });
  });
}
