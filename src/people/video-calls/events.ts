import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';

/**
 * Event that a user allowed video calls in their name, or that their token was deleted. Recipients: the user's own clients.
 *
 * @param value Whether the user has a token after the change.
 */
export const callTokenChanged = defineEvent('has_videoprovider_token', undefined, (value: boolean) => ({ value }));

documentEvent(callTokenChanged, 'the user to whom the token belongs', { value: z.boolean() });
