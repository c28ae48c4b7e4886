import { defineEvent } from '../../events/define.ts';
import type { WireBot, WireDefaults } from './wire.ts';

// To those who may administer the bot: its owner, and administrators. What everybody sees of a bot is told of the user.

/** The bot is there, or the receiver may administer it from here on. */
export const botAdded = defineEvent('realm_bot', 'add', (bot: WireBot) => ({ bot }));

/** One of a bot's own settings. */
export type BotChange = { [K in keyof WireDefaults]: { readonly [P in K]: WireDefaults[K] } }[keyof WireDefaults];

export const botUpdated = defineEvent('realm_bot', 'update', (userId: number, change: BotChange) => ({
  bot: { user_id: userId, ...change },
}));

/** The receiver may not administer the bot any more. */
export const botLost = defineEvent('realm_bot', 'delete', (userId: number) => ({ bot: { user_id: userId } }));
