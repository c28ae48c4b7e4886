import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { countInvitationRequest } from '../../src/administration/join-limits.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { openMailbox } from '../helpers/mailbox.ts';
import type { Parameters, Person, RestReply } from '../helpers/person.ts';
import { Visitor } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD, startServer } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf } from '../helpers/talk.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const PASSWORD = 'correct horse battery';
const NOBODY = 2_000_000_000;
// Must not be behind the clock of the database, which sets the time at which an email is queued.
let clock = Date.now() + 60_000;
/** A service whose emails stay queued, so that tests can read them. Its limit of invitations per day is small. */
let service: InProcess;
/** A service without a mail server. */
let silent: InProcess;

beforeAll(async () => {
  const now = () => new Date(clock);
  service = await startOnDatabaseOfRun({ env: { INVITATIONS_PER_DAY: '20' }, now });
  silent = await startOnDatabaseOfRun({ env: { SMTP_URL: '' }, now });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await silent[Symbol.asyncDispose]();
});

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });
let made = 0;
const newAddress = () => `person${++made}@new.example`;

const invite = (by: Person, invitee_emails: string, parameters: Parameters = {}) =>
  by.rest('POST', '/invites', { invitee_emails, stream_ids: [], ...parameters });

const listed = async (by: Person): Promise<Json[]> => (await by.ok('GET', '/invites')).invites;

const mailsTo = (recipient: string, { app } = service) =>
  app.db.outgoingMail.findMany({ where: { recipient }, orderBy: { id: 'desc' } });

const TOKEN = /^(\S+)\/join\/([\w-]{43})$/m;
/** Returns the token in the newest email to an address. Checks that the link leads to the visitor's organization. */
async function tokenTo(address: string, { host }: Visitor): Promise<string> {
  const [mail] = await mailsTo(address);
  const [, origin, token = ''] = TOKEN.exec(mail?.body ?? '') ?? [];
  expect(origin).toBe(`http://${host}`);
  return token;
}

async function invited(by: Person, email: string, parameters: Parameters = {}): Promise<string> {
  expect((await invite(by, email, parameters)).body).toEqual({ result: 'success', msg: '' });
  return tokenTo(email, by);
}

const open = ({ url, host }: Visitor, token: string, headers: Readonly<Record<string, string>> = {}) =>
  send(url, { method: 'GET', path: `/join/${token}`, headers: { host, ...headers } });

