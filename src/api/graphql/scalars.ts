import { GraphQLError } from 'graphql';
import { builder } from './builder.ts';

// RFC 3339, as JSON front ends write it: the time zone is never left out.
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

function asDate(value: unknown): Date {
  const date = typeof value === 'string' && INSTANT.test(value) ? new Date(value) : undefined;
  if (date === undefined || Number.isNaN(date.getTime())) {
    throw new GraphQLError('A DateTime must be like "2026-11-20T10:00:00Z".');
  }
  return date;
}

builder.scalarType('DateTime', {
  description: 'An instant in RFC 3339 form with its time zone: "2026-11-20T10:00:00.000Z".',
  specifiedByURL: 'https://datatracker.ietf.org/doc/html/rfc3339',
  serialize: (date) => date.toISOString(),
  parseValue: asDate,
});

const NO_FILE = 'A File is sent with the operation in a multipart body.';

builder.scalarType('File', {
  description:
    'An uploaded file. The operation goes as multipart/form-data with a header "GraphQL-Require-Preflight: 1": null stands ' +
    'in the place of the file in `operations`, and `map` says which file belongs there.',
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
    'The id of an event or a message: an integer of up to 2^53 - 1, written as a JSON number. Ids rise in the order of ' +
    'what they name.',
  serialize: asLongId,
  parseValue: asLongId,
  parseLiteral: (node) => asLongId(node.kind === 'IntValue' ? Number(node.value) : undefined),
});

/** UNIX seconds, as wire forms hold an instant, for a DateTime field. */
export const fromUnix = (seconds: number): Date => new Date(seconds * 1000);
