import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { endpoint } from '../../src/api/rest/endpoint.ts';
import * as params from '../../src/api/rest/params.ts';
import { type Params, readerOf } from '../../src/api/rest/params.ts';
import { ChatError } from '../../src/platform/errors.ts';

/** Description of each parameter in these tests. It does not affect how parameters are read. */
const SAID = { description: 'One of the tests.' };
type Details = Partial<Parameters<typeof params.text>[1]>;
const text = <S extends z.ZodType>(type: S, details: Details = {}) => params.text(type, { ...SAID, ...details });
const json = <S extends z.ZodType>(type: S) => params.json(type, SAID);
const inPath = <S extends z.ZodType<number> | z.ZodType<string>>(type: S) => params.inPath(type, SAID);

/**
 * Reads the parameters of an endpoint from the fields of a request (`sent`).
 *
 * @param slots Values of the variables in the path.
 * @throws {ChatError} If a value is missing or invalid.
 */
function read(params: Params, sent: Record<string, string> | [string, string][], slots: Record<string, string> = {}) {
  const fields = new Map(Array.isArray(sent) ? sent : Object.entries(sent));
  return readerOf(params, Object.keys(slots))(Object.values(slots), fields);
}

/** Reads fields that must be refused. @returns The code, message and data of the error. */
function refusal(params: Params, sent: Record<string, string>, slots: Record<string, string> = {}) {
  try {
    read(params, sent, slots);
  } catch (error) {
    if (error instanceof ChatError) return { code: error.code, msg: error.message, ...error.data };
    throw error;
  }
  throw new Error(`Was accepted: ${JSON.stringify(sent)}`);
}

const bool = json(z.boolean());
const int = json(z.int());
const ints = json(z.array(z.int()));
const flags = json(z.strictObject({ a: z.boolean() }));
const color = text(z.enum(['red', 'green']));
const timeout = json(z.union([z.literal('mobile'), z.int()]));
const setting = json(
  z.union([z.int(), z.object({ direct_members: z.array(z.int()), direct_subgroups: z.array(z.int()) })]),
);
const changes = json(
  z.array(z.object({ stream_id: z.int(), property: z.string(), value: z.union([z.boolean(), z.string()]) })),
);

