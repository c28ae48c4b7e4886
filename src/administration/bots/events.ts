import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { tells } from '../../events/wire.ts';
import type { User } from '../../generated/prisma/client.ts';
import { administersBot } from './administers.ts';
import type { WireBot, WireDefaults } from './wire.ts';
import { wireDefaults } from './wire.ts';

// To those who may administer the bot: its owner, and administrators. What everybody sees of a bot is told of the user.

/** What decides who may administer a bot. */
type Subject = Pick<User, 'id' | 'role' | 'botOwnerId'>;

interface Payload {
  readonly bot: { readonly user_id: number } & Partial<WireDefaults>;
  /** Absent in events logged before they told it. */
  readonly subject?: Pick<User, 'role' | 'botOwnerId'>;
}

/** What an event about a bot knows of it, and of whether who hears it may administer it. */
export interface KnownBot {
  readonly id: number;
  readonly hearsAllPublicChannels: boolean | undefined;
  /** Undefined where that is not known. An administrator hears of a bot that only owners administer. */
  readonly isAdministered: boolean | undefined;
}

const isAdministered = ({ subject }: Payload, { userId, role }: EventView): boolean | undefined =>
  subject && administersBot({ id: userId, role }, subject);

const RULES = {
  perUser: (payload: Payload, view: EventView) => String(isAdministered(payload, view)),
  facts: (payload: Payload, view: EventView): KnownBot => ({
    id: payload.bot.user_id,
    hearsAllPublicChannels: payload.bot.default_all_public_streams,
    isAdministered: isAdministered(payload, view),
  }),
};

const subjectOf = ({ role, botOwnerId }: Subject) => ({ role, botOwnerId });

/** The bot is there, or the receiver may administer it from here on. */
export const botAdded = defineEvent(
  'realm_bot',
  'add',
  (bot: WireBot, subject: Subject): Payload => ({ bot, subject: subjectOf(subject) }),
  { ...RULES, render: ({ bot }) => ({ type: 'realm_bot', op: 'add', bot }) },
);

/** One of a bot's own settings. */
export type BotChange = { [K in keyof WireDefaults]: { readonly [P in K]: WireDefaults[K] } }[keyof WireDefaults];

export const botUpdated = defineEvent(
  'realm_bot',
  'update',
  (subject: Subject, change: BotChange): Payload => ({
    bot: { user_id: subject.id, ...change },
    subject: subjectOf(subject),
  }),
  { ...RULES, render: ({ bot }) => ({ type: 'realm_bot', op: 'update', bot }) },
);

/** The receiver may not administer the bot any more. */
export const botLost = defineEvent('realm_bot', 'delete', (userId: number) => ({ bot: { user_id: userId } }));

const ADMINISTERING = 'those who may administer the bot: its owner, and administrators';
tells(botAdded, ADMINISTERING, {
  bot: z.strictObject({ user_id: z.int(), ...wireDefaults.shape, services: z.array(z.never()) }),
});
tells(botUpdated, ADMINISTERING, { bot: z.strictObject({ user_id: z.int(), ...wireDefaults.partial().shape }) });
tells(botLost, 'those who may not administer the bot any more', { bot: z.strictObject({ user_id: z.int() }) });
