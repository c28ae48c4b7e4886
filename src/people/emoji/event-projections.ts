import { EventProjection } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../event-projections.ts';
import type { WireCustomEmoji } from './wire.ts';

/** Event projection of an emoji that the event contains in full. */
export const emojiProjection = new EventProjection<WireCustomEmoji>(
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

/** Event projection of a deactivated emoji. */
export const emojiOutOfUse = new EventProjection<number>(
  'CustomEmoji',
  { idOf: (id) => id },
  { databaseId: (id) => id, isActive: () => false },
);
