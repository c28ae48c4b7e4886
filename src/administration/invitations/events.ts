import { either, roleAtMost, users } from '../../events/audience.ts';
import { defineEvent } from '../../events/define.ts';
import type { Emit } from '../../events/log.ts';
import { documentEvent } from '../../events/wire.ts';
import { ADMINISTRATOR } from '../../platform/roles.ts';

/** The list of invitations changed. Clients that show the list read it again. */
export const invitationsChanged = defineEvent('invites_changed', undefined, () => ({}));
documentEvent(invitationsChanged, 'administrators and the users who sent the changed invitations', {});

/** Notifies administrators and the inviters of the changed invitations. Emits nothing if no invitation changed. */
export function emitChanged(emit: Emit, changed: readonly { readonly inviterId: number }[]): void {
  if (changed.length === 0) return;
  const inviterIds = changed.map(({ inviterId }) => inviterId);
  emit(invitationsChanged(), either(roleAtMost(ADMINISTRATOR), users(inviterIds)));
}
