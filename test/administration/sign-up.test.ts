import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countSignUpRequest } from '../../src/administration/join-limits.ts';
import { runCommand } from '../helpers/control.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { openMailbox } from '../helpers/mailbox.ts';
import { Visitor } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PASSWORD = 'correct horse battery';
// Not before the clock of the database, which queues emails by its own time.
let clock = Date.now() + 60_000;
/** A service whose emails stay queued, so that tests can read them. */
let service: InProcess;
/** A service without a mail server. */
let silent: InProcess;

beforeAll(async () => {
  const now = () => new Date(clock);
  const env = { INVITATIONS_PER_DAY: '8', ORGANIZATION_CREATION: 'on' };
  service = await startOnDatabaseOfRun({ env, now });
  silent = await startOnDatabaseOfRun({ env: { SMTP_URL: '', ORGANIZATION_CREATION: 'on' }, now });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await silent[Symbol.asyncDispose]();
});

let made = 0;
const newAddress = () => `person${++made}@new.example`;

/** Creates an organization that people can join without an invitation. */
async function openPlace(on = service) {
  const place = await createOrganization({}, { on, password: OWNER_PASSWORD });
  await place.owner.ok('PATCH', '/realm', { invite_required: false });
  return place;
}

const mailsTo = (recipient: string) =>
  service.app.db.outgoingMail.findMany({ where: { recipient }, orderBy: { id: 'desc' } });

/** Returns the token in the newest email to an address. Checks the host of its link. */
async function tokenTo(address: string, host: string): Promise<string> {
  const [mail] = await mailsTo(address);
  const [, origin, token = ''] = /^(\S+)\/sign-up\/([\w-]{43})$/m.exec(mail?.body ?? '') ?? [];
  expect(origin).toBe(`http://${host}`);
  return token;
}

async function request(visitor: Visitor, email: string): Promise<Json> {
  const query = `mutation ($input: RequestSignUpInput!) { requestSignUp(input: $input) {
    __typename ... on RequestSignUpPayload { email } ... on ServiceError { code message } } }`;
  const { data, errors } = await visitor.graphql(query, { input: { email } });
  return data?.requestSignUp ?? errors?.[0];
}

async function complete(visitor: Visitor, token: string, fullName = 'Zoe Zane'): Promise<Json> {
  const query = `mutation ($input: CompleteSignUpInput!) { completeSignUp(input: $input) {
    __typename ... on CompleteSignUpPayload { userId email } ... on ServiceError { code message path } } }`;
  const { data, errors } = await visitor.graphql(query, { input: { token, fullName, password: PASSWORD } });
  return data?.completeSignUp ?? errors?.[0];
}

const get = ({ url, host }: Visitor, path: string) => send(url, { method: 'GET', path, headers: { host } });

