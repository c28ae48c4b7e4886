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
  /** @param credentials The user's API key, the sessions with the listed ids, or all credentials of the user. */
  (userId: number, credentials: RevokedCredentials = 'all') => ({ user_id: userId, credentials }),
  {
    render: () => null,
    // Events of earlier versions contain only the user id, and revoke all credentials.
    effect: ({ user_id, credentials = 'all' }) => ({ kind: 'revoked', userId: user_id, credentials }),
  },
);
