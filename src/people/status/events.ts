import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';

/** The parts of a status that were set: empty texts where one was cleared. */
export interface StatusChange {
  readonly away?: boolean;
  readonly status_text?: string;
  readonly emoji_name?: string;
  readonly emoji_code?: string;
  readonly reaction_type?: string;
}

/** To everyone who can access the user, also when the status is what it was. */
export const userStatusSet = defineEvent('user_status', undefined, (userId: number, change: StatusChange) => ({
  user_id: userId,
  ...change,
}));

tells(userStatusSet, 'everyone who can access the user', {
  user_id: z.int(),
  away: z.boolean().optional().describe('Deprecated.'),
  status_text: z.string().optional(),
  emoji_name: z.string().optional(),
  emoji_code: z.string().optional(),
  reaction_type: z.string().optional(),
});