describe('a value', () => {
  test.for<[string, Params[string], string, unknown]>([
    ['a boolean', bool, 'true', true],
    ['a boolean with space around it', bool, ' false\n', false],
    ['an integer', int, '7', 7],
    ['a negative integer', int, '-1', -1],
    ['a list', ints, '[1,2]', [1, 2]],
    ['an empty list', ints, '[]', []],
    ['an object', flags, '{"a":true}', { a: true }],
    ['null where the type takes it', json(z.int().nullable()), 'null', null],
    ['raw text', text(z.string()), ' "quoted" ', ' "quoted" '],
    ['empty text', text(z.string()), '', ''],
    ['text of another script', text(z.string()), 'grüße 👋', 'grüße 👋'],
    ['an enumerated text', color, 'red', 'red'],
    ['one member of a union', timeout, '3600', 3600],
    ['the other member of a union', timeout, '"mobile"', 'mobile'],
    ['a fraction where the type takes it', json(z.number()), '7.0', 7],
    ['a fraction in a union that takes it', json(z.union([z.string(), z.number()])), '7.0', 7],
    [
      'JSON text with digits and dots inside a string',
      json(z.object({ v: z.string() })),
      '{"v":"1.0 2e3"}',
      { v: '1.0 2e3' },
    ],
    ['trimmed text', text(z.string().trim().min(1)), '  x ', 'x'],
  ])('is accepted as %s', ([, param, raw, value]) => {
    expect(read({ v: param }, { v: raw })).toEqual({ values: { v: value }, ignored: [] });
  });

  test.for<[Params[string], string, string]>([
    [bool, 'True', 'v is not valid JSON'],
    [bool, 'yes', 'v is not valid JSON'],
    [bool, '', 'v is not valid JSON'],
    [bool, '1', 'v is not a boolean'],
    [bool, '"true"', 'v is not a boolean'],
    [bool, 'null', 'v is not a boolean'],
    [int, '7.0', 'v is not an integer'],
    [int, '7.5', 'v is not an integer'],
    [int, '1e2', 'v is not an integer'],
    [int, '"7"', 'v is not an integer'],
    [int, 'abc', 'v is not valid JSON'],
    [int, 'NaN', 'v is not valid JSON'],
    [int, '99999999999999999999', 'v is too large'],
    [json(z.int().min(0)), '-1', 'v is too small'],
    [json(z.int().max(9)), '10', 'v is too large'],
    [ints, '1,2', 'v is not valid JSON'],
    [ints, '{}', 'v is not a list'],
    [ints, '["1"]', 'v[0] is not an integer'],
    [ints, '[1,2.0]', 'v[1] is not an integer'],
    [ints, '[[1]]', 'v[0] is not an integer'],
    [flags, '[]', 'v is not a dict'],
    [flags, 'null', 'v is not a dict'],
    [flags, '{}', 'v["a"] field is missing'],
    [flags, '{"a":1}', 'v["a"] is not a boolean'],
    [flags, '{"a":true,"b":1}', 'Argument "b" at v is unexpected'],
    [json(z.array(flags.type)), '[{"a":true,"b":1}]', 'Argument "b" at v[0] is unexpected'],
    [json(z.string()), 'plain', 'v is not valid JSON'],
    [json(z.string()), '7', 'v is not a string'],
    [color, 'blue', 'Invalid v'],
    [color, '"red"', 'Invalid v'],
    [json(z.union([z.int(), z.string()])), '7.0', 'Invalid v'],
    [timeout, 'mobile', 'v is not valid JSON'],
    [timeout, '"desktop"', 'Invalid v'],
    [setting, '{"direct_members":["x"],"direct_subgroups":[]}', 'v["direct_members"][0] is not an integer'],
    [setting, '{"direct_members":[]}', 'v["direct_subgroups"] field is missing'],
    [setting, '"x"', 'Invalid v'],
    [changes, '[{"stream_id":1,"property":"color","value":1}]', 'Invalid v[0]["value"]'],
    [changes, '[{"stream_id":"5","property":2}]', 'v[0]["stream_id"] is not an integer'],
    [text(z.string().max(3)), 'four', 'v is too long (limit: 3 characters)'],
    [text(z.string().min(2)), 'x', 'v is too short.'],
    [text(z.string().trim().min(1)), '  ', 'v cannot be blank'],
    [text(z.string().length(2)), 'x', 'v is not length 2'],
    [text(z.string().regex(/^#/)), 'x', 'v has invalid format'],
    [json(z.array(z.int()).max(1)), '[1,2]', 'v is too long (limit: 1 items)'],
    [text(z.string().refine((v) => v !== 'q', { error: 'no q here' })), 'q', 'Invalid v: no q here'],
    [json(z.unknown()), '['.repeat(200_000), 'v is nested too deep (limit: 64)'],
  ])('is refused with the documented message (%#)', ([param, raw, msg]) => {
    expect(refusal({ v: param }, { v: raw })).toEqual({ code: 'BAD_REQUEST', msg });
  });

  test('of a very long key is truncated in the message', () => {
    const { msg } = refusal({ v: flags }, { v: JSON.stringify({ a: true, ['k'.repeat(1e6)]: 1 }) });
    expect(msg.length).toBeLessThan(120);
  });

  test('loses lone surrogates, which no column can store', () => {
    expect(read({ v: json(z.array(z.string())) }, { v: '["\\ud83d", "\\uD83D\\uDC4B"]' }).values).toEqual({
      v: ['�', '👋'],
    });
  });
});

describe('presence', () => {
  const params = {
    name: text(z.string()),
    is_archived: json(z.boolean()).optional(),
    limit: json(z.int()).default(50),
  };

  test('a missing required parameter is named in the error', () => {
    expect(refusal(params, { limit: '3' })).toEqual({
      code: 'REQUEST_VARIABLE_MISSING',
      msg: "Missing 'name' argument",
      var_name: 'name',
    });
  });

  test('a missing optional parameter is absent, and a default applies', () => {
    expect(read(params, { name: '' }).values).toEqual({ name: '', limit: 50 });
    expect('is_archived' in read(params, { name: '' }).values).toBe(false);
  });

  test('a default does not affect a value that was sent', () => {
    expect(read({ quiet: json(z.boolean()).default(true) }, { quiet: 'false' }).values).toEqual({ quiet: false });
    expect(read({ to: json(z.int().nullable()).default(3) }, { to: 'null' }).values).toEqual({ to: null });
  });

  test('the first failure in declaration order is reported', () => {
    expect(refusal({ a: int, b: bool, c: int }, { a: '1', b: 'x', c: 'y' }).msg).toBe('b is not valid JSON');
    expect(refusal({ a: int, b: bool }, { b: 'x' }).code).toBe('REQUEST_VARIABLE_MISSING');
    expect(refusal({ b: bool, a: int }, { b: 'x' }).code).toBe('BAD_REQUEST');
  });
});

describe('aliases', () => {
  const params = { topic: text(z.string(), { alias: 'subject' }) };

  test('both names are accepted, and neither is reported as ignored', () => {
    expect(read(params, { topic: 'x' })).toEqual({ values: { topic: 'x' }, ignored: [] });
    expect(read(params, { subject: 'x' })).toEqual({ values: { topic: 'x' }, ignored: [] });
  });

  test('both names together are refused', () => {
    expect(refusal(params, { topic: 'x', subject: 'x' })).toMatchObject({
      code: 'REQUEST_CONFUSING_VAR',
      var_name1: 'topic',
      var_name2: 'subject',
    });
  });

  test('a missing parameter is reported by its first name', () => {
    expect(refusal(params, {})).toMatchObject({ code: 'REQUEST_VARIABLE_MISSING', var_name: 'topic' });
  });

  test('also apply to optional parameters', () => {
    expect(read({ topic: params.topic.optional() }, { subject: 'x' }).values).toEqual({ topic: 'x' });
  });
});

describe('unknown parameter names', () => {
  test('are listed once, sorted, without `client`', () => {
    const sent = { zeta: '1', name: 'x', alpha: '', client: 'tests', method: 'PATCH' };
    expect(read({ name: text(z.string()) }, sent).ignored).toEqual(['alpha', 'method', 'zeta']);
  });

  test('include the name of a path slot', () => {
    expect(read({ id: inPath(z.int()) }, { id: '9' }, { id: '7' })).toEqual({ values: { id: 7 }, ignored: ['id'] });
  });

  test('cannot access a prototype', () => {
    const sent: [string, string][] = [
      ['__proto__', '{"polluted":true}'],
      ['constructor', 'x'],
      ['toString', 'x'],
    ];
    const { values, ignored } = read({ name: text(z.string()).optional() }, sent);
    expect(values).toEqual({});
    expect(ignored).toEqual(['__proto__', 'constructor', 'toString']);
    expect('polluted' in {}).toBe(false);
  });

  test('cannot do so as keys in JSON either', () => {
    const sent = { v: '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"a":true}' };
    expect(refusal({ v: flags }, sent).msg).toBe('Argument "__proto__" at v is unexpected');
    for (const type of [
      z.object({ a: z.boolean() }),
      z.looseObject({ a: z.boolean() }),
      z.record(z.string(), z.unknown()),
    ]) {
      const { v } = read({ v: json(type) }, sent).values as { v: object };
      expect(Object.getPrototypeOf(v)).toBe(Object.prototype);
      expect('polluted' in v).toBe(false);
    }
    expect('polluted' in {}).toBe(false);
  });
});

describe('slots of the path', () => {
  test('contain text unchanged', () => {
    expect(read({ email: inPath(z.string()) }, {}, { email: 'a@b.example' }).values).toEqual({ email: 'a@b.example' });
  });

  test('can contain numbers beyond any row, which services treat as absent', () => {
    for (const id of ['2147483648', '9'.repeat(400)]) {
      const { id: read_id } = read({ id: inPath(z.int()) }, {}, { id }).values as { id: number };
      expect(read_id).toBeGreaterThan(2147483647);
      expect(Number.isSafeInteger(read_id)).toBe(true);
    }
  });
});

describe('an endpoint', () => {
  test('passes the declared types to its handler', () => {
    endpoint({
      method: 'PATCH',
      path: '/folders/{folder_id}',
      auth: 'basic',
      equivalents: [],
      summary: 'For this test',
      params: {
        folder_id: inPath(z.int()),
        color: color.optional(),
        limit: json(z.int()).default(1),
        ids: ints,
      },
      reply: {},
      async handle({ viewer }, values) {
        expectTypeOf(viewer.id).toEqualTypeOf<number>();
        expectTypeOf(values.folder_id).toEqualTypeOf<number>();
        expectTypeOf(values).toHaveProperty('color').toEqualTypeOf<'red' | 'green' | undefined>();
        expectTypeOf(values.limit).toEqualTypeOf<number>();
        expectTypeOf(values.ids).toEqualTypeOf<number[]>();
      },
    });
  });

  test('must declare exactly the slots of its path', () => {
    const declare = (path: string, params: Params) => () =>
      endpoint({
        method: 'GET',
        path,
        auth: 'none',
        equivalents: [],
        summary: '',
        params,
        reply: {},
        async handle() {},
      });
    expect(declare('/folders/{id}', {})).toThrow('has the path parameters id');
    expect(declare('/folders', { id: inPath(z.int()) })).toThrow('declares id');
  });
});
