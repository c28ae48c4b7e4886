import { z } from 'zod';
import { either, roleAtMost, users } from '../../events/audience.ts';
import { defineEvent } from '../../events/define.ts';
import type { Emit } from '../../events/log.ts';
import { documentEvent } from '../../events/wire.ts';
import type { User } from '../../generated/prisma/client.ts';
import { ADMINISTRATOR, isOwner, OWNER } from '../../platform/roles.ts';

/** The second factors or the recovery codes of a person changed. Clients that show them read them again. */
const secondFactorChanged = defineEvent('second_factor_changed', undefined, (userId: number) => ({ user_id: userId }));
documentEvent(secondFactorChanged, 'the person, and administrators; of owners: the person, and owners', {
  user_id: z.int(),
});

/** Notifies the clients of a person, and those of the users who can see whether the person has a second factor. */
export function emitFactorChanged(emit: Emit, { id, role }: Pick<User, 'id' | 'role'>): void {
  emit(secondFactorChanged(id), either(roleAtMost(isOwner(role) ? OWNER : ADMINISTRATOR), users([id])));
}
