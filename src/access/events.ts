import { defineEvent } from '../events/define.ts';

/**
 * A user's credentials are void: every stream opened with them ends. For the service itself, on every node; nobody is
 * sent it.
 *
 * @see src/events/README.md
 */
export const accessRevoked = defineEvent('internal', 'access_revoked', (userId: number) => ({ user_id: userId }), {
  render: () => null,
  effect: ({ user_id }) => ({ kind: 'revoked', userId: user_id }),
});