const submit = (
  { url, host }: Visitor,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) =>
  send(url, {
    method: 'POST',
    path,
    headers: { host, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  });

const ZOE = { name: 'Zoe Zane', password: PASSWORD, repeated: PASSWORD };

const accepts = async (visitor: Visitor) =>
  (await visitor.graphql('{ serverSettings { acceptsSignUps } }')).data.serverSettings.acceptsSignUps;

describe('signing up', () => {
  test('confirms the address, creates a member in the default channels, and signs the browser in', async () => {
    const { owner, member, anonymous, organization } = await openPlace();
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'general' }] });
    const { stream_id } = await owner.ok('GET', '/get_stream_id', { stream: 'general' });
    await owner.ok('PATCH', `/streams/${stream_id}`, { is_default_stream: true });
    await owner.ok('PATCH', '/realm', { welcome_message_custom_text: 'Ahoy' });
    expect(await accepts(anonymous)).toBe(true);
    const events = await member.receiving({ event_types: ['realm_user'] });
    const email = newAddress();
    expect((await get(anonymous, '/sign-up')).text).toContain(`you can join ${organization.name}`);
    const asked = await submit(anonymous, '/sign-up', { email });
    expect([asked.status, asked.text.includes('Check your email')]).toEqual([200, true]);
    const token = await tokenTo(email, owner.host);
    const page = await get(anonymous, `/sign-up/${token}`);
    expect([page.status, page.headers['referrer-policy'], page.text.includes(email)]).toEqual([
      200,
      'no-referrer',
      true,
    ]);
    expect(await service.app.db.user.findFirst({ where: { email } })).toBeNull();
    const weak = await submit(anonymous, `/sign-up/${token}`, { ...ZOE, password: 'short', repeated: 'short' });
    expect([weak.status, weak.text.includes('password is too short')]).toEqual([400, true]);
    const done = await submit(anonymous, `/sign-up/${token}`, ZOE);
    expect([done.status, done.headers['location']]).toEqual([303, '/']);
    const cookie = String(done.headers['set-cookie']).split(';')[0] ?? '';
    const { body } = await owner.as(undefined).rest('GET', '/users/me', {}, { headers: { cookie } });
    expect(body).toMatchObject({ full_name: 'Zoe Zane', delivery_email: email, role: 400 });
    const subscribed = await owner.as(undefined).rest('GET', '/users/me/subscriptions', {}, { headers: { cookie } });
    expect(subscribed.body.subscriptions.map(({ name }: Json) => name)).toEqual(['general']);
    expect((await events()).map(({ op }) => op)).toEqual(['add']);
    const where = { organizationId: organization.id, content: 'Ahoy' };
    expect(await service.app.db.message.count({ where })).toBe(1);
    const again = await complete(anonymous, token);
    expect(again['message']).toBe('This link was already used, has expired, or is incomplete.');
  });

  test('is refused where invitations are required, without a mail server, and in a deactivated organization', async () => {
    const closed = await createOrganization({}, { on: service });
    expect(await accepts(closed.anonymous)).toBe(false);
    const message = 'New users need an invitation to this organization. Ask a member for one.';
    expect(await request(closed.anonymous, newAddress())).toMatchObject({ __typename: 'ConflictError', message });
    const page = await submit(closed.anonymous, '/sign-up', { email: newAddress() });
    expect([page.status, page.text.includes('need an invitation')]).toEqual([400, true]);
    const mute = await openPlace(silent);
    expect(await accepts(mute.anonymous)).toBe(false);
    expect((await request(mute.anonymous, newAddress()))['message']).toMatch(/^This server cannot send email\. Ask/);
    const { owner, anonymous } = await openPlace();
    const email = newAddress();
    await request(anonymous, email);
    const token = await tokenTo(email, owner.host);
    await owner.ok('PATCH', '/realm', { invite_required: true });
    expect((await complete(anonymous, token))['message']).toBe(message);
    await owner.ok('PATCH', '/realm', { invite_required: false });
    expect((await complete(anonymous, token))['email']).toBe(email);
  });

  test('accepts addresses of the allowed domains only, and no disposable ones', async () => {
    const { owner, anonymous } = await openPlace();
    for (const host of ['mailinator.com', 'x.Mailinator.com']) {
      expect((await request(anonymous, `zoe@${host}`))['message']).toMatch(
        /^Disposable email addresses are not allowed/,
      );
    }
    const typed = await owner.rest('POST', '/invites', { invitee_emails: 'zoe@mailinator.com', stream_ids: [] });
    expect(typed.body.errors[0][1]).toBe('This email address is not allowed in the organization.');
    const own = await owner.rest('PATCH', '/settings', { email: 'zoe@mailinator.com' });
    expect(own.body.msg).toMatch(/^Disposable email addresses are not allowed/);
    await owner.ok('PATCH', '/realm', { disallow_disposable_email_addresses: false });
    expect((await request(anonymous, 'zoe@mailinator.com'))['email']).toBe('zoe@mailinator.com');
    await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: true });
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
    const refused = await request(anonymous, newAddress());
    expect(refused['message']).toMatch(/not allowed in this organization$/);
    const email = 'zoe@eu.acme.example';
    expect((await request(anonymous, email))['email']).toBe(email);
    const token = await tokenTo(email, owner.host);
    await owner.ok('PATCH', '/realm/domains/acme.example', { allow_subdomains: false });
    expect((await complete(anonymous, token))['message']).toMatch(/not allowed in this organization$/);
  });

  test('does not reveal whether an address has an account: same text and same statements', async () => {
    const { owner, member, anonymous } = await openPlace();
    const free = newAddress();
    const [one, two] = [
      await submit(anonymous, '/sign-up', { email: free }),
      await submit(anonymous, '/sign-up', { email: member.email }),
    ];
    expect([two.status, two.text.replace(member.email, free)]).toEqual([one.status, one.text]);
    const [mail] = await mailsTo(member.email);
    expect(mail?.body).toContain('You already have an account there');
    expect(mail?.body).not.toContain('/sign-up/');
    expect((await mailsTo(free))[0]?.subject).toBe(mail?.subject);
    const statementsFor = async (email: string) => {
      const all = await service.queriesOf(() => request(anonymous, email));
      return all.filter((sql) => !/FROM event_counter WHERE realm_id = ANY/.test(sql));
    };
    expect(await statementsFor(owner.email)).toEqual(await statementsFor(newAddress()));
  });

  test('has links for one use, one organization and one day, which cannot be guessed', async () => {
    const [{ owner, anonymous }, other] = [await openPlace(), await openPlace()];
    const email = newAddress();
    await request(anonymous, email);
    const token = await tokenTo(email, owner.host);
    const bad = 'This link was already used, has expired, or is incomplete.';
    expect((await complete(other.anonymous, token))['message']).toBe(bad);
    for (const wrong of ['', 'x', token.slice(1), `${token}\0`, 'A'.repeat(43)]) {
      expect(await complete(anonymous, wrong)).toMatchObject({ message: bad, path: ['input', 'token'] });
    }
    clock += DAY;
    expect((await complete(anonymous, token))['message']).toBe(bad);
    clock -= 1;
    const results = await Promise.all([1, 2, 3].map(() => complete(anonymous, token)));
    expect(results.map((one) => one['email'] ?? one['message']).sort()).toEqual([bad, bad, email].sort());
    clock += 1;
  });

  test('sends links to the host of the organization, and forms of other sites are refused', async () => {
    const { owner, anonymous } = await openPlace();
    const email = newAddress();
    const spoofed = await submit(anonymous, '/sign-up', { email }, { 'x-forwarded-host': 'evil.example' });
    expect(spoofed.status).toBe(200);
    await tokenTo(email, owner.host);
    const evil = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await submit(anonymous, '/sign-up', { email: newAddress() }, evil)).status).toBe(403);
    const token = await tokenTo(email, owner.host);
    expect(
      (await submit(anonymous, `/sign-up/${token}?next=//evil.example`, { ...ZOE, next: '//evil.example' }, evil))
        .status,
    ).toBe(403);
    const done = await submit(anonymous, `/sign-up/${token}?next=//evil.example`, { ...ZOE, next: '//evil.example' });
    expect(done.headers['location']).toBe('/');
    expect((await submit(anonymous, '/sign-up', { email: 'no address' })).status).toBe(400);
  });

  test('is limited per address, and per organization and day', async () => {
    const { anonymous, member } = await openPlace();
    for (const email of [newAddress(), member.email]) {
      for (let i = 0; i < 3; i++) expect((await request(anonymous, email))['email']).toBe(email);
      expect(await request(anonymous, ` ${email.toUpperCase()}`)).toMatchObject({ code: 'RATE_LIMIT_HIT' });
    }
    const more = await Promise.all(Array.from({ length: 4 }, () => request(anonymous, newAddress())));
    expect(more.filter(({ code }) => code === 'RATE_LIMIT_HIT')).toHaveLength(2);
  });

  test('is limited to 250 requests per network and hour, for a whole office behind one address', async () => {
    const [{ anonymous, organization }, other] = [await openPlace(), await openPlace()];
    // The requests are only counted here, because the daily limit of emails is smaller.
    const office = { app: service.app, caller: { network: '127.0.0.1' } };
    for (let i = 0; i < 249; i++) await countSignUpRequest(office, organization.id, newAddress());
    expect((await request(anonymous, newAddress()))['__typename']).toBe('RequestSignUpPayload');
    expect(await request(anonymous, newAddress())).toMatchObject({ code: 'RATE_LIMIT_HIT' });
    expect((await request(other.anonymous, newAddress()))['__typename']).toBe('RequestSignUpPayload');
  });

  test('is refused if the organization has as many active users as it can have', async () => {
    const { anonymous, organization } = await openPlace();
    const email = newAddress();
    await request(anonymous, email);
    const token = await tokenTo(email, anonymous.host);
    const limit = (maxUsers: number) =>
      runCommand(service.dataDir, 'org limits', { org: organization.subdomain, maxUsers });
    await limit(5);
    expect(await complete(anonymous, token)).toMatchObject({
      message: expect.stringContaining('more than 5 active users'),
    });
    await limit(6);
    expect(await complete(anonymous, token)).toMatchObject({ __typename: 'CompleteSignUpPayload' });
  });

  test('closes the invitations of the address', async () => {
    const { owner, anonymous } = await openPlace();
    const email = newAddress();
    await owner.ok('POST', '/invites', { invitee_emails: email, stream_ids: [] });
    await request(anonymous, email);
    expect((await complete(anonymous, await tokenTo(email, owner.host)))['email']).toBe(email);
    expect((await owner.ok('GET', '/invites')).invites).toEqual([]);
  });

  test('works with a real mail server', async () => {
    await using mailbox = await openMailbox();
    await using sending = await startOnDatabaseOfRun({ env: { SMTP_URL: mailbox.url } });
    const { anonymous } = await openPlace(sending);
    const email = newAddress();
    await request(anonymous, email);
    const received = () => mailbox.mails.find(({ to }) => to.includes(email))?.raw.replace(/=\r?\n/g, '') ?? '';
    await expect.poll(received).toContain('/sign-up/');
    const [, token = ''] = /\/sign-up\/([\w-]{43})/.exec(received()) ?? [];
    expect((await complete(anonymous, token))['email']).toBe(email);
  });
});

