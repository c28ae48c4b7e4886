import type { ChannelKey } from '../../channels/keys.ts';
import { BadRequestError, ValidationError } from '../../platform/errors.ts';
import { parseJson } from '../../platform/json.ts';
import type { Recipients } from '../direct.ts';

/** Values of the REST parameter `type`. "private" and "stream" are legacy names of "direct" and "channel". */
export const MESSAGE_TYPES = ['direct', 'private', 'channel', 'stream'] as const;
export type MessageType = (typeof MESSAGE_TYPES)[number];

export const isChannelType = (type: MessageType): boolean => type === 'channel' || type === 'stream';

/**
 * Parses the REST parameter `to` in all its forms. For a channel: its name, its name as JSON, its id, or an array with one name
 * or id. For users: an id, an array of ids or of email addresses, or a comma-separated list of email addresses.
 *
 * @throws ValidationError if `to` has none of these forms, names several channels, or mixes ids and addresses.
 */
export function destinationOf(type: MessageType, to: string): ChannelKey | Recipients {
  const value = parsed(to);
  return isChannelType(type) ? channelOf(value, to) : recipientsOf(value);
}

/** Matches most names of channels: text that does not begin like a JSON value and contains no array or object. */
const NO_JSON = /^(?!\s*(?:["\d-]|true|false|null))[^[{]*$/;

/**
 * Parses a text as JSON. If the text is not JSON, returns it unchanged. @throws TooDeepError if the JSON is nested too deep.
 */
function parsed(to: string): unknown {
  if (NO_JSON.test(to)) return to;
  try {
    return parseJson(to, 'to');
  } catch (error) {
    if (error instanceof BadRequestError) throw error;
    return to;
  }
}

function channelOf(value: unknown, raw: string): ChannelKey {
  // Some channel names are also valid JSON, such as `null` or `true`.
  if (typeof value === 'boolean' || value === null) return { name: raw };
  if (Array.isArray(value) && value.length !== 1) {
    throw new ValidationError('Expected exactly one channel', { parameter: 'to' });
  }
  const channel: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof channel === 'string') return { name: channel };
  if (typeof channel === 'number' && Number.isInteger(channel)) return { id: channel };
  throw new ValidationError('Invalid data type for channel', { parameter: 'to' });
}

function recipientsOf(value: unknown): Recipients {
  if (typeof value === 'string') return { emails: addressesIn(value) };
  if (typeof value === 'number' && Number.isInteger(value)) return { userIds: [value] };
  if (!Array.isArray(value)) throw invalidRecipients();
  if (value.every((item) => Number.isInteger(item))) return { userIds: value as number[] };
  if (value.every((item) => typeof item === 'string')) return { emails: value };
  if (value.every((item) => typeof item === 'string' || Number.isInteger(item))) {
    throw new ValidationError('Recipient lists may contain emails or user IDs, but not both.', { parameter: 'to' });
  }
  throw invalidRecipients();
}

/** Returns the error for recipients that are neither ids nor email addresses. */
export const invalidRecipients = (): ValidationError =>
  new ValidationError('Invalid data type for recipients', { parameter: 'to' });

const addressesIn = (text: string): string[] =>
  text
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