const submit = (
  { url, host }: Visitor,
  token: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) =>
  send(url, {
    method: 'POST',
    path: `/join/${token}`,
    headers: { host, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  });

const ZOE = { name: 'Zoe Zane', password: PASSWORD, repeated: PASSWORD };

/** Accepts an invitation over GraphQL. @returns The payload or the error. */
async function accept(visitor: Visitor, token: string, input: Parameters = {}): Promise<Json> {
  const query = `mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) {
    __typename ... on AcceptInvitationPayload { userId email } ... on ServiceError { code message path } } }`;
  const given = { token, fullName: 'Zoe Zane', password: PASSWORD, ...input };
  const { data, errors } = await visitor.graphql(query, { input: given });
  return data?.acceptInvitation ?? errors?.[0];
}

const groupNamed = async (by: Person, name: string): Promise<number> =>
  (await by.ok('GET', '/user_groups')).user_groups.find((one: Json) => one['name'] === name).id;

const accountOf = (email: string, { app } = service) => app.db.user.findFirst({ where: { email } });
const failed = async (reply: Promise<RestReply>) => (await reply).body;

describe('an invitation by email', () => {
  test('creates the account with role, channels, groups and welcome text, and signs the browser in', async () => {
    const { owner, member, organization } = await place();
    const [channelId, otherId] = [await channelOf(owner, 'ships', [owner]), await channelOf(owner, 'harbour', [owner])];
    const { group_id } = await owner.ok('POST', '/user_groups/create', { name: 'crew', description: '', members: [] });
    const email = newAddress();
    const events = await member.receiving({ event_types: ['realm_user'] });
    await owner.ok('POST', '/invites', {
      invitee_emails: `Zoe Zane <${email}>`,
      ...{
        invite_as: 300,
        stream_ids: [channelId],
        group_ids: [group_id],
        welcome_message_custom_text: 'Ahoy **you**',
      },
    });
    const token = await tokenTo(email, owner);
    const [mail] = await mailsTo(email);
    expect(mail?.subject).toBe(`owner invites you to ${organization.name}`);
    const page = await open(owner, token);
    expect([page.status, page.headers['cache-control'], page.headers['referrer-policy']]).toEqual([
      ...[200, 'private, no-store, no-transform', 'no-referrer'],
    ]);
    for (const shown of [organization.name, 'owner', email]) expect(page.text).toContain(shown);
    expect(await accountOf(email)).toBeNull();
    const done = await submit(owner, token, ZOE);
    expect([done.status, done.headers['location']]).toEqual([303, '/']);
    const cookie = String(done.headers['set-cookie']).split(';')[0] ?? '';
    const seen = await send(owner.url, {
      method: 'POST',
      path: '/graphql',
      headers: { host: owner.host, cookie, 'content-type': 'application/json' },
      body: JSON.stringify({
        query: '{ viewer { fullName email role } subscriptions(first: 9) { nodes { channel { name } } } }',
      }),
    });
    const { data } = JSON.parse(seen.text);
    expect(data.viewer).toMatchObject({ fullName: 'Zoe Zane', email, role: 'MODERATOR' });
    expect(data.subscriptions.nodes.map(({ channel }: Json) => channel.name)).toEqual(['ships']);
    expect(otherId).toBeGreaterThan(0);
    const user = await accountOf(email);
    expect(user?.groupIds).toContain(group_id);
    expect((await events()).map(({ op }) => op)).toEqual(['add']);
    // The new user and the inviter each got a direct message.
    const { messages } = await owner.ok('GET', '/messages', { anchor: 'newest', num_before: 1, num_after: 0 });
    expect(messages[0].content).toContain('accepted your invitation');
    const [welcome] = await service.app.db.message.findMany({
      where: { organizationId: organization.id, content: 'Ahoy **you**' },
    });
    expect(welcome).toBeDefined();
    expect(await listed(owner)).toEqual([]);
  });

  test('arrives at the mail server, and its token is erased then', async () => {
    await using mailbox = await openMailbox();
    await using sending = await startOnDatabaseOfRun({ env: { SMTP_URL: mailbox.url } });
    const { owner, anonymous } = await createOrganization({}, { on: sending });
    const email = newAddress();
    await invite(owner, email);
    const received = () => mailbox.mails.find(({ to }) => to.includes(email))?.raw.replace(/=\r?\n/g, '') ?? '';
    await expect.poll(received).toContain('/join/');
    const [, token = ''] = /\/join\/([\w-]{43})/.exec(received()) ?? [];
    await expect.poll(async () => (await mailsTo(email, sending))[0]?.sentAt).toBeInstanceOf(Date);
    const [mail] = await mailsTo(email, sending);
    expect(mail?.body).toMatch(/^http:\/\/\S+\/join\/…$/m);
    expect(mail?.body).toContain('invites you to join');
    expect(mail?.body).not.toContain(token);
    expect((await accept(anonymous, token))['email']).toBe(email);
  });

  test('is refused without a mail server, over both APIs', async () => {
    const { owner } = await createOrganization({}, { on: silent });
    const remedy = 'This server cannot send email. Create an invitation link';
    const refused = await failed(invite(owner, newAddress()));
    expect(refused).toMatchObject({ code: 'BAD_REQUEST', msg: `${remedy} instead.` });
    const input = { emails: [newAddress()] };
    expect(await owner.tryMutation('inviteUsers', input)).toMatchObject({
      ...{ __typename: 'ConflictError', message: `${remedy} with \`createInviteLink\` instead.` },
    });
    expect((await failed(owner.rest('POST', '/invites/1/resend')))['msg']).toBe(`${remedy} instead.`);
    const { organization } = await owner.query('{ organization { viewerCanInviteUsers viewerCanCreateInviteLinks } }');
    expect(organization).toEqual({ viewerCanInviteUsers: false, viewerCanCreateInviteLinks: true });
    expect(await listed(owner)).toEqual([]);
  });

  test('can be used once, also by concurrent requests', async () => {
    const { owner, anonymous } = await place();
    const email = newAddress();
    const token = await invited(owner, email);
    const results = await Promise.all([1, 2, 3].map(() => accept(anonymous, token)));
    expect(results.map((result) => result['__typename']).sort()).toEqual([
      ...['AcceptInvitationPayload', 'ConflictError', 'ConflictError'],
    ]);
    const again = await submit(anonymous, token, ZOE);
    expect([again.status, again.text.includes('already used')]).toEqual([400, true]);
    expect((await open(anonymous, token)).text).toContain('This invitation was already used.');
    expect(await service.app.db.user.count({ where: { email } })).toBe(1);
  });

  test('is refused with a clear message once it is revoked, replaced, expired or unknown', async () => {
    const [{ owner, anonymous }, other] = [await place(), await place()];
    const [revoked, replaced, expiring] = [newAddress(), newAddress(), newAddress()];
    const revokedToken = await invited(owner, revoked);
    const replacedToken = await invited(owner, replaced);
    const token = await invited(owner, expiring, { invite_expires_in_minutes: 5 });
    const idOf = async (email: string) => (await listed(owner)).find((one) => one['email'] === email)?.['id'];
    await owner.ok('DELETE', `/invites/${await idOf(revoked)}`);
    await owner.ok('POST', `/invites/${await idOf(replaced)}/resend`);
    expect((await accept(anonymous, revokedToken))['message']).toBe('This invitation was revoked. Ask for a new one.');
    const unknown = /^This invitation link is not valid\./;
    expect((await accept(anonymous, replacedToken))['message']).toMatch(unknown);
    // A link is valid in its own organization only.
    expect((await accept(other.anonymous, token))['message']).toMatch(unknown);
    for (const wrong of ['x', token.slice(1), `${token}\0`, 'A'.repeat(43)]) {
      const refused = await accept(anonymous, wrong);
      expect([refused['code'], refused['path']]).toEqual(['BAD_REQUEST', ['input', 'token']]);
      expect(refused['message']).toMatch(unknown);
    }
    clock += 5 * MINUTE;
    expect((await accept(anonymous, token))['message']).toBe('This invitation has expired. Ask for a new one.');
    expect((await listed(owner)).map((one) => one['email'])).toEqual([replaced]);
    clock -= 1;
    expect((await accept(anonymous, token))['__typename']).toBe('AcceptInvitationPayload');
    expect((await accept(anonymous, await tokenTo(replaced, owner)))['__typename']).toBe('AcceptInvitationPayload');
  });

  test('stays listed in GraphQL after it has expired until it is revoked or resent, and not in REST', async () => {
    const { owner, administrator, member, anonymous } = await place();
    await owner.ok('PATCH', '/realm', { can_invite_users_group: { new: await groupNamed(owner, 'role:members') } });
    const [resent, revoked, own, kept] = [newAddress(), newAddress(), newAddress(), newAddress()];
    const lifetime = { invite_expires_in_minutes: 5 };
    const token = await invited(owner, resent, lifetime);
    await invited(owner, revoked, lifetime);
    await invited(member, own, lifetime);
    await invited(owner, kept, { invite_expires_in_minutes: 'null' });
    await owner.mutate('createInviteLink', { expiresInMinutes: 5 }, 'invitation { id linkUrl }');
    const shown = async (by: Person): Promise<Json[]> => {
      const fields = 'id email isReusable isExpired linkUrl expiresAt';
      const { organization } = await by.query(
        `{ organization { invitations(first: 20) { totalCount nodes { ${fields} } } } }`,
      );
      const { nodes, totalCount } = organization.invitations;
      expect(totalCount).toBe(nodes.length);
      return nodes;
    };
    const before = await shown(owner);
    expect(before.map(({ isExpired }) => isExpired)).toEqual([false, false, false, false, false]);
    expect(before[4].linkUrl).toContain('/join/');
    clock += 5 * MINUTE;
    const after = await shown(owner);
    expect(after.map(({ email, isExpired, linkUrl }) => [email, isExpired, linkUrl])).toEqual([
      ...[resent, revoked, own].map((email) => [email, true, null]),
      [kept, false, null],
      [null, true, null],
    ]);
    expect(await shown(administrator)).toEqual(after);
    expect((await shown(member)).map(({ email }) => email)).toEqual([own]);
    expect((await listed(owner)).map(({ email }) => email)).toEqual([kept]);
    const { node } = await owner.query(`{ node(id: "${after[0].id}") { ... on Invitation { email isExpired } } }`);
    expect(node).toEqual({ email: resent, isExpired: true });
    const again = await administrator.mutate(
      'resendInvitation',
      { invitationId: after[0].id },
      'invitation { isExpired expiresAt email }',
    );
    expect(again.invitation).toEqual({
      ...{ isExpired: false, email: resent },
      expiresAt: new Date(clock + 5 * MINUTE).toISOString(),
    });
    expect((await accept(anonymous, token))['message']).toMatch(/^This invitation link is not valid\./);
    await owner.mutate('revokeInvitation', { invitationId: after[1].id }, 'invitationId');
    await owner.mutate('revokeInvitation', { invitationId: after[4].id }, 'invitationId');
    // Over REST, an id that a client has kept is still valid.
    const { id } = await service.app.db.invitation.findFirstOrThrow({ where: { email: own } });
    await member.ok('POST', `/invites/${id}/resend`);
    expect((await shown(owner)).map(({ email, isExpired }) => [email, isExpired])).toEqual([
      ...[resent, own, kept].map((email) => [email, false]),
    ]);
    expect(await accept(anonymous, await tokenTo(resent, owner))).toMatchObject({ email: resent });
    for (const invitationId of [after[0].id, after[1].id, after[4].id]) {
      const input = { input: { invitationId } };
      for (const field of ['resendInvitation', 'revokeInvitation']) {
        const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input!`;
        const query = `mutation ($input: ${type}) { ${field}(input: $input) { __typename ... on ServiceError { path } } }`;
        expect((await owner.graphql(query, input)).data[field]).toMatchObject({
          ...{ __typename: 'NotFoundError', path: ['input', 'invitationId'] },
        });
      }
    }
  });

  test('that has expired is not resent by a user who can no longer invite, nor for a higher role', async () => {
    const { owner, administrator, member } = await place();
    const [ofOwner, ofMember] = [newAddress(), newAddress()];
    await owner.ok('PATCH', '/realm', { can_invite_users_group: { new: await groupNamed(owner, 'role:members') } });
    await invited(owner, ofOwner, { invite_expires_in_minutes: 5, invite_as: 100 });
    await invited(member, ofMember, { invite_expires_in_minutes: 5 });
    const idOf = async (email: string) => (await service.app.db.invitation.findFirstOrThrow({ where: { email } })).id;
    clock += 5 * MINUTE;
    await owner.ok('PATCH', '/realm', {
      can_invite_users_group: { new: await groupNamed(owner, 'role:administrators') },
    });
    const resend = async (by: Person, email: string) =>
      (await by.rest('POST', `/invites/${await idOf(email)}/resend`)).body['msg'];
    expect(await resend(member, ofMember)).toMatch(/permission/i);
    expect(await resend(administrator, ofOwner)).toBe('No such invitation');
    expect(await resend(administrator, ofMember)).toBe('');
  });

  test('that has expired is deleted after 30 days, or earlier if there are too many, and blocks no other', async () => {
    const { owner } = await place();
    const { id: organizationId } = await service.app.db.organization.findFirstOrThrow({
      where: { users: { some: { id: owner.id } } },
    });
    const add = (from: number, to: number, expiresAt: Date) => service.app.db.$executeRaw`
      INSERT INTO invitation (realm_id, inviter_id, is_reusable, email, role, channel_ids, includes_default_channels,
        group_ids, notifies_inviter, token_hash, created_at, expires_at, sent_at)
      SELECT ${organizationId}, ${owner.id}, false, 'old' || n || '@example.com', 400, '{}', false, '{}', false,
        int4send(n), now(), ${expiresAt}, '{}' FROM generate_series(${from}::int, ${to}::int) AS n`;
    await add(1, 2, new Date(clock - 31 * DAY));
    await add(3, 4, new Date(clock - 2 * DAY));
    await add(5, 5000, new Date(clock - DAY));
    const held = async () =>
      (await service.app.db.invitation.findMany({ where: { organizationId }, orderBy: { id: 'asc' } })).map(
        ({ email }) => email,
      );
    await invited(owner, newAddress());
    expect((await held()).slice(0, 2)).toEqual(['old3@example.com', 'old4@example.com']);
    for (let i = 0; i < 2; i++) await invited(owner, newAddress());
    const after = await held();
    expect(after).toHaveLength(5000);
    expect(after[0]).toBe('old4@example.com');
    expect(await listed(owner)).toHaveLength(3);
  });

  test('that is deleted to make room causes an event, and is kept while its email counts for the day', async () => {
    const { owner, member } = await place();
    const { id: organizationId } = await service.app.db.organization.findFirstOrThrow({
      where: { users: { some: { id: owner.id } } },
    });
    const settings = { max_invitations_per_day: 10_000 };
    await service.app.db.organization.update({ where: { id: organizationId }, data: { settings } });
    const add = (from: number, to: number, sentAt: Date) => service.app.db.$executeRaw`
      INSERT INTO invitation (realm_id, inviter_id, is_reusable, email, role, channel_ids, includes_default_channels,
        group_ids, notifies_inviter, token_hash, created_at, expires_at, sent_at)
      SELECT ${organizationId}, ${member.id}, false, 'sent' || n || '@example.com', 400, '{}', false, '{}', false,
        int4send(n), now(), ${new Date(clock - MINUTE)}, ARRAY[${sentAt}::timestamptz]
      FROM generate_series(${from}::int, ${to}::int) AS n`;
    await add(1, 4998, new Date(clock - DAY / 2));
    await add(4999, 4999, new Date(clock - DAY));
    await invited(owner, newAddress());
    const events = await member.receiving({ event_types: ['invites_changed'] });
    const sent = async () =>
      (await owner.query('{ organization { invitationEmailsSent } }')).organization.invitationEmailsSent;
    expect(await sent()).toBe(4999);
    await invited(owner, newAddress());
    expect(await events()).toHaveLength(1);
    expect(await service.app.db.invitation.count({ where: { organizationId, email: 'sent4999@example.com' } })).toBe(0);
    expect(await sent()).toBe(5000);
    const { body } = await owner.rest('POST', '/invites', {
      ...{ invitee_emails: newAddress(), stream_ids: [], invite_as: 400 },
    });
    expect(body.msg).toMatch(/5000|5,000/);
    expect(await sent()).toBe(5000);
    clock += DAY / 2 + MINUTE;
    await invited(owner, newAddress());
    expect(await sent()).toBe(3);
    clock += 31 * DAY;
    const later = await member.receiving({ event_types: ['invites_changed'] });
    await invited(owner, newAddress());
    expect(await later()).toHaveLength(1);
    // The three newest ones expired 21 days ago.
    expect(await service.app.db.invitation.count({ where: { organizationId } })).toBe(4);
  });

  test('is followed by a welcome email, unless the organization has turned it off', async () => {
    const { owner, anonymous, organization } = await place();
    const [welcomed, other] = [newAddress(), newAddress()];
    await accept(anonymous, await invited(owner, welcomed));
    const [mail] = await mailsTo(welcomed);
    expect(mail?.subject).toBe(`Welcome to ${organization.name}`);
    expect(mail?.body).toContain(`\nhttp://${owner.host}\n`);
    expect(mail?.body).toContain(welcomed);
    await owner.ok('PATCH', '/realm', { send_welcome_emails: false });
    const token = await invited(owner, other);
    const before = await mailsTo(other);
    expect((await accept(anonymous, token))['__typename']).toBe('AcceptInvitationPayload');
    expect(await mailsTo(other)).toHaveLength(before.length);
  });

  test('needs a good password and name, and keeps what the person has entered', async () => {
    const { owner, anonymous } = await place();
    const token = await invited(owner, newAddress());
    for (const [fields, message] of [
      [{ ...ZOE, password: 'short', repeated: 'short' }, 'password is too short.'],
      [{ ...ZOE, password: 'zoe zane', repeated: 'zoe zane' }, 'password is too weak.'],
      [{ ...ZOE, repeated: 'other' }, 'The passwords differ.'],
      [{ ...ZOE, name: '<b>"x"' }, 'Invalid characters in name!'],
      [{}, 'Name must not be empty!'],
      [{ name: 'Zoe' }, 'password is too short.'],
    ] as const) {
      const { status, text } = await submit(anonymous, token, fields as Record<string, string>);
      expect([status, message, text.includes(message)]).toEqual([400, message, true]);
      expect(text).not.toContain('<b>');
    }
    expect((await submit(anonymous, token, { ...ZOE, password: 'short' })).text).toContain('value="Zoe Zane"');
    await owner.ok('PATCH', '/realm', { require_unique_names: true });
    const taken = await submit(anonymous, token, { ...ZOE, name: 'member' });
    expect(taken.status).toBe(400);
    expect(taken.text).toContain('Unique names required in this organization.');
    expect(taken.text).toContain('value="member"');
    expect((await submit(anonymous, token, ZOE)).status).toBe(303);
  });

  test('loses its effect with the rights of its inviter', async () => {
    const { owner, administrator, anonymous, organization } = await place();
    const channelId = await channelOf(owner, 'secret', [owner, administrator]);
    await owner.ok('PATCH', `/streams/${channelId}`, { is_private: true });
    const [high, placed, left] = [newAddress(), newAddress(), newAddress()];
    const tokenOfHigh = await invited(administrator, high, { invite_as: 200 });
    const tokenOfPlaced = await invited(administrator, placed, { stream_ids: [channelId] });
    const tokenOfLeft = await invited(administrator, left);
    await owner.ok('PATCH', `/users/${administrator.id}`, { role: 400 });
    expect((await accept(anonymous, tokenOfHigh))['message']).toMatch(/^This invitation is no longer valid/);
    // A demoted inviter does not see the invitation, because its link grants a higher role.
    expect((await listed(administrator)).map((one) => one['email'])).toEqual([placed, left]);
    // The inviter is no longer in the channel, so the new user is not subscribed.
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [administrator.id] });
    const { userId } = await accept(anonymous, tokenOfPlaced);
    expect(userId).toBeDefined();
    const user = await accountOf(placed);
    const subscribed = await service.app.db.subscription.count({
      where: { organizationId: organization.id, userId: user?.id ?? 0 },
    });
    expect(subscribed).toBe(0);
    await owner.ok('DELETE', `/users/${administrator.id}`);
    expect((await accept(anonymous, tokenOfLeft))['message']).toBe('This invitation was revoked. Ask for a new one.');
  });

  test('is not accepted in a deactivated organization, or for an address that the organization refuses now', async () => {
    const { owner, anonymous, organization } = await place();
    const token = await invited(owner, newAddress());
    const where = { id: organization.id };
    await service.app.db.organization.update({ where, data: { deactivatedAt: new Date(clock) } });
    expect((await accept(anonymous, token))['code']).toBe('REALM_DEACTIVATED');
    expect((await open(anonymous, token)).status).toBe(401);
    await service.app.db.organization.update({ where, data: { deactivatedAt: null } });
    await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: false });
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
    expect((await accept(anonymous, token))['message']).toMatch(/not allowed in this organization$/);
  });

  test('uses the address of the organization, not the Host header, and leads nowhere else', async () => {
    const { owner, anonymous, organization } = await place();
    const email = newAddress();
    const forged = { headers: { 'x-forwarded-host': 'evil.example', origin: `http://${owner.host}` } };
    await owner.ok('POST', '/invites', { invitee_emails: email, stream_ids: [] }, forged);
    const token = await tokenTo(email, owner);
    const { status } = await send(owner.url, {
      method: 'GET',
      path: `/join/${token}`,
      headers: { host: `${organization.subdomain}.evil.example` },
    });
    expect(status).toBe(404);
    const abroad = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await submit(anonymous, token, ZOE, abroad)).status).toBe(403);
    for (const next of ['//evil.example', 'https://evil.example']) {
      const page = await send(owner.url, {
        method: 'GET',
        path: `/join/${token}?next=${next}`,
        headers: { host: owner.host },
      });
      expect(page.text).not.toContain('evil.example');
    }
    const done = await submit(anonymous, token, { ...ZOE, next: 'https://evil.example' });
    expect([done.status, done.headers['location']]).toEqual([303, '/']);
  });

  test('is stored without its token, and without its address once it is closed', async () => {
    const { owner, anonymous, organization } = await place();
    const email = newAddress();
    const token = await invited(owner, email);
    const row = await service.app.db.invitation.findFirstOrThrow({ where: { organizationId: organization.id } });
    expect(Buffer.from(row.tokenHash).toString('base64url')).not.toBe(token);
    expect(row.sealedToken).toBeNull();
    await accept(anonymous, token);
    const closed = await service.app.db.invitation.findFirstOrThrow({ where: { organizationId: organization.id } });
    expect([closed.email, closed.wasUsed]).toEqual([null, true]);
    // Closed invitations are deleted after 30 days, when the next ones are created.
    clock += 31 * DAY;
    await invited(owner, newAddress());
    expect(await service.app.db.invitation.count({ where: { organizationId: organization.id } })).toBe(1);
  });
});

