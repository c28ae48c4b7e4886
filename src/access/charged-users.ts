import type { SqlClient } from '../platform/db/client.ts';

/**
 * Returns the ids of a user, of the user's bots and, if the user is a bot, of its owner and the owner's other bots. Objects
 * that one of these users creates count towards the limits of all of them. Otherwise a member with bots could use up the
 * limits of the organization. Deactivated bots are included.
 */
export async function usersChargedWith(
  db: SqlClient,
  { organizationId, id }: { readonly organizationId: number; readonly id: number },
): Promise<number[]> {
  const rows = await db.$queryRaw<{ id: number }[]>`
    WITH account AS (
      SELECT COALESCE(bot_owner_id, id) AS id FROM user_account WHERE realm_id = ${organizationId} AND id = ${id})
    SELECT id FROM account
    UNION ALL SELECT u.id FROM user_account u, account
    WHERE u.realm_id = ${organizationId} AND u.bot_owner_id = account.id`;
  return rows.map((row) => row.id);
}