describe('an organization that a visitor creates', () => {
  const root = () => new Visitor({ url: service.url, host: new URL(service.url).host });
  const wanted = (subdomain: string) => ({ name: 'Acme Ships', subdomain, email: newAddress() });
  const newSubdomain = () => `new-${++made}-${process.pid}`;

  test('is opened by its first owner with a link, and is invisible before', async () => {
    const form = wanted(newSubdomain());
    expect((await get(root(), '/new-organization')).text).toContain('Create an organization');
    const asked = await submit(root(), '/new-organization', form);
    expect([asked.status, asked.text.includes('Check your email')]).toEqual([200, true]);
    const host = `${form.subdomain}.localhost:${new URL(service.url).port}`;
    const token = await tokenTo(form.email, host);
    const visitor = new Visitor({ url: service.url, host });
    const early = await visitor.rest('POST', '/fetch_api_key', { username: form.email, password: PASSWORD });
    expect(early.status).toBe(401);
    expect((await request(visitor, newAddress()))['code']).toBe('REALM_DEACTIVATED');
    const page = await get(visitor, `/sign-up/${token}`);
    expect(page.text).toContain('You become the owner of Acme Ships.');
    const done = await submit(visitor, `/sign-up/${token}`, ZOE);
    expect([done.status, done.headers['location']]).toEqual([303, '/']);
    const { body } = await visitor.rest('POST', '/fetch_api_key', { username: form.email, password: PASSWORD });
    const owner = visitor.as(`Basic ${btoa(`${body.email}:${body.api_key}`)}`);
    expect((await owner.rest('GET', '/users/me')).body).toMatchObject({ role: 100, full_name: 'Zoe Zane' });
    const organization = await service.app.db.organization.findUniqueOrThrow({ where: { subdomain: form.subdomain } });
    expect([organization.deactivatedAt, organization.deleteAt]).toEqual([null, null]);
    expect((await owner.rest('POST', '/invites/multiuse')).status).toBe(200);
    expect((await complete(visitor, token))['message']).toMatch(/already used/);
    const taken = await submit(root(), '/new-organization', { ...wanted(form.subdomain) });
    expect([taken.status, taken.text.includes('is in use')]).toEqual([400, true]);
  });

  test('sends at most 100 invitations a day in its first three days, unless the operator sets a limit', async () => {
    let now = clock;
    await using generous = await startOnDatabaseOfRun({
      env: { ORGANIZATION_CREATION: 'on' },
      now: () => new Date(now),
    });
    const { host } = new URL(generous.url);
    const form = wanted(newSubdomain());
    await submit(new Visitor({ url: generous.url, host }), '/new-organization', form);
    const at = new Visitor({ url: generous.url, host: `${form.subdomain}.localhost:${new URL(generous.url).port}` });
    const { body: mail } = await generous.app.db.outgoingMail.findFirstOrThrow({ where: { recipient: form.email } });
    await submit(at, new URL(/^http\S+\/sign-up\/\S+$/m.exec(mail)?.[0] ?? '').pathname, ZOE);
    const { body } = await at.rest('POST', '/fetch_api_key', { username: form.email, password: PASSWORD });
    const owner = at.as(`Basic ${btoa(`${body.email}:${body.api_key}`)}`);
    const perDay = async () =>
      (await owner.graphql('{ organization { invitationEmailsPerDay } }')).data.organization.invitationEmailsPerDay;
    const invite = async (count: number) => {
      const invitee_emails = Array.from({ length: count }, newAddress).join();
      return (await owner.rest('POST', '/invites', { invitee_emails, stream_ids: [] })).body['daily_limit_reached'];
    };
    const limits = async (set: object = {}) =>
      ((await runCommand(generous.dataDir, 'org limits', { org: form.subdomain, ...set })) as Json[])[3];
    expect(await perDay()).toBe(100);
    expect(await limits()).toMatchObject({ limit: 'max_invitations_per_day', value: 100, is_default: true });
    expect([await invite(101), await invite(100), await invite(1)]).toEqual([true, undefined, true]);
    await limits({ invitationsPerDay: 150 });
    expect([await perDay(), await invite(51), await invite(50)]).toEqual([150, true, undefined]);
    await limits({ invitationsPerDay: 'none' });
    now += 3 * DAY - HOUR;
    expect([await perDay(), await invite(101)]).toEqual([100, true]);
    now += HOUR;
    expect([await perDay(), await invite(101)]).toEqual([500, undefined]);
    // The operator's own organizations have the limit of the server from the beginning.
    const created = await createOrganization({}, { on: generous, password: OWNER_PASSWORD });
    const { organization } = await created.owner.query('{ organization { invitationEmailsPerDay } }');
    expect(organization.invitationEmailsPerDay).toBe(500);
  });

  test('needs a usable subdomain, name and address', async () => {
    for (const [change, message] of [
      [{ subdomain: 'ab' }, 'at least 3 characters'],
      [{ subdomain: 'www' }, 'is reserved'],
      [{ subdomain: 'a.b.c' }, 'Invalid subdomain'],
      [{ name: ' ' }, 'name'],
      [{ email: 'zoe@mailinator.com' }, 'Disposable'],
      [{ email: 'zoe' }, 'Bad name or username'],
    ] as const) {
      const refused = await submit(root(), '/new-organization', { ...wanted(newSubdomain()), ...change });
      expect([refused.status, refused.text.includes(message)], message).toEqual([400, true]);
      if (!('name' in change)) expect(refused.text).toContain('value="Acme Ships"');
    }
  });

  /** Sends `requestOrganization`. Returns its payload, its typed error or the first top-level error. */
  async function ask(visitor: Visitor, input: Json): Promise<Json> {
    const query = `mutation ($input: RequestOrganizationInput!) { requestOrganization(input: $input) {
      __typename ... on RequestOrganizationPayload { email url } ... on ServiceError { code message path } } }`;
    const { data, errors } = await visitor.graphql(query, { input });
    return data?.requestOrganization ?? errors?.[0];
  }

  test('is created and opened over GraphQL as on the page', async () => {
    const form = { ...wanted(newSubdomain()), name: ' Acme Ships ' };
    const given = { ...form, subdomain: ` ${form.subdomain.toUpperCase()}`, email: ` ${form.email} ` };
    const asked = await ask(root(), given);
    const host = `${form.subdomain}.localhost:${new URL(service.url).port}`;
    expect(asked).toEqual({ __typename: 'RequestOrganizationPayload', email: form.email, url: `http://${host}` });
    const visitor = new Visitor({ url: service.url, host });
    expect((await request(visitor, newAddress()))['code']).toBe('REALM_DEACTIVATED');
    const done = await complete(visitor, await tokenTo(form.email, host));
    expect(done).toMatchObject({ __typename: 'CompleteSignUpPayload', email: form.email });
    const organization = await service.app.db.organization.findUniqueOrThrow({ where: { subdomain: form.subdomain } });
    expect(organization).toMatchObject({ name: 'Acme Ships', isByVisitor: true, deactivatedAt: null, deleteAt: null });
    const { id: organizationId } = organization;
    const created = { organizationId, action: 'organization_created' };
    const [entry] = await service.app.db.auditLogEntry.findMany({ where: created });
    expect(entry).toMatchObject({ actorKind: 'visitor', actorId: null, address: '127.0.0.1' });
    expect(await ask(root(), wanted(form.subdomain))).toMatchObject({
      ...{ __typename: 'ConflictError', path: ['input', 'subdomain'] },
      message: `The subdomain ${form.subdomain} is in use`,
    });
  });

  test('has U+FFFD instead of lone surrogates in its name, in JSON and in literals', async () => {
    for (const [given, stored] of [
      ['Acme \ud800 Ships', 'Acme \ufffd Ships'],
      ['\udc00Acme\ud800', '\ufffdAcme\ufffd'],
      ['\ude80\ud83d', '\ufffd\ufffd'],
    ] as const) {
      const form = { ...wanted(newSubdomain()), name: given };
      expect(await ask(root(), form)).toMatchObject({ email: form.email });
      const { name } = await service.app.db.organization.findUniqueOrThrow({ where: { subdomain: form.subdomain } });
      expect(name).toBe(stored);
      const [mail] = await mailsTo(form.email);
      expect(mail?.subject).toBe(`Your organization ${stored}`);
    }
    for (const change of [{ subdomain: 'ac\ud800me' }, { email: 'zoe\ud800@new.example' }]) {
      const refused = await ask(root(), { ...wanted(newSubdomain()), ...change });
      expect(refused).toMatchObject({ __typename: 'ValidationError', path: ['input', Object.keys(change)[0]] });
    }
  });

  test('has no actor if a user of another organization asks for it, and is created once per idempotency key', async () => {
    const { owner } = await createOrganization({}, { on: service, password: OWNER_PASSWORD });
    const form = wanted(newSubdomain());
    expect(await ask(owner, form)).toMatchObject({ email: form.email });
    const { id: organizationId } = await service.app.db.organization.findUniqueOrThrow({
      where: { subdomain: form.subdomain },
    });
    const [entry] = await service.app.db.auditLogEntry.findMany({ where: { organizationId } });
    expect(entry).toMatchObject({ action: 'organization_created', actorKind: 'visitor', actorId: null });
    const other = wanted(newSubdomain());
    const query = `mutation ($input: RequestOrganizationInput!) { requestOrganization(input: $input) {
      ... on RequestOrganizationPayload { email } } }`;
    const operation = {
      method: 'POST',
      path: '/graphql',
      headers: { ...owner.headers, 'content-type': 'application/json', 'idempotency-key': other.subdomain },
      body: JSON.stringify({ query, variables: { input: other } }),
    } as const;
    const data = { requestOrganization: { email: other.email } };
    for (let i = 0; i < 2; i++) expect(JSON.parse((await send(owner.url, operation)).text)).toMatchObject({ data });
    expect(await mailsTo(other.email)).toHaveLength(1);
  });

  test('is refused over GraphQL with the texts of the page, at the input that is wrong', async () => {
    for (const [change, path, message] of [
      [{ subdomain: 'ab' }, 'subdomain', 'The subdomain must have at least 3 characters.'],
      [{ subdomain: '  ' }, 'subdomain', 'The subdomain must have at least 3 characters.'],
      [{ subdomain: ' WWW ' }, 'subdomain', 'The subdomain www is reserved.'],
      [{ subdomain: '-acme' }, 'subdomain', /^Invalid subdomain "-acme"/],
      [{ subdomain: 'acme-' }, 'subdomain', /^Invalid subdomain "acme-"/],
      [{ subdomain: 'acme.ships' }, 'subdomain', /^Invalid subdomain "acme\.ships"/],
      [{ subdomain: 'ac_me' }, 'subdomain', /^Invalid subdomain "ac_me"/],
      [{ subdomain: 'bücher' }, 'subdomain', /^Invalid subdomain "bücher"/],
      [{ subdomain: 'evil.example/' }, 'subdomain', /^Invalid subdomain/],
      [{ subdomain: 'ac\0me' }, 'subdomain', /^Invalid subdomain/],
      [{ subdomain: 'a'.repeat(64) }, 'subdomain', /^Invalid subdomain/],
      [{ name: ' ' }, 'name', 'name cannot be blank'],
      [{ name: '\u200b' }, 'name', /^Invalid character in name/],
      [{ name: 'x'.repeat(41) }, 'name', /^name is too long/],
      [{ name: 'Acme\0' }, 'name', 'name must not contain null bytes'],
      [{ email: 'zoe@mailinator.com' }, 'email', 'Disposable email addresses are not allowed.'],
      [{ email: 'zoe@x.Mailinator.com' }, 'email', 'Disposable email addresses are not allowed.'],
      [{ email: '' }, 'email', 'This is not a valid email address.'],
      [{ email: 'zoe' }, 'email', 'This is not a valid email address.'],
      [{ email: 'zoe@new.example, mona@new.example' }, 'email', 'This is not a valid email address.'],
      [{ email: 'zoe@new.example\r\nBcc: mona@new.example' }, 'email', 'This is not a valid email address.'],
      [{ email: `${'z'.repeat(65)}@new.example` }, 'email', 'This is not a valid email address.'],
    ] as const) {
      const before = await service.app.db.organization.count();
      const refused = await ask(root(), { ...wanted(newSubdomain()), ...change });
      const said = JSON.stringify(change);
      expect(refused, said).toMatchObject({ __typename: 'ValidationError', path: ['input', path] });
      expect(refused['message'], said).toMatch(message);
      expect(await service.app.db.organization.count(), said).toBe(before);
    }
  });

  test('is limited over GraphQL and on the page by the same counts', async () => {
    await using limited = await startOnDatabaseOfRun({ env: { ORGANIZATION_CREATION: 'on' } });
    const at = new Visitor({ url: limited.url, host: new URL(limited.url).host });
    const { email } = wanted('');
    expect((await submit(at, '/new-organization', { ...wanted(newSubdomain()), email })).status).toBe(200);
    for (let i = 0; i < 2; i++) {
      expect(await ask(at, { ...wanted(newSubdomain()), email })).toMatchObject({ email });
    }
    const over = { code: 'RATE_LIMIT_HIT', __typename: 'RateLimitHitError' };
    expect(await ask(at, { ...wanted(newSubdomain()), email: email.toUpperCase() })).toMatchObject(over);
    for (let i = 0; i < 7; i++) {
      const form = wanted(newSubdomain());
      expect(await ask(at, form)).toMatchObject({ email: form.email });
    }
    expect(await ask(at, wanted(newSubdomain()))).toMatchObject(over);
    expect((await submit(at, '/new-organization', wanted(newSubdomain()))).status).toBe(429);
  });

  test('is refused where the operator does not permit it, and without a mail server', async () => {
    await using closed = await startOnDatabaseOfRun();
    const at = ({ url }: InProcess) => new Visitor({ url, host: new URL(url).host });
    const refused = await submit(at(closed), '/new-organization', wanted(newSubdomain()));
    expect([refused.status, refused.text.includes('created by the operator')]).toEqual([400, true]);
    const mute = await submit(at(silent), '/new-organization', wanted(newSubdomain()));
    expect([mute.status, mute.text.includes('cannot send email')]).toEqual([400, true]);
    expect(await ask(at(closed), wanted(newSubdomain()))).toMatchObject({
      ...{ __typename: 'ForbiddenError', message: 'New organizations are created by the operator of this server.' },
    });
    expect(await ask(at(silent), wanted(newSubdomain()))).toMatchObject({
      __typename: 'ConflictError',
      message: expect.stringMatching(/^This server cannot send email\. Ask the operator/),
    });
    const { data } = await at(closed).graphql('{ serverSettings { allowsOrganizationCreation } }');
    expect(data.serverSettings.allowsOrganizationCreation).toBe(false);
  });
});

