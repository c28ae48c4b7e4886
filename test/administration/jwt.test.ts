import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_TOKEN_BYTES } from '../../src/administration/sign-in/jwt.ts';
import { readConfig } from '../../src/platform/config.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { startHttpServer } from '../helpers/http-server.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { RestReply } from '../helpers/person.ts';
import { basic } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// The 53 cases in this file test the rules of RFC 8725.

const SECRET = 'a shared secret of more than 32 bytes';
const OTHER_SECRET = 'another shared secret, of 32 and more';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();
const PUBLIC_KEY = pem(rsa.publicKey);

/** Signing keys and accepted algorithms of the tested organizations, by subdomain. */
const KEYS = {
  plain: { key: SECRET, algorithms: ['HS256'] },
  other: { key: OTHER_SECRET, algorithms: ['HS256'] },
  signed: { key: PUBLIC_KEY, algorithms: ['RS256'] },
  strict: { key: SECRET, algorithms: ['HS256'], issuer: 'https://id.example', audience: 'chat', type: 'chat+jwt' },
  once: { key: SECRET, algorithms: ['HS256'], once: true },
};
type Subdomain = keyof typeof KEYS;

const NOW = Date.UTC(2026, 0, 1) / 1000;
let clock = NOW;
let service: InProcess;
let at: Record<Subdomain, Organization>;

beforeAll(async () => {
  service = await startInProcess({
    env: { JWT_AUTH_KEYS: JSON.stringify(KEYS) },
    now: () => new Date(clock * 1000),
  });
  at = {} as typeof at;
  for (const subdomain of Object.keys(KEYS) as Subdomain[]) {
    at[subdomain] = await createOrganization({}, { on: service, subdomain });
  }
});
afterAll(() => service[Symbol.asyncDispose]());

const encode = (part: object | string | Buffer) =>
  (Buffer.isBuffer(part) ? part : Buffer.from(typeof part === 'string' ? part : JSON.stringify(part))).toString(
    'base64url',
  );

interface Signing {
  readonly secret?: string;
  readonly hash?: string;
  readonly privateKey?: KeyObject;
}

/** Builds a JSON Web Token without a library, because a library would refuse to build invalid tokens. */
function tokenOf(
  claims: object | string | Buffer,
  header: object = {},
  { secret = SECRET, hash = 'sha256', privateKey }: Signing = {},
): string {
  const content = `${encode({ alg: 'HS256', typ: 'JWT', ...header })}.${encode(claims)}`;
  const signature =
    privateKey === undefined
      ? createHmac(hash, secret).update(content).digest()
      : sign('sha256', Buffer.from(content), privateKey);
  return `${content}.${signature.toString('base64url')}`;
}

const offer = (place: Subdomain, token: string, more: object = {}): Promise<RestReply> =>
  at[place].anonymous.rest('POST', '/jwt/fetch_api_key', { token, ...more });

const BAD = [400, 'BAD_REQUEST', 'Bad JSON web token'] as const;
const NO_EMAIL = [400, 'BAD_REQUEST', 'No email specified in JSON web token claims'] as const;
const NOBODY = [401, 'AUTHENTICATION_FAILED'] as const;

async function expectRefused(
  place: Subdomain,
  token: string,
  [status, code, msg]: readonly [number, string, string?] = BAD,
): Promise<void> {
  const reply = await offer(place, token);
  expect([reply.status, reply.body.code]).toEqual([status, code]);
  if (msg !== undefined) expect(reply.body.msg).toBe(msg);
  expect(JSON.stringify(reply.body)).not.toContain(at[place].member.apiKey);
}

async function expectTaken(place: Subdomain, token: string): Promise<void> {
  const { status, body } = await offer(place, token);
  expect([status, body.msg]).toEqual([200, '']);
  expect(body.api_key).toBe(at[place].member.apiKey);
}

const claimsFor = (place: Subdomain, more: object = {}) => ({ email: at[place].member.email, ...more });
const good = (place: Subdomain, more: object = {}, header: object = {}) => tokenOf(claimsFor(place, more), header);
const STRICT = { iss: 'https://id.example', aud: 'chat' };
const strict = (more: object = {}, header: object = { typ: 'chat+jwt' }) =>
  good('strict', { ...STRICT, ...more }, header);
