import { EntityFacts } from '../../api/graphql/entity-facts.ts';
import { userReference } from '../entity-facts.ts';
import type { WireCustomEmoji } from './wire.ts';

/** What an event knows of an emoji that stands in it. */
export const emojiFacts = new EntityFacts<WireCustomEmoji>(
  'CustomEmoji',
  { idOf: ({ id }) => Number(id) },
  {
    databaseId: ({ id }) => Number(id),
    name: ({ name }) => name,
    imageUrl: (emoji) => emoji.source_url,
    stillUrl: (emoji) => emoji.still_url,
    isActive: ({ deactivated }) => !deactivated,
    author: { facts: userReference, of: (emoji) => emoji.author_id },
  },
);

/** What is known of an emoji that was taken out of use. */
export const emojiOutOfUse = new EntityFacts<number>(
  'CustomEmoji',
  { idOf: (id) => id },
  { databaseId: (id) => id, isActive: () => false },
);