describe('addresses', () => {
  test('with an account are listed, and the others are invited', async () => {
    const { owner, member, guest, organization } = await place();
    await owner.ok('DELETE', `/users/${guest.id}`);
    const [fresh, both] = [newAddress(), newAddress()];
    expect(await failed(invite(owner, member.email))).toEqual({
      ...{ result: 'error', code: 'INVITATION_FAILED', msg: "We weren't able to invite anyone." },
      ...{ errors: [[member.email, 'Already has an account.', false]], sent_invitations: false },
      ...{ license_limit_reached: false, daily_limit_reached: false },
    });
    const addresses = `${fresh}, ${member.email.toUpperCase()}\n${guest.email},${fresh.toUpperCase()}`;
    expect(await failed(invite(owner, addresses))).toMatchObject({
      ...{ code: 'INVITATION_FAILED', sent_invitations: true },
      errors: [
        [member.email.toUpperCase(), 'Already has an account.', false],
        [guest.email, 'Account has been deactivated.', true],
      ],
    });
    expect((await listed(owner)).map((one) => one['email'])).toEqual([fresh]);
    const payload = await owner.mutate(
      'inviteUsers',
      { emails: [both, guest.email] },
      'invitations { email } refused { email refusal }',
    );
    expect(payload).toMatchObject({
      invitations: [{ email: both }],
      refused: [{ email: guest.email, refusal: 'IS_DEACTIVATED' }],
    });
    // If a request with an idempotency key fails, it has no effect.
    const keyed = { headers: { 'idempotency-key': 'k' } };
    const parameters = { invitee_emails: `${newAddress()},${member.email}`, stream_ids: [] };
    const refused = await owner.rest('POST', '/invites', parameters, keyed);
    expect(refused.body).toMatchObject({ code: 'INVITATION_FAILED', sent_invitations: false });
    const sent = await service.app.db.invitation.count({ where: { organizationId: organization.id } });
    expect(sent).toBe(2);
  });

  test('of a repeated request with an idempotency key are invited once', async () => {
    const { owner } = await place();
    const email = newAddress();
    const again = () =>
      owner.ok(
        'POST',
        '/invites',
        { invitee_emails: email, stream_ids: [] },
        { headers: { 'idempotency-key': 'once' } },
      );
    await Promise.all([again(), again()]);
    await again();
    expect([(await listed(owner)).length, (await mailsTo(email)).length]).toEqual([1, 1]);
  });

  test('that a user hides look unused, and only that user learns of the invitation', async () => {
    const { owner, member, guest } = await place();
    await guest.ok('PATCH', '/settings', { email_address_visibility: 3 });
    const [free, hidden] = [await invite(member, newAddress()), await invite(member, guest.email)];
    expect([hidden.status, hidden.body]).toEqual([free.status, free.body]);
    expect((await listed(member)).length).toBe(2);
    const [mail] = await mailsTo(guest.email);
    expect(mail?.body).toContain('You already have an account there');
    expect(mail?.body).not.toMatch(TOKEN);
    expect((await failed(invite(owner, guest.email)))['code']).toBe('INVITATION_FAILED');
  });

  test('that are malformed or not allowed stop the whole request', async () => {
    const { owner } = await place();
    await owner.ok('POST', '/realm/domains', { domain: 'new.example', allow_subdomains: false });
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
    const message = "Some emails did not validate, so we didn't send any invitations.";
    for (const [bad, reason] of [
      ['nobody', 'Invalid address.'],
      ['a b@c.example', 'Invalid address.'],
      ['a@b.example\r', 'This email address is not allowed in the organization.'],
      ['a+b@new.example', 'This email address is not allowed in the organization.'],
      ['x@other.example', 'This email address is not allowed in the organization.'],
    ] as const) {
      expect(await failed(invite(owner, `${newAddress()},${bad}`)), bad).toMatchObject({
        ...{ code: 'INVITATION_FAILED', msg: message, errors: [[bad.trim(), reason, false]], sent_invitations: false },
      });
    }
    expect(await listed(owner)).toEqual([]);
    expect((await failed(invite(owner, ' , \n')))['msg']).toBe('You must specify at least one email address.');
    const many = Array.from({ length: 501 }, newAddress).join();
    expect((await failed(invite(owner, many)))['msg']).toBe('You cannot invite more than 500 people at once.');
  });

  test('are limited per day and organization, including emails that are sent again', async () => {
    const [{ owner, administrator }, other] = [await place(), await place()];
    await invited(owner, newAddress());
    await invite(administrator, Array.from({ length: 18 }, newAddress).join());
    const [{ id }] = (await listed(owner)) as [Json];
    await owner.ok('POST', `/invites/${id}/resend`);
    const refused = { code: 'INVITATION_FAILED', daily_limit_reached: true, sent_invitations: false };
    expect(await failed(invite(owner, newAddress()))).toMatchObject(refused);
    expect(await failed(owner.rest('POST', `/invites/${id}/resend`))).toMatchObject(refused);
    const typed = await owner.tryMutation('inviteUsers', { emails: [newAddress()] });
    expect(typed).toMatchObject({ __typename: 'InvitationFailedError', code: 'INVITATION_FAILED' });
    await invited(other.owner, newAddress());
    clock += DAY;
    await invited(owner, newAddress());
  });
});