/** Returns a token for the organization "strict" that lacks one claim. */
const strictWithout = (name: string) => strict({ [name]: undefined });

const unsigned = (alg: string) => `${encode({ alg })}.${encode(claimsFor('plain'))}.`;

/** Returns a valid token with one changed bit in the header (0), the claims (1) or the signature (2). */
function flipped(part: number): string {
  const parts = good('plain').split('.');
  const bytes = Buffer.from(parts[part] ?? '', 'base64url');
  bytes[5] = (bytes[5] ?? 0) ^ 1;
  return parts.with(part, bytes.toString('base64url')).join('.');
}

/** Starts a server for public keys that counts the requests it gets. */
async function keyServer() {
  let asked = 0;
  const server = await startHttpServer((_request, response) => {
    asked++;
    response.end('{"keys":[]}');
  });
  return { ...server, asked: () => asked };
}

async function expectNotAsked(header: 'jku' | 'x5u'): Promise<void> {
  await using keys = await keyServer();
  const url = `${keys.url}/keys`;
  await expectTaken('plain', good('plain', {}, { [header]: url }));
  await expectRefused('plain', tokenOf(claimsFor('plain'), { [header]: url }, { secret: OTHER_SECRET }));
  expect(keys.asked()).toBe(0);
}

const refusedAtStart = (entry: object, reason: RegExp) =>
  expect(() => readConfig({ JWT_AUTH_KEYS: JSON.stringify({ acme: entry }) })).toThrow(reason);

async function addUser(place: Subdomain, email: string, more: object = {}) {
  const person = await at[place].signUp(`Person ${randomBytes(4).toString('hex').replaceAll(/\d/g, 'x')}`);
  await service.app.db.user.updateMany({ where: { id: person.id }, data: { email, ...more } });
  return person;
}

type Case = readonly [name: string, run: () => Promise<unknown> | unknown];

