import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { send } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { basic, type Person, type Visitor } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

const DAY = 86_400_000;
const PASSWORD = 'correct horse battery';
let clock = Date.UTC(2026, 0, 1);
let service: InProcess;

beforeAll(async () => {
  service = await shareInProcess({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = (options: { password?: string } = {}) => createOrganization({}, { on: service, ...options });

const ask = (person: Person, email: string) => person.rest('PATCH', '/settings', { email });

/** Returns the status, error code and message of a refused request. */
async function refusal(reply: ReturnType<Visitor['rest']>): Promise<readonly unknown[]> {
  const { status, body } = await reply;
  return [status, body.code, body.msg];
}

/** Returns the outgoing emails that are stored for an address, newest first. */
const mailsTo = (recipient: string) =>
  service.app.db.outgoingMail.findMany({ where: { recipient }, orderBy: { id: 'desc' } });

/**
 * Returns the path and query of the confirmation link in the newest email to an address.
 *
 * @param visitor Client of the organization whose host the link must contain.
 */
async function linkTo(address: string, { host }: Visitor): Promise<string> {
  const [mail] = await mailsTo(address);
  const link = /^(\S+)(\/confirm-email\?token=[\w-]{43})$/m.exec(mail?.body ?? '');
  expect(link?.[1]).toBe(`http://${host}`);
  return link?.[2] ?? '';
}

const tokenOf = (link: string) => link.split('=')[1] ?? '';

/** Submits the form on the confirmation page that a link opens. */
const press = ({ url, host }: Visitor, link: string) =>
  send(url, {
    method: 'POST',
    path: '/confirm-email',
    headers: { host, 'content-type': 'application/x-www-form-urlencoded' },
    body: `token=${tokenOf(link)}`,
  });

/** Confirms a change of email address over GraphQL. @returns The payload or the error. */
async function confirm(visitor: Visitor, token: string) {
  const query = `mutation ($input: ConfirmEmailChangeInput!) { confirmEmailChange(input: $input) {
    ... on ConfirmEmailChangePayload { email } ... on ServiceError { code message } } }`;
  return (await visitor.graphql(query, { input: { token } })).data.confirmEmailChange;
}

const BAD_LINK = {
  code: 'BAD_REQUEST',
  message: 'The link was already used, has expired, or is incomplete.',
};
const emailOf = async (person: Person) =>
  (await service.app.db.user.findFirstOrThrow({ where: { id: person.id } })).email;

/** Requests a change of email address. @returns The confirmation link that was sent to the new address. */
async function asked(person: Person, email: string): Promise<string> {
  expect((await ask(person, email)).body).toEqual({ result: 'success', msg: '' });
  return linkTo(email.trim(), person);
}

describe("a user's own address", () => {
  test('changes after the user follows the link sent to the new one and presses the button', async () => {
    const { member, owner, organization } = await place();
    const heard = await owner.receiving({ event_types: ['realm_user'] });
    const link = await asked(member, ' Zoe@New.example ');
    const [mail] = await mailsTo('Zoe@New.example');
    expect(mail?.subject).toBe(`Confirm your new email address for ${organization.name}`);
    expect(mail?.body).toContain(`instead of ${member.email}.`);
    const page = await send(member.url, { method: 'GET', path: link, headers: { host: member.host } });
    expect([page.status, page.headers['cache-control'], page.headers['referrer-policy']]).toEqual([
      ...[200, 'private, no-store, no-transform', 'no-referrer'],
    ]);
    expect(page.headers['content-security-policy']).toContain("form-action 'self'");
    expect(page.text).toContain(`<input type="hidden" name="token" value="${tokenOf(link)}">`);
    // The change is confirmed only by the form on the page, not by opening the page.
    expect([await emailOf(member), await heard()]).toEqual([member.email, []]);
    const done = await press(member, link);
    expect([done.status, done.text.includes('Zoe@New.example')]).toEqual([200, true]);
    expect(await emailOf(member)).toBe('Zoe@New.example');
    const anew = member.as(basic('zoe@new.example', member.apiKey));
    expect((await anew.ok('GET', '/users/me')).delivery_email).toBe('Zoe@New.example');
    expect((await member.rest('GET', '/users/me')).body.code).toBe('INVALID_API_KEY');
    expect(await heard()).toEqual([
      { type: 'realm_user', op: 'update', person: { user_id: member.id, delivery_email: 'Zoe@New.example' } },
      { type: 'realm_user', op: 'update', person: { user_id: member.id, new_email: 'Zoe@New.example' } },
    ]);
    // The previous address receives two emails: about the request and about the change.
    const before = (await mailsTo(member.email)).map(({ body }) => body).join('\n');
    expect(before).toContain('a change of your email address to Zoe@New.example was requested');
    expect(before).toContain('your email address was changed to Zoe@New.example');
  });

  test('is sent only to users who can see it', async () => {
    const { member, administrator, moderator, guest } = await place();
    await member.ok('PATCH', '/settings', { email_address_visibility: 3 });
    const others = [administrator, moderator, guest];
    const heard = await Promise.all(others.map((person) => person.receiving({ event_types: ['realm_user'] })));
    await confirm(member, tokenOf(await asked(member, 'hidden@new.example')));
    const told = {
      type: 'realm_user',
      op: 'update',
      person: { user_id: member.id, delivery_email: 'hidden@new.example' },
    };
    const anew = member.as(basic('hidden@new.example', member.apiKey));
    expect((await anew.rest('GET', '/users/me')).status).toBe(200);
    expect(await Promise.all(heard.map((events) => events()))).toEqual([[told], [], []]);
  });

  test('is confirmed only once, also by concurrent requests', async () => {
    const { member, anonymous } = await place();
    const token = tokenOf(await asked(member, 'once@new.example'));
    const results = await Promise.all([confirm(anonymous, token), confirm(anonymous, token)]);
    expect(results).toEqual(expect.arrayContaining([{ email: 'once@new.example' }, BAD_LINK]));
    expect(await confirm(anonymous, token)).toEqual(BAD_LINK);
    expect(await service.app.db.emailChange.count({ where: { userId: member.id } })).toBe(0);
    const { status, text } = await press(member, `?token=${token}`);
    expect([status, text.includes(BAD_LINK.message)]).toEqual([400, true]);
  });

  test('can change in letter case, because the user is its own holder', async () => {
    const { member } = await place();
    const wanted = member.email.toUpperCase();
    expect((await ask(member, wanted)).status).toBe(200);
    expect(await confirm(member, tokenOf(await linkTo(wanted, member)))).toEqual({ email: wanted });
  });

  test('is confirmed by the newest link only, within a day, in its own organization', async () => {
    const [{ member, anonymous }, other] = [await place(), await place()];
    const first = tokenOf(await asked(member, 'first@new.example'));
    const second = tokenOf(await asked(member, 'second@new.example'));
    expect(await confirm(anonymous, first)).toEqual(BAD_LINK);
    expect(await confirm(other.anonymous, second)).toEqual(BAD_LINK);
    for (const wrong of ['', 'x', second.slice(1), `${second}\0`])
      expect(await confirm(anonymous, wrong)).toEqual(BAD_LINK);
    clock += DAY;
    expect(await confirm(anonymous, second)).toEqual(BAD_LINK);
    clock -= 1;
    expect(await confirm(anonymous, second)).toEqual({ email: 'second@new.example' });
  });

  test('is not confirmed if it is now in use or not allowed', async () => {
    const { member, guest, owner, anonymous } = await place();
    const [one, two] = [await asked(member, 'both@new.example'), await asked(guest, 'BOTH@new.example')].map(tokenOf);
    // If two users concurrently confirm one email address, the unique index of the database refuses one of them.
    const results = await Promise.all([confirm(anonymous, one ?? ''), confirm(anonymous, two ?? '')]);
    expect(results.map(({ message }) => message)).toEqual(
      expect.arrayContaining([undefined, 'Email is already in use.']),
    );
    const late = tokenOf(await asked(owner, 'late@new.example'));
    await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: false });
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
    expect((await confirm(anonymous, late)).message).toBe("Email 'late@new.example' not allowed in this organization");
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: false });
    expect(await confirm(anonymous, late)).toEqual({ email: 'late@new.example' });
  });

  test('is not confirmed for a user who can no longer sign in', async () => {
    const { member, anonymous } = await place();
    const token = tokenOf(await asked(member, 'gone@new.example'));
    const where = { id: member.id };
    await service.app.db.user.updateMany({ where, data: { isActive: false } });
    expect((await confirm(anonymous, token)).code).toBe('USER_DEACTIVATED');
    expect(await emailOf(member)).toBe(member.email);
  });

  test('must be valid, unused and allowed', async () => {
    const { member, guest, owner, administrator, bot } = await place();
    expect(await refusal(ask(bot, 'a@new.example'))).toEqual([
      ...[400, 'BAD_REQUEST', 'This endpoint does not accept bot requests.'],
    ]);
    for (const wrong of ['', 'nobody', 'a@b@', 'a b@c.example', 'x@users.invalid', 'a\r\nBcc: b@c.example']) {
      expect(await refusal(ask(member, wrong)), wrong).toEqual([400, 'BAD_REQUEST', 'Bad name or username']);
    }
    const taken = [400, 'BAD_REQUEST', 'Email is already in use.'];
    expect(await refusal(ask(member, guest.email.toUpperCase()))).toEqual(taken);
    await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: false });
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
    expect((await refusal(ask(member, 'a@other.example')))[2]).toMatch(/not allowed in this organization$/);
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: false, email_changes_disabled: true });
    const disabled = [400, 'BAD_REQUEST', 'Email address changes are disabled in this organization.'];
    expect(await refusal(ask(member, 'a@new.example'))).toEqual(disabled);
    // A request for the current address succeeds, but changes nothing and stores no request.
    expect((await ask(member, member.email)).status).toBe(200);
    await asked(administrator, 'admin@new.example');
    expect(await service.app.db.emailChange.count({ where: { userId: member.id } })).toBe(0);
  });

  test('that a hidden user has looks unused: only that user is notified, by an email without a link', async () => {
    const { member, guest, owner, anonymous } = await place();
    await guest.ok('PATCH', '/settings', { email_address_visibility: 3 });
    const free = await ask(member, 'free@new.example');
    const hidden = await ask(member, guest.email.toUpperCase());
    expect([hidden.status, hidden.body]).toEqual([free.status, free.body]);
    const [mail] = await mailsTo(guest.email.toUpperCase());
    expect(mail?.body).toContain('where you already use it');
    expect(mail?.body).not.toMatch(/token|@t\w+\.example/);
    // Every new request makes the previous one of the user invalid, even if the new address is in use.
    expect(await confirm(anonymous, tokenOf(await linkTo('free@new.example', member)))).toEqual(BAD_LINK);
    expect(await refusal(ask(owner, guest.email))).toEqual([400, 'BAD_REQUEST', 'Email is already in use.']);
    // The stored request cannot give the email address to the member, even with a guessed token.
    const row = await service.app.db.emailChange.findFirstOrThrow({ where: { userId: member.id } });
    expect(row.newEmail).toBe(guest.email.toUpperCase());
    expect([await emailOf(guest), await emailOf(member)]).toEqual([guest.email, member.email]);
  });

  test('can be requested twice within an hour, including requests for addresses in use', async () => {
    const { member, guest, owner } = await place();
    await asked(member, 'one@new.example');
    await ask(member, owner.email);
    const { status, body, headers } = await ask(member, 'three@new.example');
    expect([status, body.code]).toEqual([429, 'RATE_LIMIT_HIT']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(3000);
    const typed = await member.tryMutation('updateSettings', { email: 'four@new.example' });
    expect(typed).toMatchObject({ __typename: 'RateLimitHitError', code: 'RATE_LIMIT_HIT' });
    // The number of requests is limited separately for each user.
    await asked(guest, 'three@new.example');
  });

  test('is stored with only a hash of its token', async () => {
    const { member } = await place();
    const token = tokenOf(await asked(member, 'hash@new.example'));
    const { tokenHash } = await service.app.db.emailChange.findFirstOrThrow({ where: { userId: member.id } });
    expect(tokenHash).toHaveLength(32);
    expect(Buffer.from(tokenHash).toString('base64url')).not.toBe(token);
  });
});

