import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { countResetRequest } from '../../src/administration/password-resets/limits.ts';
import { Authenticator } from '../helpers/authenticator.ts';
import { runCommand } from '../helpers/control.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Visitor } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const HOUR = 3_600_000;
const PASSWORD = 'a new good password';
// Must not be behind the clock of the database, which sets the time at which an email is queued.
let clock = Date.now() + 60_000;
let service: InProcess;
/** A service without a mail server. */
let silent: InProcess;

beforeAll(async () => {
  const now = () => new Date(clock);
  service = await startOnDatabaseOfRun({ now });
  silent = await startOnDatabaseOfRun({ env: { SMTP_URL: '' }, now });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await silent[Symbol.asyncDispose]();
});

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });

async function request(visitor: Visitor, email: string): Promise<Json> {
  const query = `mutation ($input: RequestPasswordResetInput!) { requestPasswordReset(input: $input) {
    __typename ... on RequestPasswordResetPayload { email position } ... on ServiceError { code message } } }`;
  return (await visitor.graphql(query, { input: { email } })).data.requestPasswordReset;
}

async function reset(visitor: Visitor, token: string, newPassword = PASSWORD): Promise<Json> {
  const query = `mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) {
    __typename ... on ServiceError { code message path } } }`;
  return (await visitor.graphql(query, { input: { token, newPassword } })).data.resetPassword;
}

const mailsTo = (recipient: string, { app } = service) =>
  app.db.outgoingMail.findMany({ where: { recipient, subject: { startsWith: 'Choose' } }, orderBy: { id: 'desc' } });

const LINK = /^(\S+)\/reset-password\?token=([\w-]{43})$/m;

/** Waits for the email number `count` to an address. @returns The token in it. */
async function tokenTo(address: string, { host }: Visitor, count = 1): Promise<string> {
  await expect.poll(async () => (await mailsTo(address)).length).toBe(count);
  const [mail] = await mailsTo(address);
  const [, origin, token = ''] = LINK.exec(mail?.body ?? '') ?? [];
  expect(origin).toBe(`http://${host}`);
  return token;
}

const signIn = async (visitor: Visitor, username: string, password: string) =>
  (await visitor.rest('POST', '/sessions', { username, password })).status;

const BAD_LINK = {
  code: 'BAD_REQUEST',
  message: 'The link was already used, was replaced by a newer one, has expired, or is incomplete.',
};

