import { EntityFacts, referenceFacts } from '../../api/graphql/entity-facts.ts';
import type { KnownBot } from './events.ts';

const botReference = referenceFacts('Bot', { withNumber: false });

/** What an event knows of what the administrators of a bot know. */
const botFacts = new EntityFacts<KnownBot>(
  'Bot',
  { idOf: ({ id }) => id },
  { hearsAllPublicChannels: (bot) => bot.hearsAllPublicChannels },
);

const identity = { idOf: ({ id }: KnownBot) => id };
const databaseId = ({ id }: KnownBot) => id;

const administered = new EntityFacts<KnownBot>('User', identity, {
  databaseId,
  bot: { facts: botFacts, of: (bot) => (bot.isAdministered === true ? bot : null) },
});
/** Where another of its settings changed. */
const administeredReference = new EntityFacts<KnownBot>('User', identity, {
  databaseId,
  bot: { facts: botReference, of: (bot) => (bot.isAdministered === true ? bot.id : null) },
});
/** Where it is not known whether who hears the event may administer the bot. */
const unknown = new EntityFacts<KnownBot>('User', identity, { databaseId });

/** What an event about a bot knows of its user. */
export function factsAbout({ facts }: { readonly facts: KnownBot }): EntityFacts<KnownBot> {
  if (facts.isAdministered === undefined) return unknown;
  return facts.hearsAllPublicChannels === undefined ? administeredReference : administered;
}

/** A bot that is somebody else's to administer from here on. */
export const lostBot = new EntityFacts<number>(
  'User',
  { idOf: (id) => id },
  { databaseId: (id) => id, bot: { facts: botReference, of: () => null } },
);
