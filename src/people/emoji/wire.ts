import { z } from 'zod';
import type { CustomEmoji } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

export const wireCustomEmoji = z
  .object({
    id: z.string(),
    name: z.string(),
    source_url: z.string(),
    still_url: z
      .string()
      .nullable()
      .describe('URL of the first frame of an animated image. Null if the image is not animated.'),
    deactivated: z.boolean(),
    author_id: z.int().nullable(),
  })
  .meta({ id: 'CustomEmoji' });
export type WireCustomEmoji = Wire<typeof wireCustomEmoji>;

/** Custom emoji by id. */
export type WireCustomEmojiMap = Readonly<Record<string, WireCustomEmoji>>;

/** Returns the path of an emoji's image. The image of an emoji never changes. */
export const emojiImageUrl = (imageId: string): string => `/emoji/${imageId}`;

/** Returns the path of the first frame of an animated emoji. Null if the emoji is not animated. */
export const emojiStillUrl = ({ imageId, isAnimated }: CustomEmoji): string | null =>
  isAnimated ? `${emojiImageUrl(imageId)}/still` : null;

export function toWire(emoji: CustomEmoji): WireCustomEmoji {
  return {
    id: String(emoji.id),
    name: emoji.name,
    source_url: emojiImageUrl(emoji.imageId),
    still_url: emojiStillUrl(emoji),
    deactivated: emoji.deactivatedAt !== null,
    author_id: emoji.authorId,
  };
}

export const toWireMap = (emoji: readonly CustomEmoji[]): WireCustomEmojiMap =>
  Object.fromEntries(emoji.map((one) => [one.id, toWire(one)]));
