import type { Scope } from '../../access/context.ts';
import { everyone, roleAtMost, users } from '../../events/audience.ts';
import { defineEvent } from '../../events/define.ts';
import type { Emit } from '../../events/log.ts';
import { documentEvent } from '../../events/wire.ts';
import type { Tx } from '../../platform/db/client.ts';
import { OWNER } from '../../platform/roles.ts';
import { authenticationMethods, hasProvider } from '../identity-providers.ts';
import { organizationUpdated } from '../organization/events.ts';

/** The identity providers changed. Clients that show them read them again. */
export const identityProvidersChanged = defineEvent('identity_providers_changed', undefined, () => ({}));
documentEvent(identityProvidersChanged, 'owners', {});

/** The identities that are linked to the user changed. Clients that show them read them again. */
export const linkedIdentitiesChanged = defineEvent('linked_identities_changed', undefined, () => ({}));
documentEvent(linkedIdentitiesChanged, 'the user', {});

/** Notifies a user of a change of their linked identities. */
export const emitIdentitiesChanged = (emit: Emit, userId: number): void =>
  emit(linkedIdentitiesChanged(), users([userId]));

/**
 * Notifies owners of a change of the identity providers, and all users if the organization has its first enabled provider, or has
 * lost the last one.
 *
 * @param change Makes the change. The transaction must hold the lock of the organization's row.
 */
export async function changingProviders<T>(
  tx: Tx,
  emit: Emit,
  { organizationId }: Pick<Scope, 'organizationId'>,
  change: () => Promise<T>,
): Promise<T> {
  const before = await hasProvider(tx, organizationId);
  const result = await change();
  emit(identityProvidersChanged(), roleAtMost(OWNER));
  const after = await hasProvider(tx, organizationId);
  if (after !== before) {
    const [now, then] = [after, before].map((has) => ({ authentication_methods: authenticationMethods(has) }));
    emit(organizationUpdated(organizationId, now ?? {}, then ?? {}), everyone());
  }
  return result;
}