describe("a user's own password", () => {
  const signIn = async ({ anonymous, owner }: Organization, password: string) =>
    (await anonymous.rest('POST', '/fetch_api_key', { username: owner.email, password })).status;
  const change = (person: Person, old_password: string | undefined, new_password: string) =>
    person.rest('PATCH', '/settings', { old_password, new_password });

  test('can be changed with the old one; the API key stays', async () => {
    const made = await place({ password: PASSWORD });
    const { owner } = made;
    await using stream = await owner.events('position');
    expect((await change(owner, PASSWORD, 'a new password')).body).toEqual({ result: 'success', msg: '' });
    expect([await signIn(made, PASSWORD), await signIn(made, 'a new password')]).toEqual([401, 200]);
    const input = { oldPassword: 'a new password', newPassword: PASSWORD };
    await owner.mutate('updateSettings', input, 'user { databaseId }');
    expect(await signIn(made, PASSWORD)).toBe(200);
    // Later requests with this API key over this connection still succeed.
    await owner.ok('PATCH', '/settings', { timezone: 'Europe/Kiev' });
    expect((await stream.next())['position']).toBeGreaterThan(0);
  });

  test('stays unchanged if the old one is wrong or missing, or the new one is weak', async () => {
    const made = await place({ password: PASSWORD });
    const { owner, member } = made;
    const wrong = [400, 'BAD_REQUEST', 'Wrong password!'];
    expect(await refusal(change(owner, undefined, 'a new password'))).toEqual(wrong);
    expect(await refusal(change(owner, `${PASSWORD}\0`, 'a new password'))).toEqual(wrong);
    // A user without a password cannot give an old password.
    expect(await refusal(change(member, '', 'a new password'))).toEqual(wrong);
    expect(await refusal(change(owner, PASSWORD, 'short'))).toEqual([400, 'BAD_REQUEST', 'New password is too weak!']);
    expect((await refusal(change(owner, PASSWORD, 'x'.repeat(101))))[1]).toBe('BAD_REQUEST');
    // If the password is refused, the request changes none of its other fields either.
    const both = { old_password: 'wrong', new_password: 'a new password', timezone: 'Europe/Kiev' };
    expect((await owner.rest('PATCH', '/settings', both)).status).toBe(400);
    expect((await owner.ok('GET', '/users/me')).timezone).toBe('');
    // If no new password is given, the old one is not checked.
    await owner.ok('PATCH', '/settings', { old_password: 'wrong' });
    expect(await signIn(made, PASSWORD)).toBe(200);
  });

  test('can be guessed at five times, including attempts to sign in', async () => {
    const made = await place({ password: PASSWORD });
    const { owner } = made;
    for (let i = 1; i <= 3; i++) expect((await change(owner, 'wrong', 'a new password')).status).toBe(400);
    for (let i = 1; i <= 2; i++) expect(await signIn(made, 'wrong')).toBe(401);
    expect((await refusal(change(owner, PASSWORD, 'a new password'))).slice(0, 2)).toEqual([429, 'RATE_LIMIT_HIT']);
    expect(await signIn(made, PASSWORD)).toBe(429);
  });

  test('can be changed under an idempotency key during other attempts, without waits in a transaction', async () => {
    const made = await place({ password: PASSWORD });
    const { owner } = made;
    const keyed = (key: string, old_password: string) =>
      owner.rest(
        'PATCH',
        '/settings',
        { old_password, new_password: 'a new password' },
        { headers: { 'idempotency-key': key } },
      );
    const tries = await Promise.all([
      signIn(made, 'wrong'),
      keyed('a', 'wrong'),
      signIn(made, PASSWORD),
      keyed('b', 'wrong'),
    ]);
    expect(tries.map((reply) => (typeof reply === 'number' ? reply : reply.body.msg))).toEqual([
      ...[401, 'Wrong password!', 200, 'Wrong password!'],
    ]);
    const replies = [await keyed('c', PASSWORD), await keyed('c', PASSWORD)];
    for (const { body } of replies) expect(body).toEqual({ result: 'success', msg: '' });
    expect(await signIn(made, 'a new password')).toBe(200);
  });

  test('is set by one of two concurrent requests', async () => {
    const made = await place({ password: PASSWORD });
    const replies = await Promise.all(
      ['the first one', 'the second one'].map((next) => change(made.owner, PASSWORD, next)),
    );
    expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 400]);
  });
});

