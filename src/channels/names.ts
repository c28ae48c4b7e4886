import { Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { MAX_CHANNEL_DESCRIPTION_LENGTH, MAX_CHANNEL_NAME_LENGTH } from '../platform/limits.ts';
import { isAlike } from '../platform/names.ts';
import { lengthOf, requirePrintable, requireText } from '../platform/text.ts';

/**
 * Validates a channel name and returns it without surrounding white space.
 *
 * @throws BadRequestError if it is blank, longer than 60 characters, or contains an unprintable character.
 */
export function requireChannelName(name: string): string {
  const stripped = name.trim();
  if (stripped === '') throw new BadRequestError("Channel name can't be empty.");
  if (lengthOf(stripped) > MAX_CHANNEL_NAME_LENGTH) {
    throw new BadRequestError(`Channel name too long (limit: ${MAX_CHANNEL_NAME_LENGTH} characters).`);
  }
  requirePrintable('channel name', stripped);
  return stripped;
}

/**
 * Validates a channel description and returns it in one line.
 *
 * @throws BadRequestError if it is longer than 1024 characters or contains a null byte.
 */
export function requireChannelDescription(description: string): string {
  return requireText('description', description, { max: MAX_CHANNEL_DESCRIPTION_LENGTH }).replace(/\r\n|\r|\n/g, ' ');
}

/**
 * Whether another channel has a name that looks the same, ignoring case, also in another script. Names that are equal
 * except for case are not checked: the unique index refuses them.
 */
export async function isChannelNameTaken(tx: Tx, realmId: number, name: string, exceptId = 0): Promise<boolean> {
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM channel
    WHERE realm_id = ${realmId} AND id <> ${exceptId} AND lower(name) <> lower(${name})
      AND ${isAlike(Prisma.sql`name`, name)} LIMIT 1`;
  return taken.length > 0;
}
