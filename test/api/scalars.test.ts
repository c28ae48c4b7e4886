import { describe, expect, test } from 'vitest';
import { createOrganization } from '../helpers/server.ts';

/** Fields that take a value of each scalar, as an argument or in an input. */
const FIELDS = {
  LongId: (value: string) => `presences(since: { version: ${value} }) { totalCount }`,
  DateTime: (value: string) => `messages(anchor: { sentAt: ${value} }, countBefore: 1, countAfter: 1) { totalCount }`,
} as const;

type Case = readonly [kind: string, scalar: keyof typeof FIELDS, value: unknown];

/** Returns a query with the value as a literal, and one with the value in a variable. */
const queriesWith = (scalar: keyof typeof FIELDS, value: unknown) =>
  [
    [`{ ${FIELDS[scalar](JSON.stringify(value))} }`, {}],
    [`query ($value: ${scalar}!) { ${FIELDS[scalar]('$value')} }`, { value }],
  ] as const;

describe('values of scalars', () => {
  test.for<Case>([
    ['a number', 'LongId', 12],
    ['a negative number', 'LongId', -1],
    ['digits', 'LongId', '12'],
    ['the longest digits', 'LongId', '9007199254740991'],
    ['digits with a sign', 'LongId', '-1'],
    ['a time', 'DateTime', '2026-11-20T10:00:00.000Z'],
    ['a time without seconds, with an offset', 'DateTime', '2026-11-20T10:00+01:00'],
  ])('are accepted as literals and in variables: %s as a %s', async ([, scalar, value]) => {
    const { member } = await createOrganization();
    for (const [query, variables] of queriesWith(scalar, value)) {
      expect((await member.graphql(query, variables)).errors, query).toBeUndefined();
    }
  });

  test.for<Case>([
    ['a number that is too large', 'LongId', 2 ** 53],
    ['digits that are too large', 'LongId', '9007199254740992'],
    ['a fraction', 'LongId', 1.5],
    ['digits with a fraction', 'LongId', '1.0'],
    ['leading zeros', 'LongId', '012'],
    ['spaces', 'LongId', ' 12'],
    ['an exponent', 'LongId', '1e3'],
    ['an empty text', 'LongId', ''],
    ['a Boolean', 'LongId', true],
    ['a time without a time zone', 'DateTime', '2026-11-20T10:00:00'],
    ['seconds', 'DateTime', 1_795_000_000],
    ['a day', 'DateTime', '2026-11-20'],
  ])('are refused with an example: %s as a %s', async ([, scalar, value]) => {
    const { member } = await createOrganization();
    for (const [query, variables] of queriesWith(scalar, value)) {
      const { errors } = await member.graphql(query, variables);
      expect(errors?.[0]?.message, query).toMatch(new RegExp(`A ${scalar} must be .* like `));
    }
  });
});