const CASES: Readonly<Record<string, readonly Case[]>> = {
  'the algorithm is one of the list': [
    ...['none', 'None', 'NONE', 'nOnE'].map(
      (alg) => [`"${alg}" is refused`, () => expectRefused('plain', unsigned(alg))] as const,
    ),
    [
      'HS256 made with the public key is refused where RS256 is expected',
      () => expectRefused('signed', tokenOf(claimsFor('signed'), {}, { secret: PUBLIC_KEY })),
    ],
    [
      'RS256 is refused where HS256 is expected',
      () => expectRefused('plain', tokenOf(claimsFor('plain'), { alg: 'RS256' }, rsa)),
    ],
    ['an unknown algorithm is refused', () => expectRefused('plain', good('plain', {}, { alg: 'XS256' }))],
    [
      'a good algorithm that is not in the list is refused',
      () => expectRefused('plain', tokenOf(claimsFor('plain'), { alg: 'HS512' }, { hash: 'sha512' })),
    ],
  ],
  'keys are strong, and of their algorithm': [
    [
      'a secret under 32 bytes',
      () => refusedAtStart({ key: 'x'.repeat(31), algorithms: ['HS256'] }, /at least 32 bytes/),
    ],
    [
      'RSA under 2048 bits',
      () => {
        const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
        refusedAtStart({ key: pem(publicKey), algorithms: ['RS256'] }, /at least 2048 bits/);
      },
    ],
    [
      'a key of another kind than its algorithm',
      () => refusedAtStart({ key: PUBLIC_KEY, algorithms: ['RS256', 'HS256'] }, /HS256 needs another type of key/),
    ],
  ],
  'all of the token is checked': [
    ...['header', 'payload', 'signature'].map(
      (part, i) => [`a bit of the ${part} is another`, () => expectRefused('plain', flipped(i))] as const,
    ),
    ['a part is missing', () => expectRefused('plain', good('plain').split('.').slice(0, 2).join('.'))],
    ['there is a part more', () => expectRefused('plain', `${good('plain')}.e30`)],
    ['it is not base64url', () => expectRefused('plain', good('plain').replace('.', '.+/ü'))],
    ['the signature is empty', () => expectRefused('plain', good('plain').replace(/[^.]+$/, ''))],
    ['it is no token at all', () => expectRefused('plain', 'correct horse battery staple')],
  ],
  'the payload is UTF-8, one object, and clear': [
    [
      'bytes that are not UTF-8',
      () => {
        const text = Buffer.from(JSON.stringify({ ...claimsFor('plain'), name: '<>' }));
        return expectRefused('plain', tokenOf(Buffer.from(text.map((byte) => (byte === 0x3c ? 0xff : byte)))));
      },
    ],
    [
      'a claim that is there twice, however it is written',
      async () => {
        const { member, owner } = at.plain;
        const twice = (second: string) =>
          `{"email":"${owner.email}","n":{"a":[{"a":"\\"}{:"}]},"${second}":"${member.email}"}`;
        for (const name of ['email', '\\u0065mail']) await expectRefused('plain', tokenOf(twice(name)));
        await expectTaken('plain', tokenOf(twice('email').replace(`"email":"${owner.email}"`, '"e mail":"email"')));
      },
    ],
    [
      'no object',
      async () => {
        for (const payload of ['[]', 'null', '"text"', '7', '', '{']) await expectRefused('plain', tokenOf(payload));
      },
    ],
  ],
  'issuer and organization': [
    ['a wrong issuer', () => expectRefused('strict', strict({ iss: 'https://evil.example' }))],
    ['no issuer', () => expectRefused('strict', strictWithout('iss'))],
    ['an issuer that begins like the right one', () => expectRefused('strict', strict({ iss: `${STRICT.iss}.evil` }))],
    [
      'a token made with the key of another organization',
      () => expectRefused('plain', tokenOf(claimsFor('plain'), {}, { secret: OTHER_SECRET })),
    ],
  ],
  audience: [
    ['a wrong one', () => expectRefused('strict', strict({ aud: 'mail' }))],
    ['none', () => expectRefused('strict', strictWithout('aud'))],
    [
      'a list: it must be in it',
      async () => {
        await expectTaken('strict', strict({ aud: ['mail', 'chat'] }));
        await expectRefused('strict', strict({ aud: ['mail', 'chats'] }));
      },
    ],
  ],
  'what the header says of keys is not believed': [
    ['a key id that is a path', () => expectTaken('plain', good('plain', {}, { kid: '../../../dev/null' }))],
    ['a key id that is SQL', () => expectTaken('plain', good('plain', {}, { kid: "x' UNION SELECT 'key" }))],
    ['nobody is asked for the keys of "jku"', () => expectNotAsked('jku')],
    ['nobody is asked for the certificate of "x5u"', () => expectNotAsked('x5u')],
    [
      'an extension that must be understood, and is not',
      () => expectRefused('plain', good('plain', {}, { crit: ['b65'], b65: true })),
    ],
  ],
  'tokens of one kind are none of another': [
    [
      'another type than the one expected, or none',
      async () => {
        await expectTaken('strict', strict());
        for (const typ of ['JWT', 'at+jwt', undefined]) await expectRefused('strict', strict({}, { typ }));
      },
    ],
    ['an API key is no web token', () => expectRefused('plain', at.plain.member.apiKey)],
    [
      'a web token is no API key',
      async () => {
        const { anonymous, member } = at.plain;
        const asKey = anonymous.as(basic(member.email, good('plain')));
        expect((await asKey.rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
        const asBearer = await anonymous.as(`Bearer ${good('plain')}`).graphql('{ viewer { id } }');
        expect(asBearer.errors?.[0].extensions.code).toBe('INVALID_API_KEY');
      },
    ],
  ],
  time: [
    ['over', () => expectRefused('plain', good('plain', { exp: NOW - 3600 }))],
    ['not yet', () => expectRefused('plain', good('plain', { nbf: NOW + 3600 }))],
    ['issued in the far future', () => expectRefused('plain', good('plain', { iat: NOW + 3600 }))],
    [
      'clocks that differ by less than a minute',
      async () => {
        for (const times of [{ exp: NOW - 59 }, { nbf: NOW + 59 }, { iat: NOW + 59 }]) {
          await expectTaken('plain', good('plain', times));
        }
      },
    ],
    [
      'clocks that differ by more than a minute',
      async () => {
        for (const times of [{ exp: NOW - 61 }, { nbf: NOW + 61 }, { iat: NOW + 61 }]) {
          await expectRefused('plain', good('plain', times));
        }
      },
    ],
    [
      'the same token again, where each is taken once',
      async () => {
        const token = good('once', { jti: 'one', exp: NOW + 60 });
        await expectTaken('once', token);
        await expectRefused('once', token);
        await expectRefused('once', good('once', { jti: 'one', exp: NOW + 90 }));
        for (const missing of [
          { exp: NOW + 60 },
          { jti: 'two' },
          { jti: '', exp: NOW + 60 },
          { jti: 7, exp: NOW + 60 },
        ]) {
          await expectRefused('once', good('once', missing));
        }
      },
    ],
  ],
  'the e-mail address': [
    ['is missing', () => expectRefused('plain', tokenOf({ sub: 'somebody' }), NO_EMAIL)],
    ['is a number', () => expectRefused('plain', tokenOf({ email: 7 }), NO_EMAIL)],
    ['is in upper case', () => expectTaken('plain', tokenOf({ email: at.plain.member.email.toUpperCase() }))],
    [
      'has a domain beyond ASCII: as it is stored, and nobody who only looks like it',
      async () => {
        const person = await addUser('plain', 'zoe@bücher.example');
        expect((await offer('plain', tokenOf({ email: 'zoe@bücher.example' }))).body.api_key).toBe(person.apiKey);
        // The domain contains a Cyrillic "е" instead of a Latin "e".
        await expectRefused('plain', tokenOf({ email: 'zoe@büchеr.example' }), NOBODY);
      },
    ],
    [
      'is of a deactivated user',
      async () => {
        await addUser('plain', 'gone@acme.example', { isActive: false });
        await expectRefused('plain', tokenOf({ email: 'gone@acme.example' }), [401, 'USER_DEACTIVATED']);
      },
    ],
    ['is of a bot', () => expectRefused('plain', tokenOf({ email: at.plain.bot.email }), NOBODY)],
    [
      'is of a user of another organization',
      () => expectRefused('plain', tokenOf({ email: at.other.member.email }), NOBODY),
    ],
    [
      'is of a deleted user',
      async () => {
        await addUser('plain', 'deleted@acme.example', { isActive: false, isDeleted: true });
        await expectRefused('plain', tokenOf({ email: 'deleted@acme.example' }), [401, 'USER_DEACTIVATED']);
      },
    ],
  ],
  size: [
    [
      '8 KiB and no more',
      async () => {
        const pad = (length: number) => good('plain', { pad: 'x'.repeat(length) });
        const longest = Math.floor((MAX_TOKEN_BYTES - pad(0).length) * 0.75);
        expect(MAX_TOKEN_BYTES).toBe(8192);
        await expectTaken('plain', pad(longest - 3));
        await expectRefused('plain', pad(longest + 3));
      },
    ],
    [
      'JSON that is thousands deep',
      async () => {
        const deep = `${'['.repeat(2500)}${']'.repeat(2500)}`;
        await expectTaken('plain', tokenOf(`{"email":"${at.plain.member.email}","deep":${deep}}`));
        await expectRefused('plain', tokenOf(`{"email":${deep}}`), NO_EMAIL);
        await expectRefused('plain', tokenOf(`{"email":${'{"a":'.repeat(1000)}`));
      },
    ],
  ],
};

describe.for(Object.entries(CASES))('%s', ([, cases]) => {
  test.for(cases)('%s', async ([, run]) => {
    await run();
  });
});

/** Known attacks that the rules of RFC 8725 do not cover. */
test.for<Case>([
  [
    'a key in the header itself',
    () => {
      const jwk = { kty: 'oct', k: Buffer.from(OTHER_SECRET).toString('base64url') };
      return expectRefused('plain', tokenOf(claimsFor('plain'), { jwk }, { secret: OTHER_SECRET }));
    },
  ],
  [
    'an empty key, by an id that leads to none',
    () => expectRefused('plain', tokenOf(claimsFor('plain'), { kid: '' }, { secret: '' })),
  ],
  ['a payload that is not encoded', () => expectRefused('plain', good('plain', {}, { crit: ['b64'], b64: false }))],
  ['an encrypted token', () => expectRefused('plain', `${encode({ alg: 'dir', enc: 'A128GCM' })}..AAAA.AAAA.AAAA`)],
  [
    'a token in JSON',
    () => {
      const [header, payload, signature] = good('plain').split('.');
      return expectRefused('plain', JSON.stringify({ protected: header, payload, signature }));
    },
  ],
  [
    'space, or padding, around it',
    async () => {
      for (const token of [` ${good('plain')}`, `${good('plain')}=`, `${good('plain')}\n`])
        await expectRefused('plain', token);
    },
  ],
  [
    'times that are no numbers',
    async () => {
      for (const exp of ['9999999999', [NOW + 60], {}, true]) await expectRefused('plain', good('plain', { exp }));
      await expectRefused('plain', tokenOf(`{"email":"${at.plain.member.email}","nbf":1e999}`));
    },
  ],
  [
    'times beyond any calendar, where each token is taken once',
    () => expectTaken('once', good('once', { jti: 'far', exp: 1e300 })),
  ],
  [
    'generated addresses',
    async () => {
      for (const email of [
        `user${at.plain.member.id}@users.invalid`,
        'notification-bot@system.invalid',
        `${at.plain.member.email}\0`,
        '%',
        '_@t%',
      ]) {
        await expectRefused('plain', tokenOf({ email }), NOBODY);
      }
    },
  ],
  [
    'addresses in a list or an object',
    async () => {
      for (const email of [[at.plain.member.email], { toString: at.plain.member.email }, '', null]) {
        await expectRefused('plain', tokenOf({ email }), NO_EMAIL);
      }
    },
  ],
  [
    'the signature of another payload',
    () => {
      const [header, , signature] = good('plain').split('.');
      return expectRefused('plain', `${header}.${encode(claimsFor('plain', { admin: true }))}.${signature}`);
    },
  ],
])('also checks: %s', async ([, run]) => {
  await run();
});

test('the number of cases matches the rules', () => {
  const counts = Object.values(CASES).map(({ length }) => length);
  expect(counts).toEqual([8, 3, 8, 3, 4, 3, 5, 3, 6, 8, 2]);
  expect(counts.reduce((a, b) => a + b)).toBe(53);
});

describe('POST /jwt/fetch_api_key', () => {
  test('returns the API key and the address in both APIs, and the user on request', async () => {
    const { member, anonymous } = at.signed;
    const token = tokenOf(claimsFor('signed'), { alg: 'RS256' }, rsa);
    const { body } = await offer('signed', token);
    expect(body).toEqual({ result: 'success', msg: '', api_key: member.apiKey, email: member.email });
    const { user } = (await offer('signed', token, { include_profile: true })).body;
    const { profile_data: _, ...asMember } = (await member.ok('GET', `/users/${member.id}`, { client_gravatar: false }))
      .user;
    expect(user).toEqual(asMember);
    expect(user.avatar_url).toEqual(expect.stringContaining('/avatar/'));
    const payload = await graphql(token, anonymous);
    expect(payload).toEqual({
      __typename: 'FetchApiKeyByJwtPayload',
      ...{ apiKey: member.apiKey, email: member.email, userId: globalId('User', member.id) },
    });
    expect(await graphql('nonsense', anonymous)).toMatchObject({ code: 'BAD_REQUEST', message: 'Bad JSON web token' });
    const where = { organizationId: at.signed.organization.id, actorId: member.id, action: 'signed_in' };
    const { details } = await service.app.db.auditLogEntry.findFirstOrThrow({ where, orderBy: { id: 'desc' } });
    expect(details).toEqual({ credential: { new: 'api_key' }, method: { new: 'web token' } });
  });

  async function graphql(token: string, visitor: Organization['anonymous']): Promise<Json> {
    const query = `mutation ($input: FetchApiKeyByJwtInput!) { fetchApiKeyByJwt(input: $input) { __typename
      ... on FetchApiKeyByJwtPayload { apiKey email userId }
      ... on ServiceError { code message } } }`;
    return (await visitor.graphql(query, { input: { token } })).data.fetchApiKeyByJwt;
  }

  test('refuses in the documented order: host, configuration, an empty token, signature, claims, account', async () => {
    const { anonymous } = at.plain;
    const post = (token?: string, host = anonymous.host) =>
      anonymous.rest('POST', '/jwt/fetch_api_key', { token }, { headers: { host } });
    const told = async (reply: Promise<RestReply>) => {
      const { status, body } = await reply;
      return [status, body.code, body.msg];
    };
    const port = anonymous.host.split(':')[1];
    expect((await post('', `nobody.localhost:${port}`)).body.code).toBe('NONEXISTENT_SUBDOMAIN');
    expect((await post('', `127.0.0.1:${port}`)).body.code).toBe('NONEXISTENT_SUBDOMAIN');
    const unconfigured = await createOrganization({}, { on: service });
    expect(await told(post('', unconfigured.organization.host))).toEqual([
      ...[400, 'BAD_REQUEST', 'JWT authentication is not enabled for this organization'],
    ]);
    expect((await post()).body.code).toBe('REQUEST_VARIABLE_MISSING');
    expect(await told(post(''))).toEqual([400, 'BAD_REQUEST', 'No JSON web token passed in request']);
    expect(await told(post(tokenOf({}, {}, { secret: OTHER_SECRET })))).toEqual(BAD);
    expect(await told(post(tokenOf({})))).toEqual(NO_EMAIL);
    expect((await post(tokenOf({ email: 'nobody@acme.example' }))).body.code).toBe('AUTHENTICATION_FAILED');
  });

  test('refuses an address that only looks like that of an account', async () => {
    const { anonymous, organization } = at.signed;
    const { db } = service.app;
    const email = 'kate@kelvin.example';
    const { member } = at.signed;
    const where = { organizationId_id: { organizationId: organization.id, id: member.id } };
    await db.user.update({ where, data: { email: email.toUpperCase() } });
    const offered = async (claim: string) =>
      (await graphql(tokenOf({ email: claim }, { alg: 'RS256' }, rsa), anonymous)).code;
    expect(await offered(email.replace('k', '\u212A'))).toBe('AUTHENTICATION_FAILED');
    expect(await offered(email.replace('@k', '@\u212A'))).toBe('AUTHENTICATION_FAILED');
    expect(await offered(` ${email} `)).toBeUndefined();
    await db.user.update({ where, data: { email: member.email } });
  });

  test('answers 401 for a deactivated organization', async () => {
    const { db } = service.app;
    const where = { id: at.other.organization.id };
    await db.organization.update({ where, data: { deactivatedAt: new Date() } });
    const token = tokenOf(claimsFor('other'), {}, { secret: OTHER_SECRET });
    expect((await offer('other', token)).body.code).toBe('REALM_DEACTIVATED');
    await db.organization.update({ where, data: { deactivatedAt: null } });
    await expectTaken('other', token);
  });

  test('counts as a sign-in: the first one of an imported stub sends two events and changes the date', async () => {
    const { owner } = at.plain;
    const stub = await addUser('plain', 'stub@acme.example', { isImportedStub: true });
    const heard = await owner.receiving({ event_types: ['realm_user'] });
    clock += 86_400;
    const token = tokenOf({ email: 'stub@acme.example' });
    const { user } = (await offer('plain', token, { include_profile: true })).body;
    expect(user).toMatchObject({ is_imported_stub: false, date_joined: '2026-01-02T00:00+00:00' });
    await offer('plain', token);
    clock = NOW;
    expect(await heard()).toEqual([
      { type: 'realm_user', op: 'update', person: { user_id: stub.id, is_imported_stub: false } },
      { type: 'realm_user', op: 'update', person: { user_id: stub.id, date_joined: '2026-01-02T00:00+00:00' } },
    ]);
  });

  test('accepts a token once among concurrent requests, and deletes its record after it expires', async () => {
    const token = good('once', { jti: 'many', exp: NOW + 60 });
    const replies = await Promise.all(Array.from({ length: 10 }, () => offer('once', token)));
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 400)]);
    const organizationId = at.once.organization.id;
    const kept = () =>
      service.app.db.usedToken.count({ where: { organizationId, expiresAt: { lt: new Date((NOW + 200) * 1000) } } });
    expect(await kept()).toBeGreaterThan(0);
    clock = NOW + 600;
    // A token for an account that cannot sign in is not marked as used, so it works after the account is reactivated.
    const { id } = await addUser('once', 'late@acme.example', { isActive: false });
    const late = tokenOf({ email: 'late@acme.example', jti: 'late', exp: NOW + 900 });
    expect((await offer('once', late)).body.code).toBe('USER_DEACTIVATED');
    await service.app.db.user.updateMany({ where: { id }, data: { isActive: true } });
    expect((await offer('once', late)).status).toBe(200);
    expect(await kept()).toBe(0);
    clock = NOW;
  });
});

