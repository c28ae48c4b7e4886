import { defineEvent, type RevokedCredentials } from '../events/define.ts';

/**
 * Credentials of a user are revoked: every stream opened with them ends. Every node handles this event, and no client receives
 * it.
 *
 * @see src/events/README.md
 */
export const accessRevoked = defineEvent(
  'internal',
  'access_revoked',
  /** @param credentials The key, the sessions with these ids, or all credentials. */
  (userId: number, credentials: RevokedCredentials = 'all') => ({ user_id: userId, credentials }),
  {
    render: () => null,
    // Events of earlier versions name only the user: all credentials are revoked.
    effect: ({ user_id, credentials = 'all' }) => ({ kind: 'revoked', userId: user_id, credentials }),
  },
);
