import { z } from 'zod';
import { administratorsOf, either, users } from '../../events/audience.ts';
import { defineEvent } from '../../events/define.ts';
import type { Emit } from '../../events/log.ts';
import { documentEvent } from '../../events/wire.ts';
import type { User } from '../../generated/prisma/client.ts';

interface Payload {
  readonly user_id: number;
}

/** Data of the event for event projections. */
export interface FactorChange {
  /** Whether the recipient is the person. */
  readonly isOwn: boolean;
}

/** The second factors or the recovery codes of a person changed. Clients that show them read them again. */
const secondFactorChanged = defineEvent(
  'second_factor_changed',
  undefined,
  (userId: number): Payload => ({ user_id: userId }),
  {
    facts: ({ user_id }, { userId }): FactorChange => ({ isOwn: userId === user_id }),
    perUser: ({ user_id }, { userId }) => (userId === user_id ? 'own' : 'other'),
  },
);
documentEvent(
  secondFactorChanged,
  'the person. If the person has a second factor for the first time, or no longer has one, also administrators. If the person ' +
    'is an owner, only owners receive it besides the person',
  { user_id: z.int() },
);

/**
 * Notifies the clients of a person of a change of the person's second factors or recovery codes.
 *
 * @param hasChanged Whether the person has the first second factor since the change, or has none any more. Then also notifies the
 *   users who can see this.
 */
export function emitFactorChanged(emit: Emit, { id, role }: Pick<User, 'id' | 'role'>, hasChanged: boolean): void {
  emit(secondFactorChanged(id), hasChanged ? either(administratorsOf(role), users([id])) : users([id]));
}
