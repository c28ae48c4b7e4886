import { GraphQLError } from 'graphql';
import { timeIn } from '../../../platform/dates.ts';
import { builder } from './builder.ts';

// Matches a time in RFC 3339 format. Seconds are optional, the time zone is required.
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

function asDate(value: unknown): Date {
  const date = typeof value === 'string' && INSTANT.test(value) ? timeIn(value) : undefined;
  if (date === undefined) {
    throw new GraphQLError('A DateTime must be a time with its time zone, like "2026-11-20T10:00:00Z".');
  }
  return date;
}

builder.scalarType('DateTime', {
  description: 'A point in time in RFC 3339 format, with its time zone: "2026-11-20T10:00:00.000Z".',
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc3339',
  serialize: (date) => date.toISOString(),
  parseValue: asDate,
});

const NO_FILE = 'A File must be sent with the operation in a multipart body.';

builder.scalarType('File', {
  description:
    'An uploaded file. Send the operation as multipart/form-data with the header "GraphQL-Require-Preflight: 1". ' +
    '`operations` contains null in place of the file, and `map` assigns the file to that place.',
  specifiedByURL: 'https://github.com/jaydenseric/graphql-multipart-request-spec',
  serialize: () => {
    throw new GraphQLError(NO_FILE);
  },
  parseValue: (value) => {
    if (value instanceof Uint8Array) return value;
    throw new GraphQLError(NO_FILE);
  },
  parseLiteral: () => {
    throw new GraphQLError(NO_FILE);
  },
});

// Matches an integer without leading zeros, in the form that clients use if they keep long integers as texts.
const INTEGER = /^(0|-?[1-9]\d{0,15})$/;

function asLongId(value: unknown): number {
  const number = typeof value === 'string' && INTEGER.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number)) {
    throw new GraphQLError('A LongId must be an integer of at most 2^53 - 1, like 42 or "42".');
  }
  return number;
}

builder.scalarType('LongId', {
  description:
    'The id of an event or a message: an integer of at most 2^53 - 1. Results contain a JSON number. Inputs accept a JSON ' +
    'number, or a string with its digits. Later events and messages have higher ids.',
  // The range in which JSON numbers are exact.
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc8259#section-6',
  serialize: asLongId,
  parseValue: asLongId,
  parseLiteral: (node) => asLongId('value' in node ? node.value : undefined),
});

/** Converts a time in UNIX seconds, the unit of times in the REST interface, to the value of a DateTime field. */
export const fromUnix = (seconds: number): Date => new Date(seconds * 1000);
