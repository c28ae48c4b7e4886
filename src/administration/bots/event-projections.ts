import { EventProjection, referenceProjection } from '../../api/graphql/schema/event-projections.ts';
import type { ProjectedBot } from '../bot-events.ts';

const botReference = referenceProjection('Bot', { withNumber: false });

/** Event projection of the GraphQL type `Bot`. Only users who can administer a bot can see this object. */
const botFacts = new EventProjection<ProjectedBot>(
  'Bot',
  { idOf: ({ id }) => id },
  { hearsAllPublicChannels: (bot) => bot.hearsAllPublicChannels },
);

const identity = { idOf: ({ id }: ProjectedBot) => id };
const databaseId = ({ id }: ProjectedBot) => id;

const administered = new EventProjection<ProjectedBot>('User', identity, {
  databaseId,
  bot: { projection: botFacts, of: (bot) => (bot.isAdministered === true ? bot : null) },
});
/** Event projection of the `User` of a bot, for events that do not contain `hearsAllPublicChannels`. */
const administeredReference = new EventProjection<ProjectedBot>('User', identity, {
  databaseId,
  bot: { projection: botReference, of: (bot) => (bot.isAdministered === true ? bot.id : null) },
});
/**
 * Event projection of the `User` of a bot, for events of previous versions: whether the recipient can administer the bot is
 * unknown.
 */
const unknown = new EventProjection<ProjectedBot>('User', identity, { databaseId });

/** Returns the event projection of the `User` of a bot, for an event about the bot. */
export function projectionOf({ facts }: { readonly facts: ProjectedBot }): EventProjection<ProjectedBot> {
  if (facts.isAdministered === undefined) return unknown;
  return facts.hearsAllPublicChannels === undefined ? administeredReference : administered;
}

/** Event projection of a bot that the recipient can no longer administer. */
export const lostBot = new EventProjection<number>(
  'User',
  { idOf: (id) => id },
  { databaseId: (id) => id, bot: { projection: botReference, of: () => null } },
);
