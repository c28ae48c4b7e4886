import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { basic, Visitor } from '../helpers/person.ts';
import { createOrganization, serverOf } from '../helpers/server.ts';

const VIEWER = '{ viewer { databaseId } }';

/** Returns the status and error code with which REST and GraphQL answer requests with these credentials. */
async function answers(visitor: Visitor) {
  const rest = await visitor.rest('GET', '/users/me');
  const graphql = await visitor.graphql(VIEWER);
  return {
    rest: [rest.status, rest.body.code],
    graphql: [graphql.status, graphql.errors?.[0].extensions.code],
    challenge: [rest.headers['www-authenticate']?.startsWith('Basic '), rest.body.result],
  };
}

describe('credentials', () => {
  test.concurrent('are an address and an API key in both APIs, for users and bots', async () => {
    const { member, bot } = await createOrganization();
    for (const person of [member, bot]) {
      expect((await person.ok('GET', '/users/me')).user_id).toBe(person.id);
      expect((await person.query(VIEWER)).viewer.databaseId).toBe(person.id);
      expect((await person.graphqlOverSocket(VIEWER)).data.viewer.databaseId).toBe(person.id);
    }
  });

  test.concurrent('accept the address in any case, and no placeholder address of another user', async () => {
    const { member, owner } = await createOrganization();
    const upper = member.as(basic(` ${member.email.toUpperCase()} `, member.apiKey));
    expect((await upper.ok('GET', '/users/me')).user_id).toBe(member.id);
    const other = member.as(basic(`user${owner.id}@users.invalid`, member.apiKey));
    expect((await answers(other)).rest).toEqual([401, 'INVALID_API_KEY']);
  });

  test.concurrent('can be the API key alone, as a bearer token, in GraphQL', async () => {
    const { member } = await createOrganization();
    const bearer = member.as(`Bearer ${member.apiKey}`);
    expect((await bearer.graphql(VIEWER)).data.viewer.databaseId).toBe(member.id);
    expect((await bearer.graphqlOverSocket(VIEWER)).data.viewer.databaseId).toBe(member.id);
    expect((await bearer.rest('GET', '/users/me')).body.code).toBe('UNAUTHORIZED');
  });

  test.concurrent('that are missing get 401 UNAUTHORIZED', async () => {
    const { anonymous } = await createOrganization();
    expect(await answers(anonymous)).toMatchObject({ rest: [401, 'UNAUTHORIZED'], challenge: [true, 'error'] });
    expect((await anonymous.graphql(VIEWER)).errors?.[0].extensions.code).toBe('UNAUTHORIZED');
  });

  test.concurrent.for([
    ['no scheme', 'secret'],
    ['an unknown scheme', 'Digest abc'],
    ['no base64', 'Basic %%%'],
    ['no colon', `Basic ${Buffer.from('somebody').toString('base64')}`],
    ['nothing after the scheme', 'Basic '],
  ])('that cannot be parsed (%s) get 401 UNAUTHORIZED', async ([, authorization]) => {
    const { anonymous } = await createOrganization();
    expect(await answers(anonymous.as(authorization))).toEqual({
      rest: [401, 'UNAUTHORIZED'],
      graphql: [401, 'UNAUTHORIZED'],
      challenge: [true, 'error'],
    });
  });

  test.concurrent('that match no account get 401 INVALID_API_KEY, the same for an unknown address and a wrong key', async () => {
    const [{ member, owner }, other] = await Promise.all([createOrganization(), createOrganization()]);
    for (const [address, key] of [
      ['nobody@example.com', member.apiKey],
      [member.email, owner.apiKey],
      [member.email, 'a'.repeat(32)],
      [member.email, ''],
      [member.email, 'no key at all'],
      [member.email, '\0'.repeat(32)],
      [other.member.email, other.member.apiKey],
    ] as const) {
      expect(await answers(member.as(basic(address, key))), `${address}:${key}`).toEqual({
        rest: [401, 'INVALID_API_KEY'],
        graphql: [401, 'INVALID_API_KEY'],
        challenge: [true, 'error'],
      });
    }
  });

  test.concurrent('that are wrong close a socket with 4403', async () => {
    const { member } = await createOrganization();
    const stranger = member.as(basic(member.email, 'a'.repeat(32)));
    await expect(stranger.graphqlOverSocket(VIEWER)).rejects.toMatchObject({ code: 4403 });
  });

  test.concurrent('are checked before every other error of a request', async () => {
    const { anonymous } = await createOrganization();
    expect((await anonymous.rest('POST', '/drafts', { drafts: 'no JSON' })).status).toBe(401);
    expect((await anonymous.rest('GET', '/users/2000000000')).status).toBe(401);
  });

  test.concurrent('end with the key: a new key invalidates the old one immediately and closes its connections', async () => {
    const { member, organization } = await createOrganization();
    await using stream = await member.events('position');
    const { api_key } = (await runCommand(serverOf().dataDir, 'key rotate', {
      org: organization.subdomain,
      user: member.email,
    })) as { api_key: string };
    expect((await answers(member)).rest).toEqual([401, 'INVALID_API_KEY']);
    expect((await answers(member.as(basic(member.email, api_key)))).rest).toEqual([200, undefined]);
    expect(await stream.ended).toMatchObject({ how: 'closed', code: 4403 });
  });
});

