import { createDecipheriv, randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeyVault, loadSecretKey } from '../../src/platform/key-vault.ts';
import { runCommand } from '../../src/server/operator/control.ts';
import { renewSealed, reseal } from '../../src/server/secret-key.ts';
import { Authenticator } from '../helpers/authenticator.ts';
import { signInBrowser } from '../helpers/credentials.ts';
import { EventStream } from '../helpers/events.ts';
import { globalId, numberOf } from '../helpers/global-ids.ts';
import { type Json, send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person, Visitor } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const STEP = 30_000;
const MINUTE = 60_000;
const WRONG = { code: 'BAD_REQUEST', message: 'Wrong code!' };
const EXPIRED = { code: 'BAD_REQUEST', message: 'This sign-in has expired. Enter your password again.' };

let clock = Date.now();
let service: InProcess;
beforeAll(async () => {
  service = await startOnDatabaseOfRun({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });

/** Returns the code of an authenticator app. */
const codeOf = (secret: string, at = clock): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at });

/** Runs a mutation, and returns its result. */
async function attempt(by: Visitor, field: string, input: Parameters, selection = ''): Promise<Json> {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}`;
  const document = `mutation ($input: ${type}Input!) { ${field}(input: $input) { __typename
    ... on ServiceError { code message } ${selection} } }`;
  const { data, errors } = await by.graphql(document, { input });
  return data?.[field] ?? errors?.[0];
}

/** Adds an authenticator app. @returns Its secret and the recovery codes. */
async function enrolled(person: Person): Promise<{ secret: string; recoveryCodes: string[] }> {
  const { secret } = await person.mutate('beginSecondFactor', {}, 'secret');
  const { recoveryCodes } = await person.mutate('confirmSecondFactor', { code: codeOf(secret) }, 'recoveryCodes');
  clock += STEP;
  return { secret, recoveryCodes };
}

const CHALLENGE = '... on SecondFactorRequiredError { challenge mustEnroll }';

/** Makes the first step of a sign-in. */
const firstStep = ({ anonymous }: Place, { email }: Person, password = OWNER_PASSWORD): Promise<Json> =>
  attempt(anonymous, 'signIn', { username: email, password }, CHALLENGE);
type Place = Awaited<ReturnType<typeof place>>;

const RECOVERY = '... on CompleteSignInPayload { recoveryCodes userId }';
const secondStep = ({ anonymous }: Place, challenge: string, code: string): Promise<Json> =>
  attempt(anonymous, 'completeSignIn', { challenge, proof: { code } }, RECOVERY);

/** Makes both steps of a sign-in. */
async function signIn(at: Place, person: Person, code: string): Promise<Json> {
  const { challenge } = await firstStep(at, person);
  return secondStep(at, challenge, code);
}

const organizationOf = async ({ owner }: Place): Promise<number> =>
  numberOf((await owner.query('{ organization { id } }')).organization.id);
const actionsOf = async (at: Place): Promise<string[]> => {
  const where = { organizationId: await organizationOf(at) };
  const entries = await service.app.db.auditLogEntry.findMany({ where, orderBy: { id: 'asc' } });
  return entries.map(({ action }) => action);
};
const mailsTo = async ({ email }: Person): Promise<string> =>
  (await service.app.db.outgoingMail.findMany({ where: { recipient: email } })).map(({ body }) => body).join('\n');

describe('the list of users', () => {
  const QUERY = `query ($hasSecondFactor: Boolean, $role: UserRole, $isBot: Boolean, $isActive: Boolean, $after: String) {
    users(first: 2, after: $after, hasSecondFactor: $hasSecondFactor, role: $role, isBot: $isBot, isActive: $isActive) {
      totalCount nodes { databaseId hasSecondFactor } pageInfo { hasNextPage endCursor }
    } }`;
  /** Returns the values of all users in the list, by user id. */
  async function listed(by: Person, filter: Parameters = {}): Promise<Record<number, boolean | null>> {
    const found: Record<number, boolean | null> = {};
    for (let after: string | null = null; ; ) {
      const { data, errors } = await by.graphql(QUERY, { ...filter, after });
      expect(errors).toBeUndefined();
      for (const { databaseId, hasSecondFactor } of data.users.nodes) found[databaseId] = hasSecondFactor;
      if (!data.users.pageInfo.hasNextPage) {
        expect(Object.keys(found)).toHaveLength(data.users.totalCount);
        return found;
      }
      after = data.users.pageInfo.endCursor;
    }
  }

  test('shows administrators who has a second factor, of owners only owners, and others only the own', async () => {
    const { owner, administrator, moderator, member, guest, bot } = await place();
    for (const person of [owner, member]) await enrolled(person);
    // An app that is not confirmed does not count, and a passkey does.
    await moderator.mutate('beginSecondFactor', {}, 'secret');
    const { options } = await guest.mutate('beginPasskey', {}, 'options');
    await guest.mutate(
      'addPasskey',
      { name: 'Phone', response: new Authenticator(`http://${guest.host}`).create(options) },
      'recoveryCodes',
    );
    const people = { [owner.id]: true, [administrator.id]: false, [moderator.id]: false, [member.id]: true };
    const all = { ...people, [guest.id]: true, [bot.id]: null };
    expect(await listed(owner)).toEqual(all);
    expect(await listed(administrator)).toEqual({ ...all, [owner.id]: null });
    const unknown = Object.fromEntries(Object.keys(all).map((id) => [id, null]));
    for (const person of [moderator, member, guest])
      expect(await listed(person)).toEqual({ ...unknown, [person.id]: all[person.id] });
    expect(await listed(bot)).toEqual(unknown);
  });

  test('is filtered by second factor for administrators, with other filters and in pages', async () => {
    const { owner, administrator, moderator, member, guest, bot } = await place();
    for (const person of [owner, member, guest]) await enrolled(person);
    const idsOf = async (by: Person, filter: Parameters) => Object.keys(await listed(by, filter)).map(Number);
    const sorted = (...people: Person[]) => people.map(({ id }) => id).sort((a, b) => a - b);
    expect(await idsOf(owner, { hasSecondFactor: true })).toEqual(sorted(owner, member, guest));
    expect(await idsOf(owner, { hasSecondFactor: false })).toEqual(sorted(administrator, moderator));
    expect(await idsOf(administrator, { hasSecondFactor: true })).toEqual(sorted(member, guest));
    expect(await idsOf(administrator, { hasSecondFactor: false })).toEqual(sorted(administrator, moderator));
    expect(await idsOf(administrator, { hasSecondFactor: true, role: 'OWNER' })).toEqual([]);
    expect(await idsOf(owner, { hasSecondFactor: true, role: 'GUEST', isActive: true })).toEqual([guest.id]);
    expect(await idsOf(owner, { hasSecondFactor: false, isBot: true })).toEqual([]);
    expect(await idsOf(owner, { hasSecondFactor: null, isBot: true })).toEqual([bot.id]);
    await owner.ok('DELETE', `/users/${moderator.id}`);
    expect(await idsOf(owner, { hasSecondFactor: false, isActive: true })).toEqual([administrator.id]);
    // Other organizations are not in the list, and do not change it.
    const other = await place();
    expect(await idsOf(other.owner, { hasSecondFactor: true })).toEqual([]);
    for (const person of [member, guest, bot]) {
      for (const hasSecondFactor of [true, false]) {
        const { errors, data } = await person.graphql(QUERY, { hasSecondFactor });
        expect([errors?.[0]?.['extensions'].code, data?.users ?? null]).toEqual(['UNAUTHORIZED_PRINCIPAL', null]);
      }
    }
  });

  test('changes with an event to the person and to administrators. Only owners receive the events of owners', async () => {
    const { owner, administrator, moderator, member } = await place();
    const clients = [owner, administrator, moderator, member];
    const receiving = await Promise.all(
      clients.map((one) => one.receiving({ event_types: ['second_factor_changed'] })),
    );
    const { secret } = await enrolled(member);
    // Later changes that leave the person with a second factor are events of the person only.
    const proof = () => {
      clock += STEP;
      return { proof: { code: codeOf(secret) } };
    };
    await member.mutate('replaceRecoveryCodes', proof(), 'recoveryCodes');
    const { options } = await member.mutate('beginPasskey', proof(), 'options');
    const response = new Authenticator(`http://${member.host}`).create(options);
    const { passkey } = await member.mutate('addPasskey', { name: 'Phone', response }, 'passkey { credentialId }');
    const { credentialId } = passkey;
    await member.mutate('renamePasskey', { credentialId, name: 'Tablet' }, 'passkey { name }');
    await member.mutate('removePasskey', { credentialId, ...proof() }, 'credentialId');
    await owner.mutate('resetSecondFactor', { userId: globalId('User', member.id) }, 'user { id }');
    await enrolled(owner);
    const received = await Promise.all(receiving.map(async (read) => (await read()).map((event) => event['user_id'])));
    const ofMember = [member.id, member.id];
    expect(received).toEqual([[...ofMember, owner.id], ofMember, [], Array(6).fill(member.id)]);
    expect((await listed(owner))[member.id]).toBe(false);
  });
});

