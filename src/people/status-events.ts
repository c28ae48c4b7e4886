import { z } from 'zod';
import { defineEvent } from '../events/define.ts';
import { documentEvent } from '../events/wire.ts';

/** The properties of a status that were set. A cleared text property is an empty string. */
export interface StatusChange {
  readonly away?: boolean;
  readonly status_text?: string;
  readonly emoji_name?: string;
  readonly emoji_code?: string;
  readonly reaction_type?: string;
}

/**
 * Event that properties of a user's status were set, even if their values did not change. Recipients: all users who can see the
 * user.
 */
export const userStatusSet = defineEvent('user_status', undefined, (userId: number, change: StatusChange) => ({
  user_id: userId,
  ...change,
}));

documentEvent(userStatusSet, 'users who can see the user', {
  user_id: z.int(),
  away: z.boolean().optional().describe('Deprecated.'),
  status_text: z.string().optional(),
  emoji_name: z.string().optional(),
  emoji_code: z.string().optional(),
  reaction_type: z.string().optional(),
});