describe('a forgotten password', () => {
  test('is replaced by the link in an email, which ends all sessions and replaces the API key', async () => {
    const { owner, anonymous } = await place();
    const { headers } = await owner.rest('POST', '/sessions', { username: owner.email, password: OWNER_PASSWORD });
    const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
    const isSignedIn = async () =>
      (await owner.as(undefined).rest('GET', '/users/me', {}, { headers: { cookie } })).status;
    expect(await isSignedIn()).toBe(200);
    expect((await request(anonymous, ` ${owner.email.toUpperCase()}`))['__typename']).toBe(
      'RequestPasswordResetPayload',
    );
    const token = await tokenTo(owner.email, owner);
    const page = await send(owner.url, {
      method: 'GET',
      path: `/reset-password?token=${token}`,
      headers: { host: owner.host },
    });
    expect([page.status, page.headers['referrer-policy'], page.text.includes(`value="${token}"`)]).toEqual([
      ...[200, 'no-referrer', true],
    ]);
    expect(await isSignedIn()).toBe(200);
    const submit = (fields: Readonly<Record<string, string>>, more: Readonly<Record<string, string>> = {}) =>
      send(owner.url, {
        method: 'POST',
        path: '/reset-password',
        headers: { host: owner.host, 'content-type': 'application/x-www-form-urlencoded', ...more },
        body: new URLSearchParams(fields).toString(),
      });
    const good = { token, password: PASSWORD, repeated: PASSWORD };
    expect((await submit(good, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await submit({ ...good, repeated: 'other' })).text).toContain('The passwords differ.');
    expect((await submit({ token, password: 'short', repeated: 'short' })).text).toContain('password is too short.');
    const done = await submit(good);
    expect([done.status, done.text.includes('Password changed')]).toEqual([200, true]);
    expect([await isSignedIn(), (await owner.rest('GET', '/users/me')).status]).toEqual([401, 401]);
    expect(await signIn(anonymous, owner.email, OWNER_PASSWORD)).toBe(401);
    expect(await signIn(anonymous, owner.email, PASSWORD)).toBe(200);
    const subjects = await service.app.db.outgoingMail.findMany({ where: { recipient: owner.email } });
    expect(subjects.map(({ body }) => body).join()).toContain('your password was changed.');
    expect((await submit(good)).text).toContain('was already used');
  });

  test('lists the credentials that stay valid in the email about it, and how to remove them', async () => {
    const { owner, anonymous, organization } = await place();
    const lastMail = async () => {
      const where = { recipient: owner.email, subject: { startsWith: 'Your password' } };
      return (await service.app.db.outgoingMail.findFirst({ where, orderBy: { id: 'desc' } }))?.body ?? '';
    };
    const { options } = await owner.mutate('beginPasskey', {}, 'options');
    const response = new Authenticator(`http://${owner.host}`).create(options);
    await owner.mutate('addPasskey', { name: 'Phone', response }, '__typename');
    await owner.mutate('createApiKey', { name: 'Deployment', scopes: ['READ'] }, 'secret');
    const identity = { organizationId: organization.id, userId: owner.id, issuer: 'https://id.example', subject: 'x' };
    await service.app.db.linkedIdentity.create({ data: { ...identity, createdAt: new Date(clock) } });
    await owner.ok('PATCH', '/settings', { old_password: OWNER_PASSWORD, new_password: 'another good password' });
    const settings = `http://${owner.host}/settings`;
    const day = new Date(clock).toISOString().slice(0, 10);
    const changed = await lastMail();
    for (const line of [
      ...[`- the passkey "Phone", added on ${day}`, `- https://id.example, linked on ${day}`],
      ...[`- the API key "Deployment", created on ${day}`, '- the API keys of your bot bot'],
      ...[`remove it at ${settings}/account`, `remove it at ${settings}/api-keys`],
    ]) {
      expect(changed).toContain(line);
    }
    await request(anonymous, owner.email);
    expect((await reset(anonymous, await tokenTo(owner.email, owner)))['__typename']).toBe('ResetPasswordPayload');
    const afterReset = await lastMail();
    expect(afterReset).toContain(`- the passkey "Phone", added on ${day}`);
    // The reset revokes API keys with a name.
    expect(afterReset).not.toContain('Deployment');
    expect(afterReset).toContain('contact the administrators');
  });

  test('ends a change of address that another person has started', async () => {
    const { owner, anonymous } = await place();
    const theirs = `intruder.${owner.id}@evil.example`;
    await owner.ok('PATCH', '/settings', { email: theirs });
    const [mail] = await service.app.db.outgoingMail.findMany({ where: { recipient: theirs } });
    const [, token = ''] = /confirm-email\?token=([\w-]{43})$/m.exec(mail?.body ?? '') ?? [];
    expect(token).toHaveLength(43);
    await request(anonymous, owner.email);
    expect((await reset(anonymous, await tokenTo(owner.email, owner)))['__typename']).toBe('ResetPasswordPayload');
    const query = `mutation ($input: ConfirmEmailChangeInput!) { confirmEmailChange(input: $input) {
      __typename ... on ServiceError { message } } }`;
    expect((await anonymous.graphql(query, { input: { token } })).data.confirmEmailChange).toEqual({
      ...{ __typename: 'NotFoundError', message: 'The link was already used, has expired, or is incomplete.' },
    });
    expect(await signIn(anonymous, owner.email, PASSWORD)).toBe(200);
  });

  test('is replaced once, also by concurrent requests, and by the newest link only, within an hour', async () => {
    const [{ owner, anonymous }, other] = [await place(), await place()];
    await request(anonymous, owner.email);
    const first = await tokenTo(owner.email, owner);
    await request(anonymous, owner.email);
    const second = await tokenTo(owner.email, owner, 2);
    expect(await reset(anonymous, first)).toMatchObject(BAD_LINK);
    expect(await reset(other.anonymous, second)).toMatchObject(BAD_LINK);
    for (const wrong of ['', 'x', second.slice(1), `${second}\0`, 'A'.repeat(43)]) {
      expect(await reset(anonymous, wrong)).toMatchObject({ ...BAD_LINK, path: ['input', 'token'] });
    }
    clock += HOUR;
    expect(await reset(anonymous, second)).toMatchObject(BAD_LINK);
    clock -= 1;
    expect(await reset(anonymous, second, owner.email)).toMatchObject({ __typename: 'ValidationError' });
    const results = await Promise.all([1, 2].map(() => reset(anonymous, second)));
    expect(results.map((result) => result['__typename']).sort()).toEqual(['NotFoundError', 'ResetPasswordPayload']);
  });

  test('can be requested for any address with the same result, twice per hour', async () => {
    const { owner, member, guest, bot, anonymous } = await place();
    await owner.ok('DELETE', `/users/${guest.id}`);
    for (const email of [member.email, guest.email, bot.email, 'nobody@nowhere.example']) {
      for (let i = 0; i < 2; i++) {
        expect(await request(anonymous, email)).toEqual({
          ...{ __typename: 'RequestPasswordResetPayload', email, position: null },
        });
      }
      expect(await request(anonymous, email)).toMatchObject({ code: 'RATE_LIMIT_HIT' });
    }
    await tokenTo(member.email, member, 2);
    for (const email of [guest.email, bot.email, 'nobody@nowhere.example']) expect(await mailsTo(email)).toEqual([]);
    expect(await request(anonymous, 'nobody')).toMatchObject({ __typename: 'ValidationError' });
  });

  // Redis counts by its own clock.
  test.skipIf((process.env['REDIS_URL'] ?? '') !== '')(
    'can be requested five times per day for an address',
    async () => {
      const { organization } = await place();
      vi.useFakeTimers({ toFake: ['Date'] });
      onTestFinished(() => void vi.useRealTimers());
      const accepted = async (address: string) => {
        const counted = countResetRequest({ app: service.app, caller: undefined }, organization.id, address);
        const code = await counted.catch((error) => error.code);
        expect([undefined, 'RATE_LIMIT_HIT']).toContain(code);
        return code === undefined;
      };
      const results: boolean[] = [];
      for (let hour = 0; hour < 4; hour++) {
        for (let i = 0; i < 2; i++) results.push(await accepted('iris@new.example'));
        vi.setSystemTime(Date.now() + HOUR);
      }
      expect(results).toEqual([true, true, true, true, true, false, false, false]);
      expect(await accepted('mona@new.example')).toBe(true);
      vi.setSystemTime(Date.now() + 24 * HOUR);
      expect(await accepted('iris@new.example')).toBe(true);
    },
  );

  test('takes as long for an unknown address: no query precedes the response', async () => {
    const { member, anonymous } = await place();
    // A lock that the email has to wait for does not delay the response.
    const { db } = service.app;
    if (process.env['DATABASE_URL']) {
      await db.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT 1 FROM user_account WHERE id = ${member.id} FOR UPDATE`;
        expect((await request(anonymous, member.email))['__typename']).toBe('RequestPasswordResetPayload');
        expect(await mailsTo(member.email)).toEqual([]);
      });
    } else expect((await request(anonymous, member.email))['__typename']).toBe('RequestPasswordResetPayload');
    await tokenTo(member.email, member);
  });

  test.skipIf(!process.env['DATABASE_URL'])('is not sent to an address that changes at the same time', async () => {
    const { owner, member, guest, anonymous } = await place();
    const { db } = service.app;
    await db.$transaction(async (tx) => {
      const ids = [member.id, guest.id];
      await tx.$queryRaw`SELECT 1 FROM user_account WHERE id = ANY(${ids}::int[]) FOR UPDATE`;
      for (const { email } of [member, guest]) await request(anonymous, email);
      // The requests read the users, and then wait for the lock.
      await new Promise((resolve) => setTimeout(resolve, 500));
      await tx.user.updateMany({ where: { id: member.id }, data: { email: 'moved@new.example' } });
      await tx.user.updateMany({ where: { id: guest.id }, data: { isActive: false } });
    });
    await request(anonymous, owner.email);
    await tokenTo(owner.email, owner);
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (const email of [member.email, guest.email, 'moved@new.example']) expect(await mailsTo(email)).toEqual([]);
    expect(await db.passwordReset.count({ where: { userId: { in: [member.id, guest.id] } } })).toBe(0);
  });

  test('lets its user sign in, even if attempts with the old password have failed too often', async () => {
    const { owner, anonymous } = await place();
    for (let i = 0; i < 5; i++) await signIn(anonymous, owner.email, 'wrong');
    expect(await signIn(anonymous, owner.email, OWNER_PASSWORD)).toBe(429);
    await request(anonymous, owner.email);
    await reset(anonymous, await tokenTo(owner.email, owner));
    expect(await signIn(anonymous, owner.email, PASSWORD)).toBe(200);
  });

  test('keeps the old password if the account was deactivated, or changed its password or address', async () => {
    const { owner, member, guest, administrator, moderator, anonymous, organization } = await place();
    const tokens: string[] = [];
    for (const person of [owner, member, guest, moderator]) {
      await request(anonymous, person.email);
      tokens.push(await tokenTo(person.email, person));
    }
    await owner.ok('PATCH', '/settings', { old_password: OWNER_PASSWORD, new_password: 'another good password' });
    const right = { org: organization.subdomain, user: administrator.email, right: 'can_change_user_emails' };
    await runCommand(service.dataDir, 'user grant', right);
    await administrator.ok('PATCH', `/users/${member.id}`, { new_email: 'moved@new.example' });
    await owner.ok('DELETE', `/users/${guest.id}`);
    // The person can confirm another address as well.
    await moderator.ok('PATCH', '/settings', { email: 'own@new.example' });
    const [confirmation] = await service.app.db.outgoingMail.findMany({ where: { recipient: 'own@new.example' } });
    const [, confirming = ''] = /confirm-email\?token=([\w-]{43})$/m.exec(confirmation?.body ?? '') ?? [];
    const query = `mutation ($input: ConfirmEmailChangeInput!) { confirmEmailChange(input: $input) { __typename } }`;
    const { data } = await anonymous.graphql(query, { input: { token: confirming } });
    expect(data.confirmEmailChange.__typename).toBe('ConfirmEmailChangePayload');
    for (const token of tokens) expect(await reset(anonymous, token)).toMatchObject(BAD_LINK);
    const hashes = await service.app.db.passwordReset.count({ where: { organizationId: organization.id } });
    expect(hashes).toBe(0);
  });

  test('is stored as a hash of the token', async () => {
    const { owner, anonymous } = await place();
    await request(anonymous, owner.email);
    const token = await tokenTo(owner.email, owner);
    const { tokenHash } = await service.app.db.passwordReset.findFirstOrThrow({ where: { userId: owner.id } });
    expect(tokenHash).toHaveLength(32);
    expect(Buffer.from(tokenHash).toString('base64url')).not.toBe(token);
  });
});

describe('a link to a new password', () => {
  test('is sent by administrators to any person', async () => {
    const { owner, administrator, moderator, member, guest, bot } = await place();
    const send = (by: typeof owner, userId: number) => by.tryMutation('sendPasswordReset', { userId });
    expect(await send(administrator, owner.id)).toMatchObject({ __typename: 'SendPasswordResetPayload' });
    await tokenTo(owner.email, owner);
    expect(await send(moderator, member.id)).toMatchObject({ code: 'UNAUTHORIZED_PRINCIPAL' });
    expect(await send(owner, bot.id)).toMatchObject({ __typename: 'ForbiddenError' });
    expect(await send(owner, 2_000_000_000)).toMatchObject({ __typename: 'NotFoundError' });
    await owner.ok('DELETE', `/users/${guest.id}`);
    expect(await send(owner, guest.id)).toMatchObject({ __typename: 'ConflictError', message: 'User is deactivated' });
    const may = async (by: typeof owner, id: number) => {
      const { users } = await by.query('{ users(first: 20) { nodes { databaseId viewerCanSendPasswordReset } } }');
      return users.nodes.find((one: Json) => one.databaseId === id)?.viewerCanSendPasswordReset;
    };
    expect([await may(administrator, member.id), await may(moderator, member.id), await may(owner, guest.id)]).toEqual([
      ...[true, false, false],
    ]);
  });

  test('is printed for the operator, also without a mail server', async () => {
    const { member, owner, anonymous, organization } = await createOrganization({}, { on: silent });
    const message = 'This server cannot send email. Ask an administrator of the organization for help.';
    expect(await request(anonymous, member.email)).toMatchObject({ __typename: 'ConflictError', message });
    expect(await owner.tryMutation('sendPasswordReset', { userId: member.id })).toMatchObject({ message });
    const at = { org: organization.subdomain, user: member.email };
    const { url } = (await runCommand(silent.dataDir, 'user reset-password', at)) as { readonly url: string };
    const [, token = ''] = new RegExp(`^http://${member.host}/reset-password\\?token=([\\w-]{43})$`).exec(url) ?? [];
    expect(await reset(anonymous, token)).toEqual({ __typename: 'ResetPasswordPayload' });
    expect(await signIn(anonymous, member.email, PASSWORD)).toBe(200);
    const { data } = await anonymous.graphql('{ serverSettings { sendsEmail } }');
    expect(data.serverSettings.sendsEmail).toBe(false);
  });
});