test('a change of second factors makes `ownSecondFactor` outdated for the person only', async () => {
  const { owner, member } = await place();
  const streams = await Promise.all(
    [owner, member].map(async (one) => {
      const { queue_id: queueId } = (await one.register({ fetch_event_types: [] })) as Json;
      return EventStream.open(one, '... on SecondFactorChangedEvent { outdated { typeName fields } }', { queueId });
    }),
  );
  await enrolled(member);
  const ofUser = { typeName: 'User', fields: ['hasSecondFactor'] };
  const own = { typeName: 'Query', fields: ['ownSecondFactor'] };
  const received = await Promise.all(streams.map(async (stream) => ((await stream.next()) as Json).outdated));
  for (const stream of streams) await stream[Symbol.asyncDispose]();
  expect(received).toEqual([[ofUser], [own, ofUser]]);
});

test('an event of the role makes outdated what only owners see of owners', async () => {
  const { owner, administrator, member } = await place();
  await enrolled(member);
  await member.mutate('createApiKey', { name: 'Backup', scopes: ['READ'] }, 'apiKey { id }');
  const id = globalId('User', member.id);
  const shown = async () => {
    const fields = 'hasSecondFactor viewerCanDeactivate apiKeys { nodes { name } }';
    return (await administrator.query(`query ($id: ID!) { user(by: { id: $id }) { ${fields} } }`, { id })).user;
  };
  const { queue_id: queueId } = (await administrator.register({ fetch_event_types: [] })) as Json;
  await using stream = await EventStream.open(administrator, 'outdated { typeName objectId fields }', { queueId });
  const before = await shown();
  expect(before).toEqual({
    hasSecondFactor: true,
    viewerCanDeactivate: true,
    apiKeys: { nodes: [{ name: 'Backup' }] },
  });
  for (const [role, expected] of [
    ['OWNER', { hasSecondFactor: null, viewerCanDeactivate: false, apiKeys: { nodes: [] } }],
    ['MEMBER', before],
  ] as const) {
    await owner.mutate('updateUser', { userId: id, role }, 'user { id }');
    expect(await shown()).toEqual(expected);
    let outdated: Json[] = [];
    while (!outdated.some(({ typeName }) => typeName === 'User')) outdated = (await stream.next()).outdated;
    const ofUser = outdated.filter(({ typeName, objectId }) => typeName === 'User' && objectId === id);
    expect(ofUser).toHaveLength(1);
    expect(ofUser[0].fields).toEqual(expect.arrayContaining([...Object.keys(expected), 'sessions']));
  }
});

