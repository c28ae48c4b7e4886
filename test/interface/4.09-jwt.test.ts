import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Integrated, startIntegrated } from '../helpers/integrations.ts';
import { basic, type Visitor } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { startService } from '../helpers/service.ts';
import { failure, refused, success, USER } from '../helpers/shapes.ts';

let integrated: Integrated;
beforeAll(async () => {
  integrated = await startIntegrated(startService);
});
afterAll(() => integrated[Symbol.asyncDispose]());

const fetchKey = (parameters: object, by: Visitor = integrated.house.anonymous) =>
  by.rest('POST', '/jwt/fetch_api_key', { ...parameters });
const tokenOfMember = () => integrated.tokenOf({ email: integrated.house.member.email });

describe.concurrent('4.9 POST /jwt/fetch_api_key', () => {
  test('answers with api_key and email', async () => {
    const { member } = integrated.house;
    const { body } = await fetchKey({ token: await tokenOfMember() });
    expect(body).toEqual(success({ api_key: member.apiKey, email: member.email }));
  });

  test('the key is valid', async () => {
    const { anonymous, member } = integrated.house;
    const { api_key, email } = (await fetchKey({ token: await tokenOfMember() })).body;
    expect((await anonymous.as(basic(email, api_key)).ok('GET', '/users/me')).user_id).toBe(member.id);
  });

  test.for([
    [undefined, false],
    [false, false],
    [true, true],
  ] as const)('include_profile %j: the user object is present: %j', async ([include_profile, isThere]) => {
    const { body } = await fetchKey({ token: await tokenOfMember(), include_profile });
    const user = { ...USER, user_id: integrated.house.member.id };
    expect(body.user).toEqual(isThere ? user : undefined);
  });

  test('ignores Basic credentials', async () => {
    const stranger = integrated.house.anonymous.as(basic('nobody@nowhere.example', 'x'.repeat(32)));
    expect((await fetchKey({ token: await tokenOfMember() }, stranger)).status).toBe(200);
  });

  test('token is required', async () => {
    expect(await fetchKey({})).toMatchObject(refused('REQUEST_VARIABLE_MISSING', { var_name: 'token' }));
  });

  test.for([
    ['text that is not a token', async (): Promise<string> => 'nonsense'],
    ['a token without the claim email', async (): Promise<string> => integrated.tokenOf({ name: 'member' })],
    [
      'a token signed with another secret',
      async (): Promise<string> => integrated.tokenOf({ email: 'x' }, 'another secret of thirty-two bytes'),
    ],
    ['a token that was modified', async (): Promise<string> => `${await tokenOfMember()}x`],
  ] as const)('rejects %s', async ([, token]) => {
    expect(await fetchKey({ token: await token() })).toMatchObject(refused());
  });

  test('rejects an unknown email address', async () => {
    const { status, body } = await fetchKey({ token: await integrated.tokenOf({ email: 'nobody@nowhere.example' }) });
    expect([status, body]).toEqual([401, failure('AUTHENTICATION_FAILED')]);
  });

  test('rejects requests if no key is configured', async () => {
    const { anonymous } = await createOrganization();
    expect(await fetchKey({ token: await tokenOfMember() }, anonymous)).toMatchObject(refused());
  });

  test.for([
    [{}, undefined],
    [{ unknown: 1 }, ['unknown']],
    [{ zebra: 'z', 'apple[]': 'a', email: 1 }, ['apple[]', 'email', 'zebra']],
  ] as const)('lists the ignored parameters of %j', async ([extra, ignored]) => {
    const { body } = await fetchKey({ token: await tokenOfMember(), ...extra });
    expect([body.result, body.ignored_parameters_unsupported]).toEqual(['success', ignored]);
  });
});
