import { EntityFacts, instantOf, referenceFacts } from '../../api/graphql/entity-facts.ts';
import { userReference } from '../../people/entity-facts.ts';
import type { FolderFacts } from './wire.ts';

/** A folder of which an event knows the id alone. */
export const folderReference = referenceFacts('ChannelFolder');

/** What an event knows of a folder that stands in it. */
export const folderFacts = new EntityFacts<FolderFacts>(
  'ChannelFolder',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    name: ({ name }) => name,
    description: ({ description }) => description,
    renderedDescription: (folder) => folder.rendered_description,
    order: ({ order }) => order,
    isArchived: (folder) => folder.is_archived,
    createdAt: (folder) => instantOf(folder.createdAt, folder.date_created),
    creator: { facts: userReference, of: (folder) => folder.creator_id },
  },
);

/** A folder at its new place. */
export interface PlacedFolder {
  readonly id: number;
  readonly order: number;
}

/** What is known of a folder when all are put into a new order. */
export const placedFolder = new EntityFacts<PlacedFolder>(
  'ChannelFolder',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, order: ({ order }) => order },
);