test('the use of a recovery code notifies all clients of the person, and no other user', async () => {
  const at = await place();
  const { owner, administrator } = at;
  const member = await at.signUp('Ada', 'member', OWNER_PASSWORD);
  const { recoveryCodes } = await enrolled(member);
  const polled = await Promise.all(
    [owner, administrator, member].map((one) => one.receiving({ event_types: ['second_factor_changed'] })),
  );
  const { queue_id: queueId } = (await member.register({ fetch_event_types: [] })) as Json;
  await using stream = await EventStream.open(
    member,
    '... on SecondFactorChangedEvent { user { id } outdated { typeName fields } }',
    { queueId },
  );
  const left = async () => (await member.query('{ ownSecondFactor { recoveryCodesLeft } }')).ownSecondFactor;
  expect((await signIn(at, member, recoveryCodes[0] ?? '')).__typename).toBe('CompleteSignInPayload');
  expect(await stream.next()).toMatchObject({
    user: { id: globalId('User', member.id) },
    outdated: expect.arrayContaining([{ typeName: 'Query', fields: ['ownSecondFactor'] }]),
  });
  expect(await left()).toEqual({ recoveryCodesLeft: 9 });
  // A code that is refused changes nothing.
  expect(await signIn(at, member, recoveryCodes[0] ?? '')).toMatchObject(WRONG);
  // A change of the second factors that a recovery code proves has an event of its own.
  await member.mutate('beginPasskey', { proof: { code: recoveryCodes[1] } }, 'options');
  expect(await left()).toEqual({ recoveryCodesLeft: 8 });
  const received = await Promise.all(polled.map(async (read) => (await read()).map((event) => event['user_id'])));
  expect(received).toEqual([[], [], [member.id, member.id]]);
});

describe('an authenticator app', () => {
  test('takes effect with a code, is sealed, and makes the password insufficient', async () => {
    const at = await place();
    const { owner, anonymous } = at;
    const events = await owner.receiving({ event_types: ['second_factor_changed'] });
    const { secret, uri } = await owner.mutate('beginSecondFactor', {}, 'secret uri');
    expect(uri).toMatch(/^otpauth:\/\/totp\/.*secret=[A-Z2-7]{32}.*&period=30/);
    expect(uri).toContain(secret);
    // Until then, the password is sufficient.
    expect((await firstStep(at, owner)).__typename).toBe('SignInPayload');
    expect(await attempt(owner, 'confirmSecondFactor', { code: '000000' })).toMatchObject(WRONG);
    const { recoveryCodes } = await owner.mutate('confirmSecondFactor', { code: codeOf(secret) }, 'recoveryCodes');
    expect(new Set(recoveryCodes).size).toBe(10);
    const rows = JSON.stringify(
      await service.app.db.$queryRaw`
        SELECT f::text AS factor, (SELECT string_agg(r::text, ' ') FROM recovery_code r WHERE r.user_id = ${owner.id}) AS codes
        FROM second_factor f WHERE f.user_id = ${owner.id}`,
    );
    for (const shown of [secret, recoveryCodes[0], Buffer.from(secret).toString('hex')])
      expect(rows).not.toContain(shown);
    clock += STEP;
    const first = await firstStep(at, owner);
    expect(first).toMatchObject({ __typename: 'SecondFactorRequiredError', mustEnroll: false });
    expect(await secondStep(at, first.challenge, codeOf(secret))).toMatchObject({
      __typename: 'CompleteSignInPayload',
      userId: globalId('User', owner.id),
      recoveryCodes: null,
    });
    const login = { username: owner.email, password: OWNER_PASSWORD };
    const rest = await anonymous.rest('POST', '/fetch_api_key', login);
    expect([rest.status, rest.body.code]).toEqual([401, 'PASSWORD_AUTH_DISABLED']);
    expect((await attempt(anonymous, 'fetchApiKey', login)).__typename).toBe('PasswordAuthDisabledError');
    // API keys keep working.
    expect(await owner.query('{ ownSecondFactor { recoveryCodesLeft isRequired } }')).toEqual({
      ownSecondFactor: { recoveryCodesLeft: 10, isRequired: false },
    });
    expect(await actionsOf(at)).toContain('second_factor_added');
    expect(await mailsTo(owner)).toContain('an authenticator app was added');
    expect(await events()).toHaveLength(1);
  });

  test('is accepted over REST, and the session begins with the second step only', async () => {
    const at = await place();
    const { owner } = at;
    const { secret } = await enrolled(owner);
    const post = (path: string, form: Record<string, string>) =>
      send(service.url, {
        ...{ method: 'POST', path: `/api/v1${path}`, body: new URLSearchParams(form).toString() },
        headers: { host: owner.host, 'content-type': 'application/x-www-form-urlencoded' },
      });
    const first = await post('/sessions', { username: owner.email, password: OWNER_PASSWORD });
    const { challenge, ...body } = JSON.parse(first.text);
    expect([first.status, body.code, body.must_enroll]).toEqual([403, 'SECOND_FACTOR_REQUIRED', false]);
    expect(first.headers['set-cookie']).toBeUndefined();
    const second = await post('/sessions/second_factor', { challenge, code: codeOf(secret) });
    expect([second.status, second.headers['set-cookie']?.length]).toEqual([200, 1]);
    const cookie = second.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const me = await send(service.url, {
      method: 'GET',
      path: '/api/v1/users/me',
      headers: { host: owner.host, cookie },
    });
    expect(JSON.parse(me.text).user_id).toBe(owner.id);
    // The challenge does not authenticate requests.
    const skipped = await send(service.url, {
      ...{
        method: 'GET',
        path: '/api/v1/users/me',
        headers: { host: owner.host, cookie: cookie.replace(/=.*/, `=${challenge}`) },
      },
    });
    expect(skipped.status).toBe(401);
  });

  test('is removed with a code, and reset by an administrator', async () => {
    const at = await place();
    const { owner, administrator, member } = at;
    const { secret, recoveryCodes } = await enrolled(owner);
    expect(await attempt(owner, 'beginSecondFactor', {})).toMatchObject({ __typename: 'ConflictError' });
    expect(await attempt(owner, 'removeSecondFactor', { proof: { code: '000000' } })).toMatchObject(WRONG);
    const replaced = await owner.mutate('replaceRecoveryCodes', { proof: { code: codeOf(secret) } }, 'recoveryCodes');
    expect(await mailsTo(owner)).toContain('recovery codes of your second factor were replaced');
    expect(replaced.recoveryCodes).not.toContain(recoveryCodes[0]);
    clock += STEP;
    await owner.mutate('removeSecondFactor', { proof: { code: codeOf(secret) } }, '__typename');
    expect((await firstStep(at, owner)).__typename).toBe('SignInPayload');
    await enrolled(member);
    await enrolled(owner);
    expect(await attempt(member, 'resetSecondFactor', { userId: globalId('User', owner.id) })).toMatchObject({
      code: 'UNAUTHORIZED_PRINCIPAL',
    });
    expect(await attempt(administrator, 'resetSecondFactor', { userId: globalId('User', owner.id) })).toMatchObject({
      code: 'UNAUTHORIZED_PRINCIPAL',
    });
    expect(await attempt(owner, 'resetSecondFactor', { userId: globalId('User', owner.id) })).toMatchObject({
      message: 'Remove your own second factor with a code.',
    });
    await administrator.mutate('resetSecondFactor', { userId: globalId('User', member.id) }, 'user { id }');
    expect(await mailsTo(member)).toContain('an administrator removed your second factors');
    const { db } = service.app;
    expect(await db.recoveryCode.count({ where: { userId: member.id } })).toBe(0);
    const args = { org: at.organization.subdomain, user: owner.email };
    expect(await runCommand(service.app, 'user reset-second-factor', args)).toMatchObject({ user_id: owner.id });
    expect(await mailsTo(owner)).toContain('the operator of the server removed your second factors');
    const resets = await db.auditLogEntry.findMany({
      where: { organizationId: await organizationOf(at), action: 'second_factor_reset' },
      orderBy: { id: 'asc' },
    });
    expect(resets.map(({ actorKind, objectId }) => [actorKind, objectId])).toEqual([
      ['user', member.id],
      ['operator', owner.id],
    ]);
    const actions = ['recovery_codes_replaced', 'second_factor_removed', 'second_factor_reset'];
    expect(await actionsOf(at)).toEqual(expect.arrayContaining(actions));
  });

  test('is not for bots, and is erased with its user', async () => {
    const { owner, bot, member } = await place();
    expect(await attempt(bot, 'beginSecondFactor', {})).toMatchObject({ __typename: 'ForbiddenError' });
    await enrolled(member);
    await owner.ok('DELETE', `/users/${member.id}`, { actions: { delete_profile: true } });
    const where = { userId: member.id };
    const { db } = service.app;
    expect([await db.secondFactor.count({ where }), await db.recoveryCode.count({ where })]).toEqual([0, 0]);
  });
});

