import { detached } from '../events/act.ts';
import { administratorsOf, either, noRecipients, users } from '../events/audience.ts';
import type { Emit } from '../events/log.ts';
import type { Prisma, User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { KEY_SCOPES } from '../platform/key-scopes.ts';
import type { KeyInUse } from './accounts.ts';
import type { App, Credential } from './context.ts';
import { apiKeysChanged, namedKeysRevoked } from './events.ts';

/** Interval at which the stored time of the last request with a key is updated, in milliseconds. */
const USED_MS = 60_000;

/** Returns the properties of a credential for a named key: the id of the key, its scopes unless it has all, and its expiry. */
export function limitsOf(
  key: KeyInUse,
): Pick<Extract<Credential, { readonly kind: 'key' }>, 'id' | 'scopes' | 'endsAt'> {
  const { id, scopes, expiresAt } = key;
  const hasAll = KEY_SCOPES.every((scope) => scopes.includes(scope));
  return { id, ...(!hasAll && { scopes }), ...(expiresAt !== null && { endsAt: expiresAt }) };
}

/**
 * Records the use of a key, at most once a minute. The request does not wait for it, so that reads succeed while the database
 * refuses writes.
 */
export function noteUse(app: App, { organizationId, id, lastUsedAt }: KeyInUse): void {
  const now = app.now();
  const before = new Date(now.getTime() - USED_MS);
  if (lastUsedAt !== null && lastUsedAt > before) return;
  // The condition lets one of several concurrent requests write.
  const write = () =>
    app.db.namedApiKey.updateMany({
      where: { organizationId, id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lte: before } }] },
      data: { lastUsedAt: now },
    });
  detached(() => {
    write().catch((err: unknown) => app.log.warn({ err, key: id }, 'last use of an API key was not recorded'));
  });
}

/**
 * Revokes named API keys of a user, as part of a change. The open connections of these keys end within seconds, on every node.
 *
 * @param which A condition that selects some of the user's keys. Default: all.
 * @returns The ids of the keys that were revoked.
 */
export async function revokeNamedKeys(
  tx: Tx,
  emit: Emit,
  user: Pick<User, 'id' | 'organizationId' | 'botOwnerId' | 'role'>,
  which: Prisma.NamedApiKeyWhereInput = {},
): Promise<number[]> {
  const where = { AND: [{ organizationId: user.organizationId, userId: user.id }, which] };
  const revoked = await tx.namedApiKey.findMany({ where, select: { id: true, name: true } });
  if (revoked.length === 0) return [];
  await tx.namedApiKey.deleteMany({ where });
  emit(namedKeysRevoked(user.id, revoked), noRecipients());
  emitKeysChanged(emit, user);
  return revoked.map(({ id }) => id);
}

/** Notifies the clients of a user, of the owner of a bot, and of administrators of a change of the user's named API keys. */
export function emitKeysChanged(emit: Emit, { id, botOwnerId, role }: Pick<User, 'id' | 'botOwnerId' | 'role'>): void {
  emit(apiKeysChanged(id), either(administratorsOf(role), users(botOwnerId === null ? [id] : [id, botOwnerId])));
}
