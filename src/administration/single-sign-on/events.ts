import { roleAtMost, users } from '../../events/audience.ts';
import { defineEvent } from '../../events/define.ts';
import type { Emit } from '../../events/log.ts';
import { documentEvent } from '../../events/wire.ts';
import { OWNER } from '../../platform/roles.ts';

/** The identity providers changed. Clients that show them read them again. */
export const identityProvidersChanged = defineEvent('identity_providers_changed', undefined, () => ({}));
documentEvent(identityProvidersChanged, 'owners', {});

/** The identities that are linked to the user changed. Clients that show them read them again. */
export const linkedIdentitiesChanged = defineEvent('linked_identities_changed', undefined, () => ({}));
documentEvent(linkedIdentitiesChanged, 'the user', {});

/** Notifies a user of a change of their linked identities. */
export const emitIdentitiesChanged = (emit: Emit, userId: number): void =>
  emit(linkedIdentitiesChanged(), users([userId]));

/** Notifies owners of a change of the identity providers. */
export const emitProvidersChanged = (emit: Emit): void => emit(identityProvidersChanged(), roleAtMost(OWNER));
