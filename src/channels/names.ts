import { Prisma } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { ValidationError } from '../platform/errors.ts';
import { MAX_CHANNEL_DESCRIPTION_LENGTH, MAX_CHANNEL_NAME_LENGTH } from '../platform/limits.ts';
import { isAlike } from '../platform/names.ts';
import { lengthOf, requirePrintable, requireText } from '../platform/text.ts';

/**
 * Validates a channel name and returns it without surrounding white space.
 *
 * @param parameter Parameter with the name.
 * @throws ValidationError if the name is blank, longer than 60 code points, or contains an unprintable character.
 */
export function requireChannelName(name: string, parameter = 'name'): string {
  const stripped = name.trim();
  if (stripped === '') throw new ValidationError("Channel name can't be empty.", { parameter, minimum: 1 });
  const maximum = MAX_CHANNEL_NAME_LENGTH;
  if (lengthOf(stripped) > maximum) {
    throw new ValidationError(`Channel name too long (limit: ${maximum} characters).`, { parameter, maximum });
  }
  requirePrintable('channel name', stripped, parameter);
  return stripped;
}

/**
 * Validates a channel description and returns it in one line.
 *
 * @param parameter Parameter with the description.
 * @throws ValidationError if the description is longer than 1,024 code points or contains a null byte.
 */
export function requireChannelDescription(description: string, parameter = 'description'): string {
  const text = requireText('description', description, { max: MAX_CHANNEL_DESCRIPTION_LENGTH, parameter });
  return text.replace(/\r\n|\r|\n/g, ' ');
}

/**
 * Returns whether another channel has a name that looks like `name`, ignoring case, for example with letters of another script.
 * Does not find a name that is equal except for case, because the unique index refuses such a name.
 */
export async function isChannelNameTaken(tx: Tx, organizationId: number, name: string, exceptId = 0): Promise<boolean> {
  const taken = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM channel
    WHERE realm_id = ${organizationId} AND id <> ${exceptId} AND lower(name) <> lower(${name})
      AND ${isAlike(Prisma.sql`name`, name)} LIMIT 1`;
  return taken.length > 0;
}
