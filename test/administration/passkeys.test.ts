import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { relyingPartyOf } from '../../src/administration/sign-in/webauthn.ts';
import { readConfig } from '../../src/platform/config.ts';
import { TOTALS } from '../../src/platform/totals.ts';
import { runCommand } from '../../src/server/operator/control.ts';
import { Authenticator, type Forgery } from '../helpers/authenticator.ts';
import { globalId, numberOf } from '../helpers/global-ids.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Parameters, Person, Visitor } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const STEP = 30_000;
const MINUTE = 60_000;
const REFUSED = { code: 'BAD_REQUEST', message: 'The passkey was not accepted. Try again.' };
const EXPIRED = { code: 'BAD_REQUEST', message: 'This sign-in has expired. Enter your password again.' };

let clock = Date.now();
let service: InProcess;
beforeAll(async () => {
  service = await startOnDatabaseOfRun({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });
type Place = Awaited<ReturnType<typeof place>>;

/** Returns the origin of the page of an organization. */
const originOf = ({ host }: Visitor): string => `http://${host}`;

/** Runs a mutation, and returns its result. */
async function attempt(by: Visitor, field: string, input: Parameters | undefined, selection = ''): Promise<Json> {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}`;
  const [outer, inner] = input === undefined ? ['', ''] : [`($input: ${type}Input!)`, '(input: $input)'];
  const document = `mutation ${outer} { ${field}${inner} { __typename
    ... on ServiceError { code message } ${selection} } }`;
  const { data, errors } = await by.graphql(document, input === undefined ? {} : { input });
  return data?.[field] ?? errors?.[0];
}

const ADDED = '... on AddPasskeyPayload { recoveryCodes passkey { credentialId name lastUsedAt isBackedUp } }';

/** Makes both requests that add a passkey. @returns The result of the second one. */
async function adding(
  person: Person,
  authenticator: Authenticator,
  forgery: Forgery = {},
  name = 'Phone',
  proof: Parameters = {},
): Promise<Json> {
  const { options } = await person.mutate('beginPasskey', proof, 'options');
  return attempt(person, 'addPasskey', { name, response: authenticator.create(options, forgery) }, ADDED);
}

/** Adds a passkey. @returns The authenticator with it, and the recovery codes. */
async function enrolled(person: Person, counts = true, proof: Parameters = {}) {
  const authenticator = new Authenticator(originOf(person), counts);
  const { __typename, recoveryCodes } = await adding(person, authenticator, {}, 'Phone', proof);
  expect(__typename).toBe('AddPasskeyPayload');
  return { authenticator, recoveryCodes: recoveryCodes as string[] | null };
}

const CHALLENGE = '... on SecondFactorRequiredError { challenge mustEnroll passkeyOptions }';

/** Makes the first step of a sign-in. */
const firstStep = ({ anonymous }: Place, { email }: Person): Promise<Json> =>
  attempt(anonymous, 'signIn', { username: email, password: OWNER_PASSWORD }, CHALLENGE);

const secondStep = ({ anonymous }: Place, challenge: string, proof: Parameters): Promise<Json> =>
  attempt(anonymous, 'completeSignIn', { challenge, proof }, '... on CompleteSignInPayload { recoveryCodes userId }');

/** Makes both steps of a sign-in. */
async function signIn(at: Place, person: Person, authenticator: Authenticator, forgery: Forgery = {}): Promise<Json> {
  const { challenge, passkeyOptions } = await firstStep(at, person);
  return secondStep(at, challenge, { passkey: authenticator.use(passkeyOptions, forgery) });
}

/** Signs in with a passkey alone. */
async function signInAlone({ anonymous }: Place, authenticator: Authenticator, forgery: Forgery = {}): Promise<Json> {
  const { options } = await attempt(
    anonymous,
    'beginPasskeySignIn',
    undefined,
    '... on BeginPasskeySignInPayload { options }',
  );
  const input = { response: authenticator.use(options, forgery) };
  return attempt(anonymous, 'completePasskeySignIn', input, '... on CompletePasskeySignInPayload { userId }');
}

const SIGNED_IN = { __typename: 'CompleteSignInPayload' };
const ALONE = { __typename: 'CompletePasskeySignInPayload' };

/** Returns the response of a passkey to a new challenge for a proof. */
async function proofOf(person: Person, authenticator: Authenticator): Promise<Parameters> {
  const { options } = await attempt(
    person,
    'beginPasskeyProof',
    undefined,
    '... on BeginPasskeyProofPayload { options }',
  );
  return { proof: { passkey: authenticator.use(options) } };
}

const codeOf = (secret: string): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock });

/** Adds an authenticator app. @returns Its secret and the recovery codes. */
async function withApp(
  person: Person,
  proof: Parameters = {},
): Promise<{ secret: string; recoveryCodes: string[] | null }> {
  const { secret } = await person.mutate('beginSecondFactor', proof, 'secret');
  const { recoveryCodes } = await person.mutate('confirmSecondFactor', { code: codeOf(secret) }, 'recoveryCodes');
  clock += STEP;
  return { secret, recoveryCodes };
}

const stateOf = async (person: Person): Promise<Json> =>
  (await person.query('{ ownSecondFactor { addedAt recoveryCodesLeft passkeys { name lastUsedAt isBackedUp } } }'))
    .ownSecondFactor;
const actionsOf = async ({ owner }: Place): Promise<string[]> => {
  const organizationId = numberOf((await owner.query('{ organization { id } }')).organization.id);
  const entries = await service.app.db.auditLogEntry.findMany({ where: { organizationId }, orderBy: { id: 'asc' } });
  return entries.map(({ action }) => action);
};
const mailsTo = async ({ email }: Person): Promise<string> =>
  (await service.app.db.outgoingMail.findMany({ where: { recipient: email } })).map(({ body }) => body).join('\n');

describe('a passkey', () => {
  test('is added with recovery codes, makes the password insufficient, and is the second step', async () => {
    const at = await place();
    const { owner, anonymous } = at;
    const events = await owner.receiving({ event_types: ['second_factor_changed'] });
    const { options } = await owner.mutate('beginPasskey', {}, 'options');
    expect(JSON.parse(options)).toMatchObject({
      rp: { id: owner.host.replace(/:\d+$/, '') },
      user: { name: owner.email },
      excludeCredentials: [],
      attestation: 'none',
    });
    const { authenticator, recoveryCodes } = await enrolled(owner);
    expect(new Set(recoveryCodes).size).toBe(10);
    const first = await firstStep(at, owner);
    expect(first).toMatchObject({ __typename: 'SecondFactorRequiredError', mustEnroll: false });
    expect(first.message).toContain('Use a passkey');
    expect(JSON.parse(first.passkeyOptions)).toMatchObject({
      challenge: first.challenge,
      userVerification: 'preferred',
      allowCredentials: [{ id: authenticator.id, type: 'public-key', transports: ['hybrid', 'internal'] }],
    });
    const passkey = authenticator.use(first.passkeyOptions, { isVerified: false });
    expect(await secondStep(at, first.challenge, { passkey })).toEqual({
      ...SIGNED_IN,
      userId: globalId('User', owner.id),
      recoveryCodes: null,
    });
    const login = { username: owner.email, password: OWNER_PASSWORD };
    expect((await anonymous.rest('POST', '/fetch_api_key', login)).body.code).toBe('PASSWORD_AUTH_DISABLED');
    const { lastUsedAt, ...shown } = (await stateOf(owner)).passkeys[0];
    expect([shown, Date.parse(lastUsedAt)]).toEqual([{ name: 'Phone', isBackedUp: true }, clock]);
    // The recovery codes work without an authenticator app.
    const again = await firstStep(at, owner);
    expect(await secondStep(at, again.challenge, { code: recoveryCodes?.[0] })).toMatchObject(SIGNED_IN);
    expect(await actionsOf(at)).toEqual(
      expect.arrayContaining(['passkey_added', 'signed_in', 'recovery_code_used', 'signed_in']),
    );
    expect(await mailsTo(owner)).toContain('the passkey "Phone" was added to your account');
    expect((await events()).length).toBeGreaterThan(0);
  });

  test('signs in without the password if the authenticator verified the person', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator } = await enrolled(owner);
    expect(await actionsOf(at)).not.toContain('signed_in');
    expect(await signInAlone(at, authenticator)).toEqual({ ...ALONE, userId: globalId('User', owner.id) });
    expect(await actionsOf(at)).toContain('signed_in');
    expect(await signInAlone(at, authenticator, { isVerified: false })).toMatchObject(REFUSED);
    expect(await signInAlone(at, authenticator, { userHandle: null })).toMatchObject(REFUSED);
    const other = Buffer.from(String(at.member.id)).toString('base64url');
    expect(await signInAlone(at, authenticator, { userHandle: other })).toMatchObject(REFUSED);
    await expect.poll(() => actionsOf(at)).toContain('sign_in_failed');
    const { authenticator: ofMember } = await enrolled(at.member);
    await owner.ok('DELETE', `/users/${at.member.id}`);
    expect((await signInAlone(at, ofMember)).__typename).toBe('UserDeactivatedError');
  });

  test('is accepted over REST', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator } = await enrolled(owner);
    const login = { username: owner.email, password: OWNER_PASSWORD };
    const first = await at.anonymous.rest('POST', '/sessions', login);
    const { challenge, passkey_options: options } = first.body;
    const passkey = authenticator.use(options);
    const second = await at.anonymous.rest('POST', '/sessions/second_factor', { challenge, passkey });
    expect([second.status, second.body.user_id, second.headers['set-cookie']?.length]).toEqual([200, owner.id, 1]);
    const neither = await at.anonymous.rest('POST', '/sessions/second_factor', { challenge });
    expect(neither.body.msg).toBe('Exactly one of `code` and `passkey` is required.');
  });

  test('exists beside an authenticator app, and each of both is a second step', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator, recoveryCodes } = await enrolled(owner);
    const app = await withApp(owner, await proofOf(owner, authenticator));
    // The codes of the first factor stay valid.
    expect(app.recoveryCodes).toBeNull();
    const key = new Authenticator(originOf(owner));
    expect(await adding(owner, key, {}, 'Key', { proof: { code: codeOf(app.secret) } })).toMatchObject({
      recoveryCodes: null,
    });
    clock += STEP;
    const { challenge } = await firstStep(at, owner);
    expect(await secondStep(at, challenge, { code: codeOf(app.secret) })).toMatchObject(SIGNED_IN);
    expect(await signIn(at, owner, authenticator)).toMatchObject(SIGNED_IN);
    expect(await signIn(at, owner, key)).toMatchObject(SIGNED_IN);
    const another = await firstStep(at, owner);
    expect(await secondStep(at, another.challenge, { code: recoveryCodes?.[0] })).toMatchObject(SIGNED_IN);
    // The codes disappear with the last factor.
    const remove = (credentialId: string, proof: Parameters) =>
      attempt(owner, 'removePasskey', { credentialId, ...proof });
    expect(await attempt(owner, 'removeSecondFactor', await proofOf(owner, key))).toMatchObject({
      __typename: 'RemoveSecondFactorPayload',
    });
    expect(await stateOf(owner)).toMatchObject({ addedAt: null, recoveryCodesLeft: 9 });
    expect((await remove(authenticator.id, await proofOf(owner, key))).__typename).toBe('RemovePasskeyPayload');
    expect(await signIn(at, owner, authenticator)).toMatchObject(REFUSED);
    expect((await remove(key.id, { proof: { code: recoveryCodes?.[1] } })).__typename).toBe('RemovePasskeyPayload');
    expect(await stateOf(owner)).toEqual({ addedAt: null, recoveryCodesLeft: 0, passkeys: [] });
    expect((await firstStep(at, owner)).__typename).toBe('SignInPayload');
    const where = { userId: owner.id };
    expect(await service.app.db.recoveryCode.count({ where })).toBe(0);
    expect(await actionsOf(at)).toContain('passkey_removed');
    expect(await mailsTo(owner)).toContain('the passkey "Key" was removed from your account');
  });

  test('is renamed, and replaces the recovery codes', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator, recoveryCodes } = await enrolled(owner);
    const rename = (name: string, credentialId = authenticator.id) =>
      attempt(owner, 'renamePasskey', { credentialId, name }, '... on RenamePasskeyPayload { passkey { name } }');
    expect(await rename(' Tablet ')).toMatchObject({ passkey: { name: 'Tablet' } });
    expect(await rename('x'.repeat(101))).toMatchObject({ __typename: 'ValidationError' });
    expect(await rename('x', 'dW5rbm93bg')).toMatchObject({ __typename: 'NotFoundError' });
    const replaced = await owner.mutate('replaceRecoveryCodes', await proofOf(owner, authenticator), 'recoveryCodes');
    expect(replaced.recoveryCodes).toHaveLength(10);
    expect(replaced.recoveryCodes).not.toContain(recoveryCodes?.[0]);
    expect(await actionsOf(at)).toEqual(expect.arrayContaining(['passkey_renamed', 'recovery_codes_replaced']));
  });

  test('is not for bots, is reset by an administrator or the operator, and is erased with its user', async () => {
    const at = await place();
    const { owner, administrator, bot, member } = at;
    expect(await attempt(bot, 'beginPasskey', {})).toMatchObject({ __typename: 'ForbiddenError' });
    await enrolled(member);
    await administrator.mutate('resetSecondFactor', { userId: globalId('User', member.id) }, 'user { id }');
    expect(await stateOf(member)).toEqual({ addedAt: null, recoveryCodesLeft: 0, passkeys: [] });
    await enrolled(owner);
    const args = { org: at.organization.subdomain, user: owner.email };
    await runCommand(service.app, 'user reset-second-factor', args);
    expect((await firstStep(at, owner)).__typename).toBe('SignInPayload');
    await enrolled(member);
    await owner.ok('DELETE', `/users/${member.id}`, { actions: { delete_profile: true } });
    expect(await service.app.db.passkey.count({ where: { userId: member.id } })).toBe(0);
  });
});

test.for([
  [{ EXTERNAL_HOST: 'chat.example' }, 'acme', 'acme.chat.example', 'https://acme.chat.example'],
  [{ EXTERNAL_HOST: 'chat.example:8443' }, '', 'chat.example', 'https://chat.example:8443'],
  [{ EXTERNAL_HOST: 'chat.example:443' }, '', 'chat.example', 'https://chat.example'],
  [{ EXTERNAL_HOST: 'http://chat.lan:8080' }, 'acme', 'acme.chat.lan', 'http://acme.chat.lan:8080'],
  [{ PORT: '4000' }, 'acme', 'acme.localhost', 'http://acme.localhost:4000'],
  [{ PORT: '4000', HOST: '127.0.0.1' }, '', 'localhost', 'http://localhost:4000'],
] as const)('the site of %o at subdomain "%s" is %s', ([env, subdomain, id, origin]) => {
  const config = readConfig({ ...env, SECRET_KEY: '0'.repeat(64) });
  expect(relyingPartyOf({ config }, { subdomain })).toEqual({ id, origin });
});

describe('a required second factor', () => {
  test('can be a passkey that the person adds at the sign-in, and the last one cannot be removed', async () => {
    const at = await place();
    const { owner } = at;
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 100 });
    const { challenge, mustEnroll, passkeyOptions } = await firstStep(at, owner);
    expect([mustEnroll, passkeyOptions]).toEqual([true, null]);
    const begin = () =>
      attempt(at.anonymous, 'beginPasskeyAtSignIn', { challenge }, '... on BeginPasskeyAtSignInPayload { options }');
    const { options } = await begin();
    const authenticator = new Authenticator(originOf(owner));
    expect(await secondStep(at, challenge, { passkey: authenticator.use(options) })).toMatchObject(REFUSED);
    const forged = authenticator.create(options, { origin: 'https://evil.example' });
    expect(await secondStep(at, challenge, { passkey: forged })).toMatchObject(REFUSED);
    const passkey = authenticator.create(options);
    const done = await secondStep(at, challenge, { passkey });
    expect([done.__typename, done.recoveryCodes.length]).toEqual(['CompleteSignInPayload', 10]);
    expect(await secondStep(at, challenge, { passkey })).toMatchObject({ code: 'BAD_REQUEST' });
    expect((await begin()).__typename).toBe('ConflictError');
    expect((await stateOf(owner)).passkeys).toMatchObject([{ name: 'Passkey' }]);
    expect(await signIn(at, owner, authenticator)).toMatchObject(SIGNED_IN);
    const last = { credentialId: authenticator.id, proof: { code: done.recoveryCodes[0] } };
    expect(await attempt(owner, 'removePasskey', last)).toMatchObject({
      __typename: 'ForbiddenError',
      message: 'Your organization requires a second factor of you.',
    });
    const app = await withApp(owner, await proofOf(owner, authenticator));
    expect((await attempt(owner, 'removePasskey', last)).__typename).toBe('RemovePasskeyPayload');
    expect((await attempt(owner, 'removeSecondFactor', { proof: { code: codeOf(app.secret) } })).__typename).toBe(
      'ForbiddenError',
    );
  });

  test('cannot be added with the password alone by a person who has a passkey since', async () => {
    const at = await place();
    const { owner } = at;
    await owner.ok('PATCH', '/realm', { second_factor_required_role: 100 });
    const { challenge } = await firstStep(at, owner);
    const { secret } = await attempt(
      at.anonymous,
      'beginSecondFactorAtSignIn',
      { challenge },
      '... on BeginSecondFactorAtSignInPayload { secret }',
    );
    await enrolled(owner);
    expect(await secondStep(at, challenge, { code: codeOf(secret) })).toMatchObject({ message: 'Wrong code!' });
    expect(await attempt(at.anonymous, 'beginSecondFactorAtSignIn', { challenge })).toMatchObject({
      __typename: 'ConflictError',
    });
  });
});

describe('attacks', () => {
  const FORGERIES: readonly (readonly [string, Forgery])[] = [
    ['a page of another origin', { origin: 'https://evil.example' }],
    ['a page at another port', { origin: 'http://localhost:1' }],
    ['a frame in a page of another site', { crossOrigin: true }],
    ['another site', { rpId: 'evil.example' }],
    ['a response of the other kind', { type: 'webauthn.create' }],
    ['another challenge', { challenge: randomBytes(32).toString('base64url') }],
    ['an absent person', { isPresent: false }],
    ['an unknown credential', { id: randomBytes(32).toString('base64url') }],
  ];

  test.for(FORGERIES)('%s: refused at a sign-in', async ([, forgery]) => {
    const at = await place();
    const { authenticator } = await enrolled(at.owner);
    expect(await signIn(at, at.owner, authenticator, forgery)).toMatchObject(REFUSED);
    expect(await signInAlone(at, authenticator, forgery)).toMatchObject(REFUSED);
    expect(await signIn(at, at.owner, authenticator)).toMatchObject(SIGNED_IN);
    await expect.poll(() => actionsOf(at)).toContain('sign_in_failed');
  });

  test.for(FORGERIES)('%s: refused when a passkey is added', async ([, given]) => {
    const { owner } = await place();
    const forgery: Forgery = given.type === undefined ? given : { type: 'webauthn.get' };
    expect(await adding(owner, new Authenticator(originOf(owner)), forgery)).toMatchObject(REFUSED);
    expect((await stateOf(owner)).passkeys).toEqual([]);
  });

  test('a changed signature, and one of another key, are refused', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator } = await enrolled(owner);
    const { challenge, passkeyOptions } = await firstStep(at, owner);
    const reply = JSON.parse(authenticator.use(passkeyOptions));
    const signature = Buffer.from(reply.response.signature, 'base64url');
    signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
    const changed = { ...reply, response: { ...reply.response, signature: signature.toString('base64url') } };
    expect(await secondStep(at, challenge, { passkey: JSON.stringify(changed) })).toMatchObject(REFUSED);
    const stranger = new Authenticator(originOf(owner)).use(passkeyOptions, { id: authenticator.id });
    expect(await secondStep(at, challenge, { passkey: stranger })).toMatchObject(REFUSED);
    expect(await secondStep(at, challenge, { passkey: '' })).toMatchObject({
      message: 'proof.passkey cannot be blank',
    });
    for (const malformed of ['{}', '"x"', 'null', JSON.stringify({ ...reply, id: '!' })]) {
      expect(await secondStep(at, challenge, { passkey: malformed })).toMatchObject(REFUSED);
    }
    const both = { challenge, code: '123456', passkey: '{}' };
    const refused = await at.anonymous.rest('POST', '/sessions/second_factor', both);
    expect(refused.body).toMatchObject({
      code: 'BAD_REQUEST',
      msg: 'Exactly one of `code` and `passkey` is required.',
    });
  });

  test('a response works once, also for parallel requests, with a counter and without one', async () => {
    for (const counts of [true, false]) {
      const at = await place();
      const { owner } = at;
      const { authenticator } = await enrolled(owner, counts);
      const { challenge, passkeyOptions } = await firstStep(at, owner);
      const passkey = authenticator.use(passkeyOptions);
      const results = await Promise.all([1, 2, 3, 4].map(() => secondStep(at, challenge, { passkey })));
      expect(results.filter(({ __typename }) => __typename === 'CompleteSignInPayload')).toHaveLength(1);
      expect(await secondStep(at, challenge, { passkey })).toMatchObject({ code: 'BAD_REQUEST' });
      const begun = await attempt(
        at.anonymous,
        'beginPasskeySignIn',
        undefined,
        '... on BeginPasskeySignInPayload { options }',
      );
      const response = authenticator.use(begun.options);
      const alone = () => attempt(at.anonymous, 'completePasskeySignIn', { response });
      const signedIn = await Promise.all([1, 2, 3, 4].map(alone));
      expect(signedIn.filter(({ __typename }) => __typename === ALONE.__typename)).toHaveLength(1);
      expect(await alone()).toMatchObject(REFUSED);
      // A proof is for one change.
      const proof = await proofOf(owner, authenticator);
      expect((await attempt(owner, 'replaceRecoveryCodes', proof)).__typename).toBe('ReplaceRecoveryCodesPayload');
      expect(await attempt(owner, 'replaceRecoveryCodes', proof)).toMatchObject(REFUSED);
    }
  });

  test('a counter that does not increase is refused', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator } = await enrolled(owner);
    expect(await signIn(at, owner, authenticator, { counter: 5 })).toMatchObject(SIGNED_IN);
    for (const counter of [5, 4, 0]) {
      expect(await signIn(at, owner, authenticator, { counter })).toMatchObject(REFUSED);
      expect(await signInAlone(at, authenticator, { counter })).toMatchObject(REFUSED);
    }
    expect(await signIn(at, owner, authenticator, { counter: 6 })).toMatchObject(SIGNED_IN);
  });

  test('a challenge works for ten minutes, and for its purpose, person and organization only', async () => {
    const [at, other] = [await place(), await place()];
    const { owner, member } = at;
    const { authenticator } = await enrolled(owner);
    const optionsOf = async (by: Visitor, field: string, input?: Parameters): Promise<string> => {
      const type = `${field[0]?.toUpperCase()}${field.slice(1)}Payload`;
      return (await attempt(by, field, input, `... on ${type} { options }`)).options;
    };
    const challengeOf = async (options: Promise<string>): Promise<string> => JSON.parse(await options).challenge;
    const [first, begun] = [await firstStep(at, owner), optionsOf(at.anonymous, 'beginPasskeySignIn')];
    const challenges: Record<string, string> = {
      'a second step': first.challenge,
      'a sign-in': await challengeOf(begun),
      'a proof': await challengeOf(optionsOf(owner, 'beginPasskeyProof')),
      'a new passkey': await challengeOf(optionsOf(owner, 'beginPasskey', await proofOf(owner, authenticator))),
      'a new passkey of another person': await challengeOf(optionsOf(member, 'beginPasskey', {})),
      'a sign-in at another organization': await challengeOf(optionsOf(other.anonymous, 'beginPasskeySignIn')),
    };
    const uses: Record<string, (challenge: string) => Promise<Json>> = {
      'a second step': (challenge) => {
        const passkey = authenticator.use(first.passkeyOptions, { challenge });
        return secondStep(at, first.challenge, { passkey });
      },
      'a sign-in': (challenge) => signInAlone(at, authenticator, { challenge }),
      'a proof': async (challenge) => {
        const options = await optionsOf(owner, 'beginPasskeyProof');
        return attempt(owner, 'replaceRecoveryCodes', {
          proof: { passkey: authenticator.use(options, { challenge }) },
        });
      },
      'a new passkey': async (challenge) => {
        const proof = await proofOf(owner, authenticator);
        return adding(owner, new Authenticator(originOf(owner)), { challenge }, 'Phone', proof);
      },
    };
    for (const [purpose, use] of Object.entries(uses)) {
      for (const [issuedFor, challenge] of Object.entries(challenges)) {
        if (issuedFor === purpose) continue;
        expect(await use(challenge), `${issuedFor} for ${purpose}`).toMatchObject(REFUSED);
      }
    }
    const late = { ...challenges };
    clock += 10 * MINUTE;
    for (const [purpose, use] of Object.entries(uses)) {
      const expected = purpose === 'a second step' ? EXPIRED : REFUSED;
      expect(await use(late[purpose] ?? ''), purpose).toMatchObject(expected);
    }
    expect(await signIn(at, owner, authenticator)).toMatchObject(SIGNED_IN);
  });

  test('another factor needs the proof of an existing one, whatever else proves the identity', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator } = await enrolled(owner);
    const { challenge, passkey_options: options } = (
      await at.anonymous.rest('POST', '/sessions', { username: owner.email, password: OWNER_PASSWORD })
    ).body;
    const passkey = authenticator.use(options);
    const { headers } = await at.anonymous.rest('POST', '/sessions/second_factor', { challenge, passkey });
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const inSession = async (field: string, input: Parameters): Promise<Json> => {
      const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`;
      const query = `mutation ($input: ${type}!) { ${field}(input: $input) { __typename
        ... on ServiceError { code message } } }`;
      const json = { host: owner.host, cookie, 'content-type': 'application/json' };
      const body = JSON.stringify({ query, variables: { input } });
      return JSON.parse((await send(service.url, { method: 'POST', path: '/graphql', headers: json, body })).text).data[
        field
      ];
    };
    const withKey = (field: string, input: Parameters) => attempt(owner, field, input);
    const missing = { message: 'A proof with your second factor is required.' };
    for (const [how, run] of Object.entries({ 'a default key': withKey, 'a recent session': inSession })) {
      for (const field of ['beginPasskey', 'beginSecondFactor']) {
        for (const input of [{}, { currentPassword: OWNER_PASSWORD }]) {
          expect(await run(field, input), `${field} with ${how}`).toMatchObject(missing);
        }
        expect(await run(field, { proof: { code: '000000' } }), `${field} with ${how}`).toMatchObject({
          message: 'Wrong code!',
        });
        expect(await run(field, await proofOf(at.owner, new Authenticator(originOf(owner))))).toMatchObject(REFUSED);
        const { __typename } = await run(field, await proofOf(owner, authenticator));
        expect(__typename, `${field} with ${how}`).toBe(`${field[0]?.toUpperCase()}${field.slice(1)}Payload`);
      }
    }
  });

  test('a factor that was begun without another one is not added beside a later one', async () => {
    const { owner } = await place();
    const { options } = await owner.mutate('beginPasskey', {}, 'options');
    const { secret } = await owner.mutate('beginSecondFactor', {}, 'secret');
    await enrolled(owner);
    const response = new Authenticator(originOf(owner)).create(options);
    expect(await attempt(owner, 'addPasskey', { name: 'Key', response })).toMatchObject(REFUSED);
    expect(await attempt(owner, 'confirmSecondFactor', { code: codeOf(secret) })).toMatchObject({
      message: 'There is no authenticator app to confirm. Begin again.',
    });
  });

  test('passkeys of other people and organizations are refused', async () => {
    const [at, other] = [await place(), await place()];
    const { owner, member } = at;
    const { authenticator } = await enrolled(owner);
    const { authenticator: ofMember } = await enrolled(member);
    const { authenticator: foreign } = await enrolled(other.owner);
    expect(await signIn(at, owner, ofMember)).toMatchObject(REFUSED);
    const own = { origin: originOf(owner), rpId: owner.host.replace(/:\d+$/, '') };
    expect(await signIn(at, owner, foreign, own)).toMatchObject(REFUSED);
    expect(await signInAlone(at, foreign, own)).toMatchObject(REFUSED);
    expect(await attempt(member, 'renamePasskey', { credentialId: authenticator.id, name: 'x' })).toMatchObject({
      __typename: 'NotFoundError',
    });
    const proof = await proofOf(member, ofMember);
    expect(await attempt(member, 'removePasskey', { credentialId: authenticator.id, ...proof })).toMatchObject({
      __typename: 'NotFoundError',
    });
    expect(await attempt(owner, 'replaceRecoveryCodes', await proofOf(owner, ofMember))).toMatchObject(REFUSED);
    // The same credential cannot be added twice, not even by another person.
    const proofs = [
      [member, await proofOf(member, ofMember)],
      [owner, await proofOf(owner, authenticator)],
    ] as const;
    for (const [person, proof] of proofs) {
      expect(await adding(person, authenticator, {}, 'Phone', proof)).toMatchObject({
        message: 'This passkey was added before.',
      });
    }
    expect(await signIn(at, owner, authenticator)).toMatchObject(SIGNED_IN);
  });

  test('an attestation is not read, and unknown transports are dropped', async () => {
    const { owner } = await place();
    const attStmt = new Map<string, string | Uint8Array>([['sig', new Uint8Array([1])]]);
    const forgery = { attestation: { fmt: 'packed', attStmt }, transports: ['usb', 'x'.repeat(1000)] };
    const authenticator = new Authenticator(originOf(owner));
    expect((await adding(owner, authenticator, forgery)).__typename).toBe('AddPasskeyPayload');
    const { transports } = await service.app.db.passkey.findFirstOrThrow({ where: { userId: owner.id } });
    expect(transports).toEqual(['usb']);
  });

  test('one person cannot have too many passkeys, or one with a long name', async () => {
    const { owner } = await place();
    const { max } = TOTALS.passkeys;
    const { authenticator, recoveryCodes } = await enrolled(owner);
    const { options } = await owner.mutate('beginPasskey', { proof: { code: recoveryCodes?.[0] } }, 'options');
    for (let i = 1; i < max; i++) await enrolled(owner, true, await proofOf(owner, authenticator));
    const full = { __typename: 'ConflictError', message: `You cannot have more than ${max} passkeys.` };
    expect(await attempt(owner, 'beginPasskey', {})).toMatchObject(full);
    const response = new Authenticator(originOf(owner)).create(options);
    expect(await attempt(owner, 'addPasskey', { name: 'x', response })).toMatchObject(full);
    for (const name of ['', ' ', 'x'.repeat(101)]) {
      expect(await attempt(owner, 'addPasskey', { name, response })).toMatchObject({ __typename: 'ValidationError' });
    }
    const long = { name: 'x', response: 'x'.repeat(40_001) };
    expect(await attempt(owner, 'addPasskey', long)).toMatchObject({ __typename: 'ValidationError' });
  });

  test('a session needs the password to add or remove a passkey after ten minutes', async () => {
    const at = await place();
    const { owner } = at;
    const { authenticator, recoveryCodes } = await enrolled(owner);
    const first = await at.anonymous.rest('POST', '/sessions', { username: owner.email, password: OWNER_PASSWORD });
    const { challenge, passkey_options: options } = first.body;
    const passkey = authenticator.use(options);
    const { headers } = await at.anonymous.rest('POST', '/sessions/second_factor', { challenge, passkey });
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    clock += 11 * MINUTE;
    const run = async (field: string, input: Parameters) => {
      const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`;
      const query = `mutation ($input: ${type}!) { ${field}(input: $input) { __typename } }`;
      const json = { host: owner.host, cookie, 'content-type': 'application/json' };
      const body = JSON.stringify({ query, variables: { input } });
      const { text } = await send(service.url, { method: 'POST', path: '/graphql', headers: json, body });
      return JSON.parse(text).data[field].__typename;
    };
    expect(await run('beginPasskey', {})).toBe('PasswordRequiredError');
    const removal = { credentialId: authenticator.id, proof: { code: recoveryCodes?.[0] } };
    expect(await run('removePasskey', removal)).toBe('PasswordRequiredError');
    const addition = { proof: { code: recoveryCodes?.[1] }, currentPassword: OWNER_PASSWORD };
    expect(await run('beginPasskey', addition)).toBe('BeginPasskeyPayload');
    expect(await run('removePasskey', { ...removal, currentPassword: OWNER_PASSWORD })).toBe('RemovePasskeyPayload');
  });
});
