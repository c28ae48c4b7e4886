import { userSetting } from '../../access/user-settings.ts';
import type { StateGroup } from '../../api/state-group.ts';
import type { User, UserStatus } from '../../generated/prisma/client.ts';
import { toWire } from './wire.ts';

type UserStatusRow = Pick<User, 'id' | 'settings'> & { readonly [K in keyof UserStatus]: UserStatus[K] | null };

/**
 * State group (a part of the response of `POST /register`) with the statuses of active users, by user id. Users without a
 * status are absent.
 */
export const userStatusState: StateGroup = {
  name: 'user_status',
  async read({ viewer, db }) {
    const rows = await db.$queryRaw<UserStatusRow[]>`
      SELECT u.id, u.settings, s.user_id AS "userId", s.text, s.emoji_name AS "emojiName", s.emoji_code AS "emojiCode",
             s.reaction_type AS "reactionType"
      FROM user_account u LEFT JOIN user_status s ON s.realm_id = u.realm_id AND s.user_id = u.id
      WHERE u.realm_id = ${viewer.organization.id} AND u.is_active
        AND (s.user_id IS NOT NULL OR u.settings->'presence_enabled' = 'false'::jsonb)`;
    const shown = rows.map(
      (row) => [row.id, toWire(row.userId === null ? null : (row as UserStatus), isAway(row))] as const,
    );
    return { user_status: Object.fromEntries(shown.filter(([, status]) => Object.keys(status).length > 0)) };
  },
};

/** Returns whether the user hides their presence. The REST API has the deprecated property `away` for this state. */
export const isAway = (user: Parameters<typeof userSetting>[0]): boolean => !userSetting(user, 'presence_enabled');
