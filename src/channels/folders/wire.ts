import { z } from 'zod';
import type { ChannelFolder } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireChannelFolder = z
  .object({
    id: z.int(),
    name: z.string(),
    order: z.int(),
    date_created: z.int().describe('UNIX seconds.'),
    creator_id: z.int().nullable(),
    description: z.string(),
    rendered_description: z.string(),
    is_archived: z.boolean(),
  })
  .meta({ id: 'ChannelFolder' });
export type WireChannelFolder = Wire<typeof wireChannelFolder>;

export function toWire(folder: ChannelFolder): WireChannelFolder {
  return {
    id: folder.id,
    name: folder.name,
    order: folder.order,
    date_created: Math.floor(folder.createdAt.getTime() / 1000),
    creator_id: folder.creatorId,
    description: folder.description,
    rendered_description: folder.renderedDescription,
    is_archived: folder.isArchived,
  };
}

/** A folder in the payload of its events. */
export interface FolderSnapshot extends WireChannelFolder {
  /** Time at which the folder was created, in ISO 8601 with milliseconds. Absent in events of previous versions. */
  readonly createdAt?: string;
}

export const toSnapshot = (folder: ChannelFolder): FolderSnapshot => ({
  ...toWire(folder),
  createdAt: folder.createdAt.toISOString(),
});

/** Returns the fields of a folder that clients receive. */
export const wireOf = ({ createdAt: _, ...folder }: FolderSnapshot): WireChannelFolder => folder;
