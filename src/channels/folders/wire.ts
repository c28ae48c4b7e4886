import type { ChannelFolder } from '../../generated/prisma/client.ts';

export interface WireChannelFolder {
  readonly id: number;
  readonly name: string;
  readonly order: number;
  /** UNIX seconds. */
  readonly date_created: number;
  readonly creator_id: number | null;
  readonly description: string;
  readonly rendered_description: string;
  readonly is_archived: boolean;
}

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