describe('the host', () => {
  test.concurrent('selects the organization; an unknown host answers 404', async () => {
    const { member } = await createOrganization();
    for (const host of ['nobody.localhost', 'example.com', 'a.b.localhost']) {
      const lost = new Visitor({ url: member.url, host, authorization: member.authorization });
      const { status, body } = await lost.rest('GET', '/users/me');
      expect([status, body.code], host).toEqual([404, 'NONEXISTENT_SUBDOMAIN']);
    }
  });

  test.concurrent('refuses the API key of another organization', async () => {
    const [{ member }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const stray = new Visitor({ url: member.url, host: other.organization.host, authorization: member.authorization });
    expect((await answers(stray)).rest).toEqual([401, 'INVALID_API_KEY']);
  });
});

describe('POST /fetch_api_key', () => {
  const password = 'correct horse battery';

  test.concurrent('returns the API key for the right password, whatever the case of the address', async () => {
    const { owner, anonymous } = await createOrganization({}, { password });
    const username = ` ${owner.email.toUpperCase()}`;
    expect(await anonymous.ok('POST', '/fetch_api_key', { username, password })).toEqual({
      ...{ result: 'success', msg: '', api_key: owner.apiKey, email: owner.email, user_id: owner.id },
    });
    const { ignored_parameters_unsupported: ignored } = await anonymous.ok('POST', '/fetch_api_key', {
      ...{ username, password, unknown: 1, other: 2 },
    });
    expect(ignored).toEqual(['other', 'unknown']);
  });

  test.concurrent('gives the same answer to a wrong password, an unknown address and an account without a password', async () => {
    const { owner, member, anonymous } = await createOrganization({}, { password });
    const attempts = [
      [owner.email, 'wrong password'],
      ['nobody@example.com', password],
      [member.email, password],
    ];
    for (const [username, attempt] of attempts) {
      const { status, body } = await anonymous.rest('POST', '/fetch_api_key', { username, password: attempt });
      expect([status, body.code]).toEqual([401, 'AUTHENTICATION_FAILED']);
      expect(body).not.toHaveProperty('api_key');
    }
  });

  test.concurrent('refuses further attempts after five failures, even with the right password', async () => {
    const { owner, anonymous } = await createOrganization({}, { password });
    const attempt = (guess: string) =>
      anonymous.rest('POST', '/fetch_api_key', { username: owner.email, password: guess });
    for (let i = 1; i <= 5; i++) expect((await attempt('wrong')).status).toBe(401);
    const { status, body, headers } = await attempt(password);
    expect([status, body.code]).toEqual([429, 'RATE_LIMIT_HIT']);
    expect(body['retry-after']).toBeGreaterThan(0);
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  });

  test.concurrent.for([['username'], ['password']])('requires %s', async ([name = '']) => {
    const { anonymous } = await createOrganization();
    const { body } = await anonymous.rest('POST', '/fetch_api_key', {
      username: 'a',
      password: 'b',
      [name]: undefined,
    });
    expect([body.code, body.var_name]).toEqual(['REQUEST_VARIABLE_MISSING', name]);
  });
});