describe('org create without a name of the owner', () => {
  test('prints a link with which the owner chooses name and password', async () => {
    const subdomain = `cli-${process.pid}`;
    const given = { subdomain, name: 'Acme', ownerEmail: 'iris@acme.example' };
    const printed = (await runCommand(silent.dataDir, 'org create', given)) as { owner_link: string };
    const { host, pathname } = new URL(printed.owner_link);
    expect(host).toBe(`${subdomain}.localhost:${new URL(silent.url).port}`);
    const visitor = new Visitor({ url: silent.url, host });
    expect((await submit(visitor, pathname, { ...ZOE, name: 'Iris' })).status).toBe(303);
    const login = { username: 'iris@acme.example', password: PASSWORD };
    expect((await visitor.rest('POST', '/fetch_api_key', login)).status).toBe(200);
    expect((await get(visitor, pathname)).text).toContain('already used');
    const second = await runCommand(silent.dataDir, 'org owner-link', { org: subdomain, email: 'mona@acme.example' });
    const path = new URL((second as { owner_link: string }).owner_link).pathname;
    expect((await submit(visitor, path, { ...ZOE, name: 'Mona' })).status).toBe(303);
    const owners = await silent.app.db.user.count({ where: { role: 100, organization: { subdomain } } });
    expect(owners).toBe(2);
  });
});