describe('attacks', () => {
  test('a code is accepted once, even in parallel requests, and earlier codes are refused', async () => {
    const at = await place();
    const { owner } = at;
    const { secret } = await enrolled(owner);
    const code = codeOf(secret);
    const challenges = await Promise.all(Array.from({ length: 4 }, () => firstStep(at, owner)));
    const results = await Promise.all(challenges.map(({ challenge }) => secondStep(at, challenge, code)));
    expect(results.filter(({ __typename }) => __typename === 'CompleteSignInPayload')).toHaveLength(1);
    expect(results.filter(({ message }) => message === 'Wrong code!')).toHaveLength(3);
    clock += 10;
    expect(await signIn(at, owner, codeOf(secret, clock - STEP))).toMatchObject(WRONG);
    clock += STEP;
    expect((await signIn(at, owner, codeOf(secret))).__typename).toBe('CompleteSignInPayload');
    // The code of enrollment is used as well.
    const { secret: other } = await at.member.mutate('beginSecondFactor', {}, 'secret');
    await at.member.mutate('confirmSecondFactor', { code: codeOf(other) }, '__typename');
    expect(await attempt(at.member, 'removeSecondFactor', { proof: { code: codeOf(other) } })).toMatchObject(WRONG);
  });

  test('a code is accepted only at its own time', async () => {
    const at = await place();
    const { secret } = await enrolled(at.owner);
    for (const shift of [-3 * STEP, 3 * STEP]) {
      expect(await signIn(at, at.owner, codeOf(secret, clock + shift))).toMatchObject(WRONG);
    }
  });

  test('after five wrong codes, further ones are refused for every challenge, even after the correct password', async () => {
    const at = await place();
    const { owner } = at;
    const { secret, recoveryCodes } = await enrolled(owner);
    const { challenge } = await firstStep(at, owner);
    const wrong = Array.from({ length: 20 }, (_, i) => String(i).padStart(6, '0'));
    const results = await Promise.all(wrong.map((code) => secondStep(at, challenge, code)));
    const counts = Map.groupBy(results, ({ __typename }: Json) => __typename as string);
    expect([counts.get('ValidationError')?.length, counts.get('RateLimitHitError')?.length]).toEqual([5, 15]);
    expect((await signIn(at, owner, codeOf(secret))).__typename).toBe('RateLimitHitError');
    expect(await attempt(owner, 'removeSecondFactor', { proof: { code: codeOf(secret) } })).toMatchObject({
      __typename: 'RateLimitHitError',
    });
    await expect.poll(async () => await actionsOf(at)).toContain('sign_in_failed');
    await expect.poll(async () => await mailsTo(owner)).toContain('wrong codes of your second factor');
    // Recovery codes have a limit of their own.
    expect((await signIn(at, owner, recoveryCodes[0] ?? '')).__typename).toBe('CompleteSignInPayload');
    for (let i = 0; i < 5; i++) expect(await signIn(at, owner, 'aaaaa-aaaaa-aaaaa-aaaaa')).toMatchObject(WRONG);
    expect((await signIn(at, owner, recoveryCodes[1] ?? '')).__typename).toBe('RateLimitHitError');
  });

  test('one operation cannot try several codes', async () => {
    const at = await place();
    await enrolled(at.owner);
    const { challenge } = await firstStep(at, at.owner);
    const tries = ['000001', '000002'].map(
      (code, i) =>
        `t${i}: completeSignIn(input: { challenge: "${challenge}", proof: { code: "${code}" } }) { __typename }`,
    );
    const { errors = [] } = await at.anonymous.graphql(`mutation { ${tries.join(' ')} }`);
    expect(errors[0]?.extensions.code).toBe('DOCUMENT_LIMIT_EXCEEDED');
  });

  test('a challenge works once, for ten minutes, at its own organization, and until the password changes', async () => {
    const [at, other] = [await place(), await place()];
    const { owner } = at;
    const { secret } = await enrolled(owner);
    const { challenge } = await firstStep(at, owner);
    expect(await secondStep(other, challenge, codeOf(secret))).toMatchObject(EXPIRED);
    expect(await secondStep(at, `${challenge.slice(0, -4)}AAAA`, codeOf(secret))).toMatchObject(EXPIRED);
    expect((await secondStep(at, challenge, codeOf(secret))).__typename).toBe('CompleteSignInPayload');
    clock += STEP;
    expect(await secondStep(at, challenge, codeOf(secret))).toMatchObject(EXPIRED);
    const late = await firstStep(at, owner);
    clock += 10 * MINUTE;
    expect(await secondStep(at, late.challenge, codeOf(secret))).toMatchObject(EXPIRED);
    const stale = await firstStep(at, owner);
    await owner.ok('PATCH', '/settings', { old_password: OWNER_PASSWORD, new_password: 'quite another good battery' });
    clock += STEP;
    expect(await secondStep(at, stale.challenge, codeOf(secret))).toMatchObject(EXPIRED);
  });

  test('a challenge does not outlive its account, and the clock of an app cannot run backwards', async () => {
    const at = await place();
    const vera = await at.signUp('Vera', 'member', OWNER_PASSWORD);
    const { secret } = await enrolled(vera);
    const [first, second, third] = [await firstStep(at, vera), await firstStep(at, vera), await firstStep(at, vera)];
    // A clock that is ahead uses the code of the next step. The current one is older, and refused.
    const current = codeOf(secret);
    expect((await secondStep(at, first.challenge, codeOf(secret, clock + STEP))).__typename).toBe(
      'CompleteSignInPayload',
    );
    expect(await secondStep(at, second.challenge, current)).toMatchObject(WRONG);
    clock += 2 * STEP;
    await at.owner.ok('DELETE', `/users/${vera.id}`);
    expect((await secondStep(at, third.challenge, codeOf(secret))).__typename).toBe('UserDeactivatedError');
    expect((await firstStep(at, vera)).__typename).toBe('UserDeactivatedError');
  });

  test('the code and the recovery codes of another person are refused', async () => {
    const at = await place();
    const { owner, member } = at;
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 0 });
    const [, other] = [await enrolled(owner), await enrolled(member)];
    expect(await signIn(at, owner, codeOf(other.secret))).toMatchObject(WRONG);
    expect(await signIn(at, owner, other.recoveryCodes[0] ?? '')).toMatchObject(WRONG);
  });

  test('a recovery code works once, also for parallel requests, and its use is reported', async () => {
    const at = await place();
    const { owner } = at;
    const { recoveryCodes } = await enrolled(owner);
    const [code = '', another = ''] = recoveryCodes;
    const challenges = await Promise.all([1, 2, 3].map(() => firstStep(at, owner)));
    const results = await Promise.all(challenges.map(({ challenge }) => secondStep(at, challenge, code)));
    expect(results.filter(({ __typename }) => __typename === 'CompleteSignInPayload')).toHaveLength(1);
    expect((await signIn(at, owner, another.toUpperCase().replaceAll('-', ' '))).__typename).toBe(
      'CompleteSignInPayload',
    );
    expect(await mailsTo(owner)).toContain('8 codes are left');
    expect((await actionsOf(at)).filter((action) => action === 'recovery_code_used')).toHaveLength(2);
  });

  test('a session needs the password to add or remove a second factor after ten minutes', async () => {
    const at = await place();
    const { owner } = at;
    const form = new URLSearchParams({ username: owner.email, password: OWNER_PASSWORD }).toString();
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    const path = '/api/v1/sessions';
    const { headers } = await send(service.url, {
      method: 'POST',
      path,
      headers: { host: owner.host, ...type },
      body: form,
    });
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    clock += 11 * MINUTE;
    const query = 'mutation ($input: BeginSecondFactorInput!) { beginSecondFactor(input: $input) { __typename } }';
    const begin = async (input: Parameters) => {
      const json = { host: owner.host, cookie, 'content-type': 'application/json' };
      const body = JSON.stringify({ query, variables: { input } });
      const { text } = await send(service.url, { method: 'POST', path: '/graphql', headers: json, body });
      return JSON.parse(text).data.beginSecondFactor.__typename;
    };
    expect(await begin({})).toBe('PasswordRequiredError');
    expect(await begin({ currentPassword: OWNER_PASSWORD })).toBe('BeginSecondFactorPayload');
  });
});

