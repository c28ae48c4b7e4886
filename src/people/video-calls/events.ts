import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';

/**
 * Event for the user's own clients.
 *
 * @param value True after the user allowed calls in their name, false after that ended.
 */
export const callTokenChanged = defineEvent('has_videoprovider_token', undefined, (value: boolean) => ({ value }));

documentEvent(callTokenChanged, 'the user to whom the token belongs', { value: z.boolean() });