describe('an invitation link', () => {
  const link = async (by: Person, parameters: Parameters = {}): Promise<string> => {
    const { invite_link } = await by.ok('POST', '/invites/multiuse', parameters);
    expect(invite_link.startsWith(`http://${by.host}/join/`)).toBe(true);
    return invite_link.split('/').at(-1);
  };
  const request = async (visitor: Visitor, token: string, email: string): Promise<Json> => {
    const query = `mutation ($input: RequestInvitationInput!) { requestInvitation(input: $input) {
      __typename ... on RequestInvitationPayload { email } ... on ServiceError { code message } } }`;
    const { data, errors } = await visitor.graphql(query, { input: { token, email } });
    expect(errors).toBeUndefined();
    return data.requestInvitation;
  };

  test('lets any number of people join, each after their address is confirmed by email', async () => {
    const { owner, anonymous } = await place();
    const channelId = await channelOf(owner, 'ships', [owner]);
    const token = await link(owner, { stream_ids: [channelId], invite_as: 600 });
    const page = await open(anonymous, token);
    expect(page.text).toContain('name="email"');
    expect(page.text).not.toContain('name="password"');
    for (const email of [newAddress(), newAddress()]) {
      const asked = await submit(anonymous, token, { email });
      expect([asked.status, asked.text.includes('Check your email')]).toEqual([200, true]);
      const own = await tokenTo(email, owner);
      expect((await submit(anonymous, own, ZOE)).status).toBe(303);
      expect((await accountOf(email))?.role).toBe(600);
      expect((await accept(anonymous, own))['message']).toMatch(/^This invitation was already used/);
    }
    expect((await listed(owner)).map((one) => one['is_multiuse'])).toEqual([true]);
    expect((await accept(anonymous, token))['message']).toMatch(/confirmed by email first/);
  });

  test('does not reveal whether an address has an account', async () => {
    const { owner, member, anonymous, organization } = await place();
    const token = await link(owner);
    const email = newAddress();
    const [free, taken] = [
      await submit(anonymous, token, { email }),
      await submit(anonymous, token, { email: member.email }),
    ];
    expect([taken.status, taken.text.replace(member.email, email)]).toEqual([free.status, free.text]);
    const [mail] = await mailsTo(member.email);
    expect(mail?.body).toContain('You already have an account there');
    expect(mail?.body).not.toMatch(TOKEN);
    // The time does not reveal it either, because the statements are the same. They read one row by its key, or none.
    const statementsFor = async (address: string) => {
      const all = await service.queriesOf(() => request(anonymous, token, address));
      return all
        .filter((sql) => !/FROM event_counter WHERE realm_id = ANY/.test(sql))
        .map((sql) => sql.replace(/"public"."user_account"."id" IN \(\$2\)|1=0/, 'key'))
        .map((sql) => sql.replace(/OFFSET \$\d$/, 'OFFSET'));
    };
    expect(await statementsFor(owner.email)).toEqual(await statementsFor(newAddress()));
    const where = { organizationId: organization.id, action: 'invitation_created', actorKind: 'visitor' };
    expect(await service.app.db.auditLogEntry.count({ where })).toBe(4);
  });

  test('is limited to three emails per address and hour', async () => {
    const { owner, member, anonymous } = await place();
    const token = await link(owner);
    for (const email of [newAddress(), member.email]) {
      for (let i = 0; i < 3; i++) expect((await request(anonymous, token, email))['email']).toBe(email);
      expect(await request(anonymous, token, ` ${email.toUpperCase()}`)).toMatchObject({ code: 'RATE_LIMIT_HIT' });
      const refused = await submit(anonymous, token, { email });
      expect([refused.status, Number(refused.headers['retry-after']) > 3000]).toEqual([429, true]);
    }
    const many = newAddress();
    const answers = await Promise.all(Array.from({ length: 6 }, () => request(anonymous, token, many)));
    expect(answers.filter(({ email }) => email === many)).toHaveLength(3);
  });

  test('is limited to 250 emails per network and hour', async () => {
    const { owner, anonymous, organization } = await place();
    const token = await link(owner);
    // The people of an office have one address. Their emails are only counted here, because the daily limit is smaller.
    const office = { app: service.app, caller: { network: '127.0.0.1' } };
    for (let i = 0; i < 249; i++) await countInvitationRequest(office, organization.id, newAddress());
    expect((await request(anonymous, token, newAddress()))['__typename']).toBe('RequestInvitationPayload');
    expect(await request(anonymous, token, newAddress())).toMatchObject({ code: 'RATE_LIMIT_HIT' });
    const other = await place();
    expect((await request(other.anonymous, await link(other.owner), newAddress()))['email']).toBeDefined();
  });

  test('has a daily limit of its own, besides that of the emails that users send', async () => {
    const { owner, anonymous } = await place();
    const token = await link(owner);
    for (let i = 0; i < 20; i++) {
      expect((await request(anonymous, token, newAddress()))['__typename']).toBe('RequestInvitationPayload');
    }
    expect(await request(anonymous, token, newAddress())).toMatchObject({ code: 'INVITATION_FAILED' });
    await invited(owner, newAddress());
    const other = await place();
    await invite(other.owner, Array.from({ length: 20 }, newAddress).join());
    const sent = await request(other.anonymous, await link(other.owner), newAddress());
    expect(sent['__typename']).toBe('RequestInvitationPayload');
  });

  test('ends with its revocation, for emails that were requested too', async () => {
    const { owner, anonymous } = await place();
    const [token, email] = [await link(owner), newAddress()];
    await request(anonymous, token, email);
    const own = await tokenTo(email, owner);
    const [{ id, link_url }] = (await listed(owner)) as [Json];
    expect(link_url.endsWith(token)).toBe(true);
    await owner.ok('DELETE', `/invites/multiuse/${id}`);
    for (const one of [token, own]) {
      expect((await accept(anonymous, one))['message']).toBe('This invitation was revoked. Ask for a new one.');
    }
    expect(await failed(owner.rest('DELETE', `/invites/multiuse/${id}`))).toMatchObject({ msg: 'No such invitation' });
  });

  test('without a mail server creates an address for the person, unless the organization restricts addresses', async () => {
    const { owner, anonymous } = await createOrganization({}, { on: silent });
    const token = (await owner.ok('POST', '/invites/multiuse')).invite_link.split('/').at(-1);
    const form = (await open(anonymous, token)).text;
    expect(form).toContain('name="password"');
    expect(form).not.toContain('name="email"');
    const joined = await submit(anonymous, token, { ...ZOE, name: 'Zoë O’Zane' });
    const [, email = ''] = /<strong>(zoe\.o\.zane\.[0-9a-f]{10}@sign-in\.invalid)<\/strong>/.exec(joined.text) ?? [];
    expect([joined.status, joined.headers['set-cookie'] !== undefined]).toEqual([200, true]);
    expect(await accountOf(email, silent)).not.toBeNull();
    expect((await anonymous.rest('POST', '/fetch_api_key', { username: email, password: PASSWORD })).status).toBe(200);
    expect((await accept(anonymous, token, { fullName: '名前' }))['email']).toMatch(
      /^user\.[0-9a-f]{10}@sign-in\.invalid$/,
    );
    // No email is queued for such an address.
    const { id } = (await accountOf(email, silent)) ?? { id: 0 };
    await owner.ok('DELETE', `/users/${id}`, { deactivation_notification_comment: 'Bye' });
    expect(await mailsTo(email, silent)).toEqual([]);
    await owner.ok('POST', '/realm/domains', { domain: 'new.example', allow_subdomains: false });
    await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
    const asked = await submit(anonymous, token, { email: newAddress() });
    expect([asked.status, asked.text.includes('cannot send email')]).toEqual([400, true]);
  });
});

