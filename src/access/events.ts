import { defineEvent, type RevokedCredentials } from '../events/define.ts';

/**
 * Event that revokes credentials of a user. Every node closes the streams that were opened with them. No client receives the
 * event.
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
