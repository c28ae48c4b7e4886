import type { ChannelKey } from '../../channels/keys.ts';
import { BadRequestError } from '../../platform/errors.ts';
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
 * @throws BadRequestError if the value has none of these forms, names several channels, or mixes ids and addresses.
 */
export function destinationOf(type: MessageType, to: string): ChannelKey | Recipients {
  const value = parsed(to);
  return isChannelType(type) ? channelOf(value, to) : recipientsOf(value);
}

/** Parses a text as JSON. If it is not JSON, returns the text unchanged. */
function parsed(to: string): unknown {
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
  if (Array.isArray(value) && value.length !== 1) throw new BadRequestError('Expected exactly one channel');
  const channel: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof channel === 'string') return { name: channel };
  if (typeof channel === 'number' && Number.isInteger(channel)) return { id: channel };
  throw new BadRequestError('Invalid data type for channel');
}

function recipientsOf(value: unknown): Recipients {
  if (typeof value === 'string') return { emails: addressesIn(value) };
  if (typeof value === 'number' && Number.isInteger(value)) return { userIds: [value] };
  if (!Array.isArray(value)) throw new BadRequestError('Invalid data type for recipients');
  if (value.every((item) => Number.isInteger(item))) return { userIds: value as number[] };
  if (value.every((item) => typeof item === 'string')) return { emails: value };
  if (value.every((item) => typeof item === 'string' || Number.isInteger(item))) {
    throw new BadRequestError('Recipient lists may contain emails or user IDs, but not both.');
  }
  throw new BadRequestError('Invalid data type for recipients');
}

const addressesIn = (text: string): string[] =>
  text
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
