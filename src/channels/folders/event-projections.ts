import { EventProjection, instantOf, referenceProjection } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { FolderSnapshot } from './wire.ts';

/**
 * Event projection (the fields that an event alone provides) of a folder, for events that contain only its id: `id` and
 * `databaseId`.
 */
export const folderReference = referenceProjection('ChannelFolder');

/** Event projection of a folder, for events that contain the whole folder: all its fields. */
export const folderProjection = new EventProjection<FolderSnapshot>(
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
    creator: { projection: userReference, of: (folder) => folder.creator_id },
  },
);

/** A folder with its new position. */
export interface PlacedFolder {
  readonly id: number;
  readonly order: number;
}

/** Event projection of a folder, for events with the new order of all folders: `id`, `databaseId` and `order`. */
export const placedFolder = new EventProjection<PlacedFolder>(
  'ChannelFolder',
  { idOf: ({ id }) => id },
  { databaseId: ({ id }) => id, order: ({ order }) => order },
);
