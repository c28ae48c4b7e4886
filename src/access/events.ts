import { z } from 'zod';
import type { AuditEntry } from '../events/audit.ts';
import { defineEvent, type RevokedCredentials } from '../events/define.ts';
import { documentEvent } from '../events/wire.ts';
import type { NamedApiKey } from '../generated/prisma/client.ts';

/**
 * Event that revokes credentials of a user. Every node closes the streams that were opened with them. No client receives the
 * event.
 *
 * @see src/events/README.md
 */
export const accessRevoked = defineEvent(
  'internal',
  'access_revoked',
  /**
   * @param credentials The user's default API key, the sessions with the listed ids, or all credentials of the user.
   * @param _isSignOut Whether the user signs out of the browser that sends the request, for the audit log.
   */
  (userId: number, credentials: RevokedCredentials = 'all', _isSignOut = false) => ({ user_id: userId, credentials }),
  {
    audit: (userId, credentials = 'all', isSignOut = false) => {
      const object = { objectType: 'user', objectId: userId } as const;
      if (credentials === 'all') return undefined;
      if (credentials === 'key') return { action: 'api_key_replaced', ...object };
      const changes = { session_ids: { old: credentials } };
      return { action: isSignOut ? 'signed_out' : 'sessions_ended', ...object, changes };
    },
    render: () => null,
    // Events of earlier versions contain only the user id, and revoke all credentials.
    effect: ({ user_id, credentials = 'all' }) => ({ kind: 'revoked', userId: user_id, credentials }),
  },
);

/** Returns the entry of the audit log for a named API key of a user that was revoked. */
export const namedKeyRevocation = (userId: number, { id, name }: Pick<NamedApiKey, 'id' | 'name'>): AuditEntry => ({
  ...{ action: 'api_keys_revoked', objectType: 'api_key', objectId: id, objectName: name },
  changes: { user_id: { old: userId }, api_key_ids: { old: [id] } },
});

/**
 * Event that revokes named API keys of a user. Every node closes the streams that were opened with them. No client receives the
 * event. It is not part of `accessRevoked`, because nodes of the previous version know no named keys.
 */
export const namedKeysRevoked = defineEvent(
  'internal',
  'named_keys_revoked',
  (userId: number, keys: readonly Pick<NamedApiKey, 'id' | 'name'>[]) => ({
    user_id: userId,
    key_ids: keys.map(({ id }) => id),
  }),
  {
    // Each key has its own entry, which the filter of the audit log finds by the id of the key.
    audit: (userId, keys) => keys.map((key) => namedKeyRevocation(userId, key)),
    render: () => null,
    effect: ({ user_id, key_ids }) => ({ kind: 'revoked', userId: user_id, credentials: { namedKeys: key_ids } }),
  },
);

/** The named API keys of a user changed. Clients that show them read them again. */
export const apiKeysChanged = defineEvent('api_keys_changed', undefined, (userId: number) => ({ user_id: userId }));
documentEvent(
  apiKeysChanged,
  'the user, the owner of a bot, and administrators. If the user is an owner of the organization, only owners receive it besides the user',
  { user_id: z.int() },
);
