import { EventProjection, referenceProjection } from '../../api/graphql/schema/event-projections.ts';
import type { ProjectedBot } from '../bot-events.ts';

const botReference = referenceProjection('Bot', { withNumber: false });

/**
 * Event projection (the fields that an event alone provides) of the GraphQL type `Bot`: id and `hearsAllPublicChannels`. Only
 * users who can administer a bot can see this object.
 */
const botProjection = new EventProjection<ProjectedBot>(
  'Bot',
  { idOf: ({ id }) => id },
  { hearsAllPublicChannels: (bot) => bot.hearsAllPublicChannels },
);

const identity = { idOf: ({ id }: ProjectedBot) => id };
const databaseId = ({ id }: ProjectedBot) => id;

const administered = new EventProjection<ProjectedBot>('User', identity, {
  databaseId,
  bot: { projection: botProjection, of: (bot) => (bot.isAdministered === true ? bot : null) },
});
/**
 * Event projection of the `User` of a bot, for events that do not contain `hearsAllPublicChannels`: `id`, `databaseId`, and the
 * id of its `Bot`.
 */
const administeredReference = new EventProjection<ProjectedBot>('User', identity, {
  databaseId,
  bot: { projection: botReference, of: (bot) => (bot.isAdministered === true ? bot.id : null) },
});
/**
 * Event projection of the `User` of a bot, for events of previous versions: only `id` and `databaseId`, because it is unknown
 * whether the recipient can administer the bot.
 */
const unknown = new EventProjection<ProjectedBot>('User', identity, { databaseId });

/** Returns the event projection of the `User` of a bot, with the fields that the event contains. */
export function projectionOf({ facts }: { readonly facts: ProjectedBot }): EventProjection<ProjectedBot> {
  if (facts.isAdministered === undefined) return unknown;
  return facts.hearsAllPublicChannels === undefined ? administeredReference : administered;
}

/** Event projection of a bot that the recipient can no longer administer: `id`, `databaseId`, and null as its `Bot`. */
export const lostBot = new EventProjection<number>(
  'User',
  { idOf: (id) => id },
  { databaseId: (id) => id, bot: { projection: botReference, of: () => null } },
);
