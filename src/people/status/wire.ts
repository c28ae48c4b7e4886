import { z } from 'zod';
import type { UserStatus } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

/** A status as other users see it. Properties that are not set are absent. */
export const wireStatus = z
  .object({
    away: z.literal(true).optional().describe('Deprecated.'),
    status_text: z.string().optional(),
    emoji_name: z.string().optional(),
    emoji_code: z.string().optional(),
    reaction_type: z.string().optional(),
  })
  .meta({ id: 'UserStatus' });
export type WireStatus = Wire<typeof wireStatus>;

/** Returns a status as the REST API shows it. @param row Null if the user has no stored status. */
export function toWire(row: UserStatus | null, isAway: boolean): WireStatus {
  return {
    ...(isAway && { away: true as const }),
    ...(row !== null && row.text !== '' && { status_text: row.text }),
    ...(row !== null &&
      row.emojiName !== '' && {
        emoji_name: row.emojiName,
        emoji_code: row.emojiCode,
        reaction_type: row.reactionType,
      }),
  };
}
