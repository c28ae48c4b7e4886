import type { Ctx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { endSessions } from '../../access/sessions.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { usersWithFactor } from '../../people/second-factors.ts';
import type { Tx } from '../../platform/db/client.ts';

/** Maximum number of people whose sessions one transaction ends. Other changes of the organization wait for the transaction. */
const BATCH = 100;

/**
 * Ends the sessions of people who must have a second factor but have none, so that they add one when they sign in again. The
 * sessions of the viewer stay, and those that began with an identity provider, for which no second factor is required. The open
 * connections of the sessions end within seconds, on every node.
 */
export async function endSessionsWithoutFactor(ctx: Ctx): Promise<void> {
  const { organizationId, viewer } = ctx;
  for (let last = 0, count = BATCH; count === BATCH; ) {
    const ended = await transact(ctx, async (tx, emit) => {
      await lockOrganization(tx, organizationId);
      // Another request can have changed the setting in the meantime.
      const organization = await tx.organization.findUniqueOrThrow({ where: { id: organizationId } });
      const role = organizationSetting(organization, 'second_factor_required_role');
      const people = await tx.$queryRaw<{ id: number }[]>`
        SELECT u.id FROM user_account u
        WHERE u.realm_id = ${organizationId} AND u.id > ${last} AND u.id <> ${viewer.id} AND u.role <= ${role}::int
          AND u.bot_type IS NULL
          AND EXISTS (
            SELECT FROM session s WHERE s.realm_id = ${organizationId} AND s.user_id = u.id AND s.provider_id IS NULL)
          AND u.id NOT IN (${usersWithFactor(organizationId)})
        ORDER BY u.id LIMIT ${BATCH}`;
      for (const { id } of people) await endSessions(tx, emit, { id, organizationId }, { providerId: null });
      return people;
    });
    count = ended.length;
    last = ended.at(-1)?.id ?? last;
  }
}

/**
 * Ends the sessions of a user whose role must have a second factor, if the user has none. Sessions that began with an identity
 * provider stay.
 */
export async function endSessionsOfUserWithoutFactor(
  tx: Tx,
  emit: Emit,
  organization: Organization,
  { id, organizationId, role, botType }: User,
): Promise<void> {
  if (botType !== null || role > organizationSetting(organization, 'second_factor_required_role')) return;
  const [found] = await tx.$queryRaw<unknown[]>`
    SELECT 1 WHERE ${id}::int IN (${usersWithFactor(organizationId)})`;
  if (found === undefined) await endSessions(tx, emit, { id, organizationId }, { providerId: null });
}