describe('permission to invite', () => {
  test('depends on settings and roles', async () => {
    const { owner, administrator, moderator, member, guest } = await place();
    const people = [owner, administrator, moderator, member, guest];
    const roles = [100, 200, 300, 400, 600];
    const allowed = await Promise.all(
      people.map(async (person) => {
        const codes = [];
        for (const invite_as of roles) {
          const both = { invite_as, stream_ids: [] };
          codes.push((await person.rest('POST', '/invites/multiuse', both)).status === 200 ? invite_as : 0);
        }
        return codes;
      }),
    );
    expect(allowed).toEqual([
      ...[
        [100, 200, 300, 400, 600],
        [0, 200, 300, 400, 600],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0],
      ],
    ]);
    const higher = await failed(invite(moderator, newAddress(), { invite_as: 200 }));
    expect(higher).toMatchObject({
      code: 'BAD_REQUEST',
      msg: 'You cannot invite people with a higher role than your own.',
    });
    await invited(moderator, newAddress(), { invite_as: 300 });
    await invited(member, newAddress());
    expect((await failed(invite(guest, newAddress())))['msg']).toBe('Insufficient permission');
    expect((await member.register()).can_invite_others_to_realm).toBe(true);
    const nobody = (await owner.ok('GET', '/user_groups')).user_groups.find((one: Json) => one.name === 'role:nobody');
    await owner.ok('PATCH', '/realm', { can_invite_users_group: { new: nobody.id } });
    expect((await failed(invite(owner, newAddress())))['msg']).toBe('Insufficient permission');
    expect((await owner.register()).can_invite_others_to_realm).toBe(false);
    const { organization } = await owner.query('{ organization { viewerCanInviteUsers viewerCanCreateInviteLinks } }');
    expect(organization).toEqual({ viewerCanInviteUsers: false, viewerCanCreateInviteLinks: true });
  });

  test('covers channels and groups, and their existence', async () => {
    const { owner, member, guest } = await place();
    const secret = await channelOf(owner, 'secret', [owner]);
    await owner.ok('PATCH', `/streams/${secret}`, { is_private: true });
    const open = await channelOf(owner, 'open', [owner]);
    const { group_id } = await owner.ok('POST', '/user_groups/create', { name: 'crew', description: '', members: [] });
    const { user_groups } = await owner.ok('GET', '/user_groups');
    const membersGroup = user_groups.find((one: Json) => one.name === 'role:members').id;
    const refused = async (parameters: Parameters) => (await failed(invite(member, newAddress(), parameters)))['msg'];
    expect(await refused({ stream_ids: [secret] })).toBe('Invalid channel ID');
    expect(await refused({ stream_ids: [open, NOBODY] })).toBe('Invalid channel ID');
    expect(await refused({ group_ids: [NOBODY] })).toBe(`Invalid user group ID: ${NOBODY}`);
    expect(await refused({ group_ids: [group_id] })).toBe('Insufficient permission');
    expect(await refused({ group_ids: [membersGroup] })).toBe('Insufficient permission');
    expect(await refused({ invite_as: 500 })).toBe('Invalid role');
    expect(await refused({ invite_expires_in_minutes: 0 })).toMatch(/^invite_expires_in_minutes must be/);
    const owners = user_groups.find((one: Json) => one.name === 'role:owners').id;
    await owner.ok('PATCH', '/realm', { can_add_subscribers_group: { new: owners } });
    expect(await refused({ stream_ids: [open] })).toBe('Insufficient permission');
    await owner.ok('PATCH', `/streams/${open}`, { is_default_stream: true });
    await invited(member, newAddress(), { stream_ids: [open] });
    const typed = await member.tryMutation('inviteUsers', { emails: [newAddress()], channelIds: [open, secret] });
    const message = 'The channel does not exist, or you cannot see it.';
    expect(typed).toMatchObject({ __typename: 'NotFoundError', message });
    expect(guest.id).toBeGreaterThan(0);
  });

  test('shows administrators all invitations with roles up to their own, and others their own', async () => {
    const { owner, administrator, moderator, member } = await place();
    const [byOwner, byMember] = [newAddress(), newAddress()];
    await invited(owner, byOwner, { invite_as: 100 });
    await invited(member, byMember);
    const seen = (person: Person) => listed(person).then((all) => all.map((one) => one['email']));
    expect(await seen(owner)).toEqual([byOwner, byMember]);
    expect(await seen(administrator)).toEqual([byMember]);
    expect(await seen(moderator)).toEqual([]);
    expect(await seen(member)).toEqual([byMember]);
    const [{ id: ownersId }, { id: membersId }] = (await listed(owner)) as [Json, Json];
    const gone = { code: 'BAD_REQUEST', msg: 'No such invitation' };
    expect(await failed(administrator.rest('DELETE', `/invites/${ownersId}`))).toMatchObject(gone);
    expect(await failed(moderator.rest('POST', `/invites/${membersId}/resend`))).toMatchObject(gone);
    expect(await failed(owner.rest('DELETE', `/invites/multiuse/${membersId}`))).toMatchObject(gone);
    const hidden = await administrator.query('query ($id: ID!) { node(id: $id) { id } }', {
      id: globalId('Invitation', ownersId),
    });
    expect(hidden.node).toBeNull();
    const events = await Promise.all(
      [administrator, moderator, member].map((one) => one.receiving({ event_types: ['invites_changed'] })),
    );
    await owner.ok('DELETE', `/invites/${membersId}`);
    const changed = [{ type: 'invites_changed' }];
    expect(await Promise.all(events.map((heard) => heard()))).toEqual([changed, [], changed]);
  });

  test("hides others' links into channels that an administrator cannot read", async () => {
    const { owner, administrator } = await place();
    const secret = await channelOf(owner, 'secret', [owner]);
    await owner.ok('PATCH', `/streams/${secret}`, { is_private: true });
    const open = await channelOf(owner, 'open', [owner]);
    await owner.ok('POST', '/invites/multiuse', { stream_ids: [open, secret] });
    await owner.ok('POST', '/invites/multiuse', { stream_ids: [open] });
    const shown = async (person: Person) => {
      const query = '{ organization { invitations(first: 9) { nodes { linkUrl } } } }';
      const { organization } = await person.query(query);
      const overGraphql = organization.invitations.nodes.map(({ linkUrl }: Json) => linkUrl !== null);
      expect((await listed(person)).map(({ link_url }) => link_url !== undefined)).toEqual(overGraphql);
      return overGraphql;
    };
    expect(await shown(owner)).toEqual([true, true]);
    expect(await shown(administrator)).toEqual([false, true]);
    const [{ id }] = (await listed(administrator)) as [Json];
    await administrator.ok('DELETE', `/invites/multiuse/${id}`);
    expect(await shown(administrator)).toEqual([true]);
  });

  test('for a role above member needs proof of identity in a session', async () => {
    const { owner } = await place();
    const login = { username: owner.email, password: OWNER_PASSWORD };
    const { headers } = await owner.rest('POST', '/sessions', login);
    const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
    const browser = owner.as(undefined);
    const by = (parameters: Parameters) =>
      browser.rest('POST', '/invites/multiuse', parameters, { headers: { cookie, 'sec-fetch-site': 'same-origin' } });
    clock += 11 * MINUTE;
    expect((await by({})).status).toBe(200);
    expect((await by({ invite_as: 200 })).body.code).toBe('PASSWORD_REQUIRED');
    expect((await by({ invite_as: 200, current_password: OWNER_PASSWORD })).status).toBe(200);
    const urlsBy = async (person: Person, options = {}) => {
      const { body } = await person.rest('GET', '/invites', {}, options);
      return body.invites.map((one: Json) => [one.invited_as, one.link_url !== undefined]);
    };
    const [shown, hidden] = [
      [400, true],
      [200, false],
    ];
    expect(await urlsBy(browser as Person, { headers: { cookie } })).toEqual([shown, hidden]);
    expect(await urlsBy(owner)).toEqual([shown, [200, true]]);
    const { text } = await send(owner.url, {
      method: 'POST',
      path: '/graphql',
      headers: { host: owner.host, cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({
        query: `mutation ($input: CreateInviteLinkInput!) {
          createInviteLink(input: $input) { ... on CreateInviteLinkPayload { invitation { linkUrl } } } }`,
        variables: { input: { role: 'ADMINISTRATOR', currentPassword: OWNER_PASSWORD } },
      }),
    });
    expect(JSON.parse(text).data.createInviteLink.invitation.linkUrl).toContain('/join/');
  });
});

