import type { UserStatus } from '../../generated/prisma/client.ts';

/** A status as others see it: what is not set is absent. */
export interface WireStatus {
  /** Deprecated: always true. */
  readonly away?: true;
  readonly status_text?: string;
  readonly emoji_name?: string;
  readonly emoji_code?: string;
  readonly reaction_type?: string;
}

/** @param row Null when the user never set one. */
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
