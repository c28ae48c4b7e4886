import { BadRequestError } from '../platform/errors.ts';
import { MAX_CHANNEL_DESCRIPTION_LENGTH, MAX_CHANNEL_NAME_LENGTH } from '../platform/limits.ts';
import { lengthOf, requirePrintable, requireText } from '../platform/text.ts';

/**
 * A channel's name as it may be stored: without surrounding white space.
 *
 * @throws BadRequestError when it is blank, longer than 60 characters, or holds one that cannot be printed.
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
 * A channel's description as it may be stored: in one line.
 *
 * @throws BadRequestError when it is longer than 1024 characters or holds a null byte.
 */
export function requireChannelDescription(description: string): string {
  return requireText('description', description, { max: MAX_CHANNEL_DESCRIPTION_LENGTH }).replace(/\r\n|\r|\n/g, ' ');
}