describe('an organization', () => {
  test('can require a second factor by role: people without one add it when they sign in', async () => {
    const at = await place();
    const { owner, administrator, member } = at;
    await owner
      .ok('POST', '/users', { email: `ada@${owner.host}.example`, password: OWNER_PASSWORD, full_name: 'Ada' })
      .catch(() => undefined);
    const refused = await administrator.rest('PATCH', '/realm', { second_factor_required_role: 600 });
    expect(refused.body.code).toBe('UNAUTHORIZED_PRINCIPAL');
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 100 });
    expect((await owner.query('{ ownSecondFactor { isRequired } }')).ownSecondFactor.isRequired).toBe(true);
    expect((await member.query('{ ownSecondFactor { isRequired } }')).ownSecondFactor.isRequired).toBe(false);
    const login = { username: owner.email, password: OWNER_PASSWORD };
    expect((await at.anonymous.rest('POST', '/fetch_api_key', login)).body.code).toBe('PASSWORD_AUTH_DISABLED');
    const first = await firstStep(at, owner);
    expect(first.mustEnroll).toBe(true);
    // The step cannot be skipped without an authenticator app.
    expect((await secondStep(at, first.challenge, '000000')).__typename).toBe('ConflictError');
    const begun = await attempt(
      at.anonymous,
      'beginSecondFactorAtSignIn',
      { challenge: first.challenge },
      '... on BeginSecondFactorAtSignInPayload { secret }',
    );
    expect(await secondStep(at, first.challenge, '000000')).toMatchObject(WRONG);
    const done = await secondStep(at, first.challenge, codeOf(begun.secret));
    expect(done.recoveryCodes).toHaveLength(10);
    expect(await attempt(at.anonymous, 'beginSecondFactorAtSignIn', { challenge: first.challenge })).toMatchObject({
      __typename: 'ConflictError',
    });
    clock += STEP;
    expect(await attempt(owner, 'removeSecondFactor', { proof: { code: codeOf(begun.secret) } })).toMatchObject({
      __typename: 'ForbiddenError',
      message: 'Your organization requires a second factor of you.',
    });
    expect((await signIn(at, owner, codeOf(begun.secret))).__typename).toBe('CompleteSignInPayload');
  });

  test('adds no second factor at a sign-in that fails, so that no recovery codes are lost', async () => {
    const at = await place();
    const { owner, anonymous } = at;
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 100 });
    const { db } = service.app;
    const { challenge } = await firstStep(at, owner);
    const options = '... on BeginPasskeyAtSignInPayload { options }';
    const begun = await attempt(anonymous, 'beginPasskeyAtSignIn', { challenge }, options);
    const passkey = new Authenticator(`http://${owner.host}`).create(begun.options);
    const SECRET = '... on BeginSecondFactorAtSignInPayload { secret }';
    const { secret } = await attempt(anonymous, 'beginSecondFactorAtSignIn', { challenge }, SECRET);
    const withProof = (proof: Parameters) => attempt(anonymous, 'completeSignIn', { challenge, proof }, RECOVERY);
    await db.$executeRawUnsafe(`CREATE FUNCTION refuse_session() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'No session begins.'; END $$`);
    await db.$executeRawUnsafe(`CREATE TRIGGER refuse_session BEFORE INSERT ON session
      FOR EACH ROW WHEN (NEW.user_id = ${owner.id}) EXECUTE FUNCTION refuse_session()`);
    try {
      for (const proof of [{ passkey }, { code: codeOf(secret) }]) {
        expect((await withProof(proof)).extensions.code).toBe('INTERNAL_SERVER_ERROR');
      }
    } finally {
      await db.$executeRawUnsafe('DROP FUNCTION refuse_session CASCADE');
    }
    const where = { userId: owner.id };
    expect([await db.passkey.count({ where }), await db.recoveryCode.count({ where })]).toEqual([0, 0]);
    expect(await db.secondFactor.count({ where: { ...where, confirmedAt: { not: null } } })).toBe(0);
    expect(await actionsOf(at)).not.toContain('second_factor_added');
    // The same challenge and code still work.
    expect((await withProof({ code: codeOf(secret) })).recoveryCodes).toHaveLength(10);
    expect(await mailsTo(owner)).toContain('If you have not seen its recovery codes, replace them');
  });

  test('can require it of fewer roles only with the password, and its owners are notified', async () => {
    const at = await place();
    const { owner } = at;
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 600 });
    const { secret } = await owner.mutate(
      'createApiKey',
      { name: 'x', scopes: ['READ', 'WRITE', 'ADMINISTRATION'] },
      'secret',
    );
    const key = owner.as(`Basic ${Buffer.from(`${owner.email}:${secret}`).toString('base64')}`);
    const relaxed = { second_factor_required_role: 100 };
    expect((await key.rest('PATCH', '/realm', relaxed)).body.code).toBe('PASSWORD_REQUIRED');
    expect(await mailsTo(owner)).not.toContain('a second factor of fewer people');
    await key.ok('PATCH', '/realm', { ...relaxed, current_password: OWNER_PASSWORD });
    expect(await mailsTo(owner)).toContain('a second factor of fewer people');
    await key.ok('PATCH', '/realm', { second_factor_required_role: 200 });
    // A shorter time of the audit log hides earlier attacks, so it also needs the password.
    expect((await key.rest('PATCH', '/realm', { audit_log_days: 30 })).body.code).toBe('PASSWORD_REQUIRED');
    const shorter = { audit_log_days: 30, current_password: OWNER_PASSWORD };
    const shown = '{ organization { auditLogDays auditLogRetentionDays } }';
    expect((await owner.query(shown)).organization.auditLogDays).toBe(-1);
    await key.ok('PATCH', '/realm', shorter);
    await key.ok('PATCH', '/realm', { audit_log_days: 60 });
    const { organization } = await owner.mutate(
      'updateOrganization',
      { auditLogDays: 45 },
      'organization { auditLogDays auditLogRetentionDays }',
    );
    expect(organization).toEqual({ auditLogDays: 45, auditLogRetentionDays: 45 });
  });

  test('ends the sessions of a person whose new role requires a second factor, and those that a failed request left', async () => {
    const at = await place();
    const { owner } = at;
    const organizationId = await organizationOf(at);
    const member = await at.signUp('Bea', 'member', OWNER_PASSWORD);
    const sessions = () => service.app.db.session.count({ where: { organizationId, userId: member.id } });
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 200 });
    await signInBrowser(member, OWNER_PASSWORD);
    await owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
    expect(await sessions()).toBe(1);
    await owner.ok('PATCH', `/users/${member.id}`, { role: 200 });
    expect(await sessions()).toBe(0);
    await owner.ok('PATCH', `/users/${member.id}`, { role: 400 });
    await signInBrowser(member, OWNER_PASSWORD);
    // The setting was stored by a request whose node died before the sessions ended.
    await service.app.db.$executeRaw`
      UPDATE realm SET settings = settings || '{"second_factor_required_role": 600}' WHERE id = ${organizationId}`;
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 600 });
    expect(await sessions()).toBe(0);
  });

  test('ends the sessions of people without the second factor that it begins to require', async () => {
    const at = await place();
    const { owner, moderator } = at;
    const organizationId = await organizationOf(at);
    const administrator = await at.signUp('Ada', 'administrator', OWNER_PASSWORD);
    const member = await at.signUp('Bea', 'member', OWNER_PASSWORD);
    const guest = await at.signUp('Cy', 'guest', OWNER_PASSWORD);
    await enrolled(moderator);
    const cookies = await Promise.all(
      [owner, administrator, member, guest].map((one) => signInBrowser(one, OWNER_PASSWORD)),
    );
    const { id: sessionId } = await service.app.db.session.findFirstOrThrow({ where: { userId: administrator.id } });
    // Sessions of an identity provider stay, and those of people with a second factor.
    await service.app.db.session.create({
      data: {
        ...{ organizationId, userId: administrator.id, tokenHash: randomBytes(32), tokenAt: new Date(clock) },
        ...{ createdAt: new Date(clock), lastSeenAt: new Date(clock), idleExpiresAt: new Date(clock + MINUTE) },
        ...{ expiresAt: new Date(clock + MINUTE), userAgent: '', networkAddress: '', providerId: 1 },
      },
    });
    const ofModerator = await service.app.db.session.create({
      data: {
        ...{ organizationId, userId: moderator.id, tokenHash: randomBytes(32), tokenAt: new Date(clock) },
        ...{ createdAt: new Date(clock), lastSeenAt: new Date(clock), idleExpiresAt: new Date(clock + MINUTE) },
        ...{ expiresAt: new Date(clock + MINUTE), userAgent: '', networkAddress: '' },
      },
    });
    const open = async (i: number, person: Person) =>
      EventStream.open({ url: person.url, headers: { host: person.host, cookie: cookies[i] ?? '' } }, 'position', {
        queueId: ((await person.register({ fetch_event_types: [] })) as Json).queue_id,
      });
    await using ended = await open(1, administrator);
    await using kept = await open(2, member);
    const sessionsOf = (one: Person) => service.app.db.session.count({ where: { organizationId, userId: one.id } });

    await owner.ok('PATCH', '/realm', { second_factor_required_role: 300 });
    expect(await ended.ended).toMatchObject({ how: 'closed', code: 4403 });
    expect(await Promise.all([owner, administrator, moderator, member, guest].map(sessionsOf))).toEqual([
      1, 1, 1, 1, 1,
    ]);
    expect(await service.app.db.session.count({ where: { id: { in: [sessionId] }, organizationId } })).toBe(0);
    expect((await firstStep(at, administrator)).mustEnroll).toBe(true);
    const written = await service.app.db.auditLogEntry.findMany({
      where: { organizationId, action: 'sessions_ended' },
    });
    expect(written.map(({ actorId, objectId, details }) => [actorId, objectId, details])).toEqual([
      [owner.id, administrator.id, { session_ids: { old: [sessionId] } }],
    ]);
    await member.ok('POST', '/users/me/status', { status_text: 'here' });
    expect(await kept.next()).toBeDefined();

    await owner.ok('PATCH', '/realm', { second_factor_required_role: 600 });
    expect(await Promise.all([owner, moderator, member, guest].map(sessionsOf))).toEqual([1, 1, 0, 0]);
    expect(await service.app.db.session.count({ where: { id: ofModerator.id, organizationId } })).toBe(1);
  });

  test('refuses a challenge for enrollment once the person has a second factor', async () => {
    const at = await place();
    const { owner } = at;
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 600 });
    const { challenge } = await firstStep(at, owner);
    const { secret } = await enrolled(owner);
    expect(await attempt(at.anonymous, 'beginSecondFactorAtSignIn', { challenge })).toMatchObject({
      __typename: 'ConflictError',
    });
    expect(await secondStep(at, challenge, '000000')).toMatchObject(WRONG);
    expect((await secondStep(at, challenge, codeOf(secret))).__typename).toBe('CompleteSignInPayload');
  });
});