describe('the REST interface', () => {
  const OK = { result: 'success', msg: '' };
  const DEFAULT_SECONDS = 14_400 * 60;

  test('takes the parameters in the forms that clients send, and returns the documented fields', async () => {
    const { owner, organization } = await place();
    const channelId = await channelOf(owner, 'ships', [owner]);
    const { group_id } = await owner.ok('POST', '/user_groups/create', { name: 'crew', description: '', members: [] });
    const form = async (path: string, fields: Readonly<Record<string, string>>) => {
      const { status, text } = await send(owner.url, {
        ...{ method: 'POST', path: `/api/v1${path}`, body: new URLSearchParams(fields).toString() },
        headers: {
          ...{ host: owner.host, authorization: owner.authorization ?? '' },
          'content-type': 'application/x-www-form-urlencoded',
        },
      });
      return { status, body: JSON.parse(text) };
    };
    const [first, second, third, fourth] = [newAddress(), newAddress(), newAddress(), newAddress()];
    expect(await form('/invites', { invitee_emails: `${first}, ${second}\n${third}`, stream_ids: '[]' })).toEqual({
      ...{ status: 200, body: OK },
    });
    const all = {
      ...{ invitee_emails: fourth, invite_expires_in_minutes: 'null', invite_as: '600' },
      ...{ stream_ids: `[${channelId}]`, group_ids: `[${group_id}]`, include_realm_default_subscriptions: 'true' },
      ...{ notify_referrer_on_join: 'false', welcome_message_custom_text: 'x'.repeat(8000) },
    };
    expect(await form('/invites', all)).toEqual({ status: 200, body: OK });
    const { body } = await form('/invites/multiuse', {});
    expect(body).toEqual({ ...OK, invite_link: expect.stringMatching(`^http://${owner.host}/join/[\\w-]{43}$`) });
    const { invitee_emails: _, notify_referrer_on_join: _n, ...ofLink } = all;
    expect((await form('/invites/multiuse', { ...ofLink, invite_expires_in_minutes: '1' })).status).toBe(200);
    const reply = await owner.ok('GET', '/invites');
    const seconds = Math.floor(clock / 1000);
    const record = {
      ...{ id: expect.any(Number), invited_by_user_id: owner.id, invited: seconds, invited_as: 400 },
      ...{ expiry_date: seconds + DEFAULT_SECONDS, notify_referrer_on_join: true, is_multiuse: false },
    };
    const url = expect.stringMatching(/\/join\//);
    expect(reply).toEqual({
      ...OK,
      invites: [
        ...[first, second, third].map((email) => ({ ...record, email })),
        { ...record, email: fourth, invited_as: 600, expiry_date: null, notify_referrer_on_join: false },
        { ...record, link_url: body.invite_link, is_multiuse: true },
        { ...record, invited_as: 600, expiry_date: seconds + 60, link_url: url, is_multiuse: true },
      ].map((one) => (one.is_multiuse ? { ...one, notify_referrer_on_join: expect.any(Boolean) } : one)),
    });
    const [byEmail, , , , link] = reply.invites.map(({ id }: Json) => id);
    expect((await form(`/invites/${byEmail}/resend`, {})).body).toEqual(OK);
    expect((await owner.rest('DELETE', `/invites/${byEmail}`)).body).toEqual(OK);
    expect((await owner.rest('DELETE', `/invites/multiuse/${link}`)).body).toEqual(OK);
    const welcome = { welcome_message_custom_text: 'Ahoy' };
    const test = await owner.rest('POST', '/realm/test_welcome_bot_custom_message', welcome);
    expect(test.body).toEqual({ ...OK, message_id: expect.any(Number) });
    expect(organization.id).toBeGreaterThan(0);
  });

  test('refuses malformed parameters with the documented errors', async () => {
    const { owner, member, guest } = await place();
    const one = { invitee_emails: newAddress(), stream_ids: '[]' };
    const refused = async (path: string, parameters: Parameters, by: Person = owner) => {
      const { status, body } = await by.rest('POST', path, parameters);
      return [status, body.code, body.var_name ?? body.msg];
    };
    const missing = (name: string) => [400, 'REQUEST_VARIABLE_MISSING', name];
    expect(await refused('/invites', { invitee_emails: 'a@new.example' })).toEqual(missing('stream_ids'));
    expect(await refused('/invites', { stream_ids: '[]' })).toEqual(missing('invitee_emails'));
    expect(await refused('/realm/test_welcome_bot_custom_message', {})).toEqual(missing('welcome_message_custom_text'));
    for (const [name, value] of [
      ...([
        ['stream_ids', '1'],
        ['stream_ids', '["x"]'],
        ['stream_ids', 'no'],
        ['group_ids', '{}'],
      ] as const),
      ...([
        ['invite_as', '"400"'],
        ['invite_as', '450'],
        ['invite_as', 'x'],
        ['invite_as', '400.5'],
      ] as const),
      ...([
        ['invite_expires_in_minutes', '0'],
        ['invite_expires_in_minutes', '-1'],
        ['invite_expires_in_minutes', 'x'],
      ] as const),
      ...([
        ['include_realm_default_subscriptions', 'yes'],
        ['notify_referrer_on_join', '2'],
      ] as const),
      ...([['welcome_message_custom_text', 'x'.repeat(8001)]] as const),
    ]) {
      const [status, code] = await refused('/invites', { ...one, [name]: value });
      expect([name, value, status, code]).toEqual([
        name,
        value,
        400,
        expect.stringMatching(/^(BAD_REQUEST|INVALID_\w+)$/),
      ]);
    }
    expect((await refused('/invites', one, guest)).slice(0, 2)).toEqual([400, 'BAD_REQUEST']);
    expect((await refused('/invites/multiuse', {}, member)).slice(0, 2)).toEqual([400, 'BAD_REQUEST']);
    expect((await refused('/invites/0/resend', {}))[1]).toBe('BAD_REQUEST');
    expect((await owner.as(undefined).rest('GET', '/invites')).status).toBe(401);
    expect(await listed(owner)).toEqual([]);
  });

  test('sends invites_changed to administrators, bots included, and to the inviter', async () => {
    const { owner, administrator, moderator, member, guest, bot } = await place();
    await owner.ok('PATCH', `/users/${bot.id}`, { role: 200 });
    const people = [owner, administrator, bot, moderator, member, guest];
    const heard = await Promise.all(people.map((one) => one.receiving({ event_types: ['invites_changed'] })));
    await invite(member, newAddress());
    const events = await Promise.all(heard.map((one) => one()));
    const changed = [{ type: 'invites_changed' }];
    expect(events).toEqual([changed, changed, changed, [], changed, []]);
  });

  test('is described by registration and by the server settings', async () => {
    const { owner, member, guest, anonymous } = await place();
    const groups = (await owner.ok('GET', '/user_groups')).user_groups;
    const idOf = (name: string) => groups.find((one: Json) => one.name === name).id;
    const state = await member.register({ fetch_event_types: ['realm', 'realm_user'] });
    expect(state).toMatchObject({
      ...{ can_invite_others_to_realm: true, realm_invite_required: true, realm_emails_restricted_to_domains: false },
      ...{ realm_can_invite_users_group: idOf('role:members'), realm_disallow_disposable_email_addresses: true },
      ...{ realm_create_multiuse_invite_group: idOf('role:administrators'), realm_send_welcome_emails: true },
      ...{ realm_welcome_message_custom_text: '', realm_email_auth_enabled: true, realm_password_auth_enabled: true },
      ...{ password_min_length: 8, password_max_length: 100, password_min_guesses: expect.any(Number) },
      realm_authentication_methods: {
        Email: { enabled: true, available: true },
        'OpenID Connect': { enabled: false, available: true },
      },
    });
    for (const [name, rules] of Object.entries({
      can_invite_users_group: { default_group_name: 'role:members', allow_everyone_group: false },
      create_multiuse_invite_group: { default_group_name: 'role:administrators', allow_everyone_group: false },
    })) {
      expect(state['server_supported_permission_settings'].realm[name]).toMatchObject(rules);
    }
    expect((await guest.register({ fetch_event_types: ['realm_user'] })).can_invite_others_to_realm).toBe(false);
    const settings = await anonymous.ok('GET', '/server_settings');
    expect(settings).toMatchObject({
      ...{ email_auth_enabled: true, require_email_format_usernames: true },
      external_authentication_methods: [expect.objectContaining({ name: 'browser' })],
      ...{ realm_url: `http://${owner.host}`, realm_uri: `http://${owner.host}` },
      authentication_methods: { password: true, email: true, 'openid connect': false },
    });
  });
});

describe.skipIf((process.env['DATABASE_URL'] ?? '') === '')('a concurrent change of the rules', () => {
  test('applies to a person who is joining', async () => {
    const { owner, anonymous, organization } = await place();
    await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: false });
    const email = newAddress();
    const token = await invited(owner, email);
    const { db } = service.app;
    let joining: Promise<Json> | undefined;
    await db.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM realm WHERE id = ${organization.id} FOR UPDATE`;
      joining = accept(anonymous, token);
      // The request reads the organization, hashes the password, and then waits for the lock.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const where = { id: organization.id };
      const { settings } = await tx.organization.findUniqueOrThrow({ where });
      const restricted = { ...(settings as object), emails_restricted_to_domains: true };
      await tx.organization.update({ where, data: { settings: restricted } });
    });
    expect((await joining)?.['message']).toMatch(/not allowed in this organization$/);
    expect(await accountOf(email)).toBeNull();
  });
});

describe.skipIf((process.env['DATABASE_URL'] ?? '') === '')('at two nodes', () => {
  test('a single-use invitation creates one account', async () => {
    await using database = await createMigratedDatabase(process.env['DATABASE_URL'] ?? '');
    const env = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') };
    await using one = await startServer({ env });
    await using two = await startServer({ env });
    const { owner, organization } = await createOrganization({}, { on: one });
    const nodes = [one, two].map(
      (node) => new Visitor({ url: node.url, host: `${organization.subdomain}.localhost:${node.port}` }),
    );
    // A transaction reads the activity of the database once, so another client polls it.
    const [client, watcher] = [1, 2].map(() => new pg.Client({ connectionString: database.url })) as [
      pg.Client,
      pg.Client,
    ];
    // Before the database is dropped.
    await using stack = new AsyncDisposableStack();
    for (const one of [client, watcher]) {
      await one.connect();
      stack.defer(() => one.end());
    }
    for (let round = 0; round < 3; round++) {
      const email = newAddress();
      await invite(owner, email);
      const { rows } = await client.query('SELECT body FROM outgoing_mail WHERE recipient = $1', [email]);
      const [, , token = ''] = TOKEN.exec(rows[0].body) ?? [];
      // Requests at both nodes find the open invitation, hash the password, and then wait for this lock.
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM realm WHERE id = $1 FOR UPDATE', [organization.id]);
      const accepting = [...nodes, ...nodes].map((node) => accept(node, token));
      await expect
        .poll(async () => {
          const waiting = await watcher.query(`SELECT count(*)::int AS n FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'`);
          return waiting.rows[0].n;
        })
        .toBeGreaterThanOrEqual(2);
      await client.query('COMMIT');
      const results = await Promise.all(accepting);
      const used = 'This invitation was already used. Sign in with the account that was created.';
      expect(results.map(({ email: joined, message }) => joined ?? message).sort()).toEqual([used, used, used, email]);
    }
  });
});
