import { defineEvent, type RevokedCredentials } from '../events/define.ts';

/**
 * Credentials of a user are void: every stream opened with them ends. For the service itself, on every node; nobody is
 * sent it.
 *
 * @see src/events/README.md
 */
export const accessRevoked = defineEvent(
  'internal',
  'access_revoked',
  /** @param credentials The key, the sessions of these numbers, or whatever they sign in with. */
  (userId: number, credentials: RevokedCredentials = 'all') => ({ user_id: userId, credentials }),
  {
    render: () => null,
    // Those of earlier versions say only whose: all of them.
    effect: ({ user_id, credentials = 'all' }) => ({ kind: 'revoked', userId: user_id, credentials }),
  },
);
