import { z } from 'zod';
import { defineEvent } from '../events/define.ts';
import type { EventView } from '../events/view.ts';
import { documentEvent } from '../events/wire.ts';
import type { User } from '../generated/prisma/client.ts';
import { administersBot } from './bot-administrators.ts';
import type { WireBot, WireDefaults } from './bot-wire.ts';
import { wireDefaults } from './bot-wire.ts';

// Recipients: the bot's owner and all administrators. Data of a bot that all users can see is sent in events about users.

/** The columns that determine which users can administer a bot. */
type Subject = Pick<User, 'id' | 'role' | 'botOwnerId'>;

interface Payload {
  readonly bot: { readonly user_id: number } & Partial<WireDefaults>;
  /** The role and the owner of the bot. Absent in events of previous versions. */
  readonly subject?: Pick<User, 'role' | 'botOwnerId'>;
}

/**
 * Data of a bot event for its GraphQL fields: the id of the bot, the changed value, and whether the recipient can administer
 * the bot.
 */
export interface ProjectedBot {
  readonly id: number;
  readonly hearsAllPublicChannels: boolean | undefined;
  /**
   * Whether the recipient can administer the bot. It can be false, because administrators also receive events about bots that
   * only organization owners can administer. Undefined if the event does not contain the role and owner of the bot.
   */
  readonly isAdministered: boolean | undefined;
}

const isAdministered = ({ subject }: Payload, { userId, role }: EventView): boolean | undefined =>
  subject && administersBot({ id: userId, role }, subject);

const RULES = {
  perUser: (payload: Payload, view: EventView) => String(isAdministered(payload, view)),
  facts: (payload: Payload, view: EventView): ProjectedBot => ({
    id: payload.bot.user_id,
    hearsAllPublicChannels: payload.bot.default_all_public_streams,
    isAdministered: isAdministered(payload, view),
  }),
};

const subjectOf = ({ role, botOwnerId }: Subject) => ({ role, botOwnerId });

/** Event for users who can now administer a bot: it was added, they became its owner, or they became administrators. */
export const botAdded = defineEvent(
  'realm_bot',
  'add',
  (bot: WireBot, subject: Subject): Payload => ({ bot, subject: subjectOf(subject) }),
  { ...RULES, render: ({ bot }) => ({ type: 'realm_bot', op: 'add', bot }) },
);

/** One changed default of a bot, by its name on the wire, with the new value. */
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

/** Event for users who can no longer administer a bot: they are neither its owner nor an administrator. */
export const botLost = defineEvent('realm_bot', 'delete', (userId: number) => ({ bot: { user_id: userId } }));

const ADMINISTERING = 'users who can administer the bot: its owner and administrators';
documentEvent(botAdded, ADMINISTERING, {
  bot: z.strictObject({ user_id: z.int(), ...wireDefaults.shape, services: z.array(z.never()) }),
});
documentEvent(botUpdated, ADMINISTERING, {
  bot: z.strictObject({ user_id: z.int(), ...wireDefaults.partial().shape }),
});
documentEvent(botLost, 'users who can no longer administer the bot', { bot: z.strictObject({ user_id: z.int() }) });
