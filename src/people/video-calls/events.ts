import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';

/**
 * To the user's own clients.
 *
 * @param value True after the user allowed calls to be made in their name, false when that is over.
 */
export const callTokenChanged = defineEvent('has_videoprovider_token', undefined, (value: boolean) => ({ value }));

tells(callTokenChanged, 'the user', { value: z.boolean() });