describe('JWT_AUTH_KEYS', () => {
  const ec = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const ed = generateKeyPairSync('ed25519');
  const privatePem = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

  test.for([
    ['the algorithm "none"', { key: SECRET, algorithms: ['none'] }, /"none" is not supported/],
    ['an unknown algorithm', { key: SECRET, algorithms: ['HS257'] }, /"HS257" is not supported/],
    ['the name of something else', { key: SECRET, algorithms: ['constructor'] }, /is not supported/],
    ['no algorithm', { key: SECRET, algorithms: [] }, /acme.algorithms: Too small/],
    ['a secret for RS256', { key: SECRET, algorithms: ['RS256'] }, /RS256 needs another type of key/],
    ['a secret of 32 bytes for HS512', { key: 'x'.repeat(32), algorithms: ['HS512'] }, /at least 64 bytes/],
    ['a private key', { key: privatePem, algorithms: ['RS256'] }, /must be a public key/],
    ['a broken PEM', { key: '-----BEGIN PUBLIC KEY-----\nx', algorithms: ['RS256'] }, /contains no public key/],
    ['a key on another curve', { key: pem(ec.publicKey), algorithms: ['ES384'] }, /on another curve/],
    ['an unknown field', { key: SECRET, algorithms: ['HS256'], jwksUri: 'x' }, /jwksUri/],
  ] as const)('refuses %s at the start', ([, entry, reason]) => refusedAtStart(entry, reason));

  test('an error names the variable, and contains no key', () => {
    const failure = (text: string) => {
      try {
        readConfig({ JWT_AUTH_KEYS: text });
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    expect(failure('{')).toBe('JWT_AUTH_KEYS: is not valid JSON');
    expect(failure(JSON.stringify({ 'no.subdomain': { key: SECRET, algorithms: ['HS256'] } }))).toMatch(
      /"no.subdomain" is not a valid subdomain/,
    );
    expect(failure(JSON.stringify({ acme: { key: SECRET, algorithms: ['none'] } }))).not.toContain(SECRET);
  });

  test('accepts keys of every kind', () => {
    const keys = {
      '': { key: 'x'.repeat(64), algorithms: ['HS256', 'HS384', 'HS512'] },
      rsa: { key: PUBLIC_KEY, algorithms: ['RS256', 'PS512'] },
      ec: { key: pem(ec.publicKey), algorithms: ['ES256'] },
      ed: { key: pem(ed.publicKey), algorithms: ['EdDSA'] },
    };
    expect([...readConfig({ JWT_AUTH_KEYS: JSON.stringify(keys) }).jwtKeys.keys()]).toEqual(['', 'rsa', 'ec', 'ed']);
    expect(readConfig({}).jwtKeys.size).toBe(0);
  });
});