describe('the address of another user', () => {
  async function granted() {
    const made = await place();
    const { administrator, organization } = made;
    const right = { org: organization.subdomain, user: administrator.email, right: 'can_change_user_emails' };
    await runCommand(service.dataDir, 'user grant', right);
    return made;
  }

  test('is changed immediately by an administrator with the permission, in both APIs', async () => {
    const { administrator, member, owner, anonymous } = await granted();
    const heard = await owner.receiving({ event_types: ['realm_user'] });
    await asked(member, 'own@new.example');
    await administrator.ok('PATCH', `/users/${member.id}`, { new_email: 'new@new.example' });
    await administrator.ok('PATCH', '/users/new@new.example', { new_email: 'newer@new.example' });
    const input = { userId: member.id, newEmail: 'newest@new.example' };
    const { user } = await administrator.mutate('updateUser', input, 'user { email }');
    expect(user.email).toBe('newest@new.example');
    const told = (address: string) => [
      { type: 'realm_user', op: 'update', person: { user_id: member.id, delivery_email: address } },
      { type: 'realm_user', op: 'update', person: { user_id: member.id, new_email: address } },
    ];
    const addresses = ['new@new.example', 'newer@new.example', 'newest@new.example'];
    expect(await heard()).toEqual(addresses.flatMap(told));
    // The change of address that the user requested earlier is now invalid.
    expect(await confirm(anonymous, tokenOf(await linkTo('own@new.example', member)))).toEqual(BAD_LINK);
  });

  test('is not changed without the permission, or to an invalid or used address', async () => {
    const { administrator, moderator, member, owner, guest } = await granted();
    const give = (person: Person, new_email: string) =>
      refusal(person.rest('PATCH', `/users/${member.id}`, { new_email, full_name: 'Changed' }));
    expect(await give(owner, 'a@new.example')).toEqual([
      400,
      'BAD_REQUEST',
      'User not authorized to change user emails',
    ]);
    expect((await give(moderator, 'a@new.example'))[1]).toBe('UNAUTHORIZED_PRINCIPAL');
    expect(await give(administrator, 'nobody')).toEqual([400, 'BAD_REQUEST', 'Invalid new email address.']);
    expect(await give(administrator, guest.email.toUpperCase())).toEqual([
      ...[400, 'BAD_REQUEST', 'New email value error: Email is already in use.'],
    ]);
    expect(await refusal(administrator.rest('PATCH', '/users/2000000000', { new_email: 'a@new.example' }))).toEqual([
      ...[400, 'BAD_REQUEST', 'No such user'],
    ]);
    expect((await owner.ok('GET', `/users/${member.id}`)).user).toMatchObject({
      ...{ full_name: 'member', delivery_email: member.email },
    });
  });
});