describe('a client that opens the browser', () => {
  test('takes over the sign-in of a person with a second factor for ten minutes, only with its own secret', async () => {
    const at = await place();
    const { owner, anonymous } = at;
    // The organization requires none: the person has added it voluntarily.
    const { secret } = await enrolled(owner);
    const login = { username: owner.email, password: OWNER_PASSWORD };
    expect((await anonymous.rest('POST', '/fetch_api_key', login)).body.login_url).toBe('/sign-in/app');
    const settings = await anonymous.ok('GET', '/server_settings');
    expect(settings.external_authentication_methods).toEqual([
      expect.objectContaining({ name: 'browser', login_url: '/sign-in/app' }),
    ]);
    const { challenge } = await firstStep(at, owner);
    const { headers } = await send(service.url, {
      ...{ method: 'POST', path: '/api/v1/sessions/second_factor' },
      headers: { host: owner.host, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ challenge, code: codeOf(secret) }).toString(),
    });
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const query = `mutation ($input: ContinueInAppInput!) { continueInApp(input: $input) { __typename
      ... on ContinueInAppPayload { url desktopCode } } }`;
    const proceed = async (kind: string, otp: string, by = cookie): Promise<Json> => {
      const json = { host: owner.host, cookie: by, 'content-type': 'application/json' };
      const body = JSON.stringify({ query, variables: { input: { kind, secret: otp } } });
      return JSON.parse((await send(service.url, { method: 'POST', path: '/graphql', headers: json, body })).text).data
        .continueInApp;
    };
    const otp = randomBytes(32);
    const url = new URL((await proceed('MOBILE', otp.toString('hex'))).url);
    const sealed = Buffer.from(url.searchParams.get('otp_encrypted_api_key') ?? '', 'hex');
    const key = Buffer.from(sealed.map((byte, i) => byte ^ (otp[i] ?? 0))).toString('ascii');
    expect([key, url.searchParams.get('email')]).toEqual([owner.apiKey, owner.email]);
    const handedOver = await service.app.db.auditLogEntry.findMany({
      where: { organizationId: at.organization.id, action: 'signed_in' },
      orderBy: { id: 'asc' },
    });
    expect(handedOver.map(({ actorId, details }) => [actorId, details])).toEqual([
      [owner.id, { credential: { new: 'session' }, method: { new: 'password and second factor' } }],
      [owner.id, { credential: { new: 'api_key' }, method: { new: 'browser' } }],
    ]);
    clock += 6 * MINUTE;
    const bytes = Buffer.from((await proceed('DESKTOP', otp.toString('hex'))).desktopCode, 'hex');
    const decipher = createDecipheriv('aes-256-gcm', otp, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(-16));
    const token = decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
    const open = () =>
      send(service.url, { method: 'GET', path: `/accounts/login/subdomain/${token}`, headers: { host: owner.host } });
    const first = await open();
    expect([first.status, first.headers['set-cookie']?.length, (await open()).status]).toEqual([303, 1, 400]);
    // The new session has the times of the sign-in, so it cannot be handed over for longer.
    const sessions = await service.app.db.session.findMany({ where: { userId: owner.id }, orderBy: { id: 'desc' } });
    const [ofClient, ofBrowser] = sessions.map(({ createdAt, expiresAt }) => ({ createdAt, expiresAt }));
    expect(ofClient).toEqual(ofBrowser);
    const next = first.headers['set-cookie']?.[0]?.split(';')[0];
    expect((await proceed('DESKTOP', otp.toString('hex'), next)).__typename).toBe('ContinueInAppPayload');
    expect((await proceed('MOBILE', 'no secret')).__typename).toBe('ValidationError');
    clock += 5 * MINUTE;
    for (const by of [cookie, next]) {
      expect((await proceed('MOBILE', otp.toString('hex'), by)).__typename).toBe('PasswordRequiredError');
    }
  });
});

