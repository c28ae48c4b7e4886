import { EventProjection, referenceProjection } from '../../api/graphql/schema/event-projections.ts';
import type { ProjectedBot } from '../bot-events.ts';

const botReference = referenceProjection('Bot', { withNumber: false });

/** Event projection of the data of a bot that only its administrators can see. */
const botFacts = new EventProjection<ProjectedBot>(
  'Bot',
  { idOf: ({ id }) => id },
  { hearsAllPublicChannels: (bot) => bot.hearsAllPublicChannels },
);

const identity = { idOf: ({ id }: ProjectedBot) => id };
const databaseId = ({ id }: ProjectedBot) => id;

const administered = new EventProjection<ProjectedBot>('User', identity, {
  databaseId,
  bot: { facts: botFacts, of: (bot) => (bot.isAdministered === true ? bot : null) },
});
/** Event projection for a change of a bot setting other than `hearsAllPublicChannels`. */
const administeredReference = new EventProjection<ProjectedBot>('User', identity, {
  databaseId,
  bot: { facts: botReference, of: (bot) => (bot.isAdministered === true ? bot.id : null) },
});
/** Event projection for an event that does not contain whether the recipient can administer the bot. */
const unknown = new EventProjection<ProjectedBot>('User', identity, { databaseId });

/** Returns the event projection of the bot's user in an event about the bot. */
export function projectionOf({ facts }: { readonly facts: ProjectedBot }): EventProjection<ProjectedBot> {
  if (facts.isAdministered === undefined) return unknown;
  return facts.hearsAllPublicChannels === undefined ? administeredReference : administered;
}

/** Event projection of a bot that the recipient can no longer administer. */
export const lostBot = new EventProjection<number>(
  'User',
  { idOf: (id) => id },
  { databaseId: (id) => id, bot: { facts: botReference, of: () => null } },
);
