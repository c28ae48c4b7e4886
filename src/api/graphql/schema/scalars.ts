import { GraphQLError } from 'graphql';
import { timeIn } from '../../../platform/dates.ts';
import { builder } from './builder.ts';

// Matches a time in RFC 3339 format. Seconds are optional, the time zone is required.
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

function asDate(value: unknown): Date {
  const date = typeof value === 'string' && INSTANT.test(value) ? timeIn(value) : undefined;
  if (date === undefined) {
    throw new GraphQLError('A DateTime must be like "2026-11-20T10:00:00Z".');
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

function asLongId(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new GraphQLError('A LongId must be an integer of at most 2^53 - 1.');
  }
  return value;
}

builder.scalarType('LongId', {
  description:
    'The id of an event or a message: an integer of at most 2^53 - 1, written as a JSON number. Later events and messages ' +
    'have higher ids.',
  serialize: asLongId,
  parseValue: asLongId,
  parseLiteral: (node) => asLongId(node.kind === 'IntValue' ? Number(node.value) : undefined),
});

/** Returns the value of a DateTime field for a time in UNIX seconds, the unit of the wire formats. */
export const fromUnix = (seconds: number): Date => new Date(seconds * 1000);