test('secrets are sealed again with a new SECRET_KEY, and removed with a lost one', async () => {
  await using own = await startInProcess({ now: () => new Date(clock) });
  const at = await createOrganization({}, { on: own, password: OWNER_PASSWORD });
  const { recoveryCodes } = await enrolled(at.owner);
  const { member } = at;
  const { secret } = await enrolled(member);
  const { options } = await member.mutate('beginPasskey', { proof: { code: codeOf(secret) } }, 'options');
  const response = new Authenticator(`http://${member.host}`).create(options);
  await member.mutate('addPasskey', { name: 'Phone', response }, '__typename');
  const { app } = own;
  const previous = loadSecretKey(app.config);
  const keys = new KeyVault('another secret of this server, long enough', previous);
  expect(await reseal({ db: app.db, keys })).toBeGreaterThan(1);
  const { sealedSecret } = await app.db.secondFactor.findFirstOrThrow({ where: { userId: at.owner.id } });
  expect([keys.isCurrent(sealedSecret), app.keys.canOpen(sealedSecret)]).toEqual([true, false]);
  // Recovery codes work without the secret.
  const code = (form: string) =>
    attempt(at.anonymous, 'signIn', { username: at.owner.email, password: OWNER_PASSWORD }, CHALLENGE).then(
      ({ challenge }) => attempt(at.anonymous, 'completeSignIn', { challenge, proof: { code: form } }),
    );
  expect(await code('123456')).toMatchObject(WRONG);
  expect((await code(recoveryCodes[0] ?? '')).__typename).toBe('CompleteSignInPayload');
  expect((await renewSealed(app)).second_factors).toBe(2);
  const { actorKind } = await app.db.auditLogEntry.findFirstOrThrow({ where: { action: 'second_factor_reset' } });
  expect(actorKind).toBe('operator');
  expect(await app.db.recoveryCode.count({ where: { userId: at.owner.id } })).toBe(0);
  // Passkeys are not sealed. Their person keeps the recovery codes.
  const where = { userId: member.id };
  expect([await app.db.passkey.count({ where }), await app.db.recoveryCode.count({ where })]).toEqual([1, 10]);
});
