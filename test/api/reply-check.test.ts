import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { endpoint, RawJson, Redirect } from '../../src/api/rest/endpoint.ts';
import { replyCheckOf } from '../../src/api/rest/reply-check.ts';

const declared = {
  method: 'GET',
  path: '/ships',
  equivalents: ['none'],
  summary: 'List ships',
  auth: 'basic',
  params: {},
  reply: { ships: z.array(z.object({ name: z.string(), length: z.int().optional() })) },
  handle: async () => ({ ships: [] }),
} as const;
const check = replyCheckOf(endpoint(declared));

describe('the check of REST replies', () => {
  it('accepts the declared fields, as they are sent', () => {
    expect(() => check({ ships: [{ name: 'Beagle' }, { name: 'Argo', length: undefined }] })).not.toThrow();
    expect(() => check(new RawJson('{"result":"success","msg":"","ships":[]}'))).not.toThrow();
  });

  it.each([
    ['a field that is missing', {}],
    ['another type', { ships: [{ name: 7 }] }],
    ['a key that is not declared', { ships: [], count: 0 }],
    ['a key that is not declared, further down', { ships: [{ name: 'Beagle', captain: 'FitzRoy' }] }],
    ['such a key in JSON', new RawJson('{"result":"success","msg":"","ships":[],"count":0}')],
    ['another address', new Redirect('https://elsewhere.example')],
    ['nothing', undefined],
  ])('refuses %s', (_what, answer) => {
    expect(() => check(answer)).toThrow(/^the reply /);
  });

  it('covers what types cannot: a handler that returns another type does not compile', () => {
    // @ts-expect-error: the declared type of `name` is a text
    expect(endpoint({ ...declared, handle: async () => ({ ships: [{ name: 7 }] }) })).toBeDefined();
    // @ts-expect-error: no reply is declared, so none can be returned
    expect(endpoint({ ...declared, reply: {}, handle: async () => ({ ships: [] }) })).toBeDefined();
  });

  it('permits further fields in an open reply', () => {
    const open = replyCheckOf(endpoint({ ...declared, replyIsOpen: true }));
    expect(() => open({ ships: [], count: 0 })).not.toThrow();
    expect(() => open({ count: 0 })).toThrow(/^the reply /);
  });
});
