import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const METRICS_TOKEN = 'token of the metrics';
const PASSWORD = 'correct horse battery';
/** Number of active people in a new organization. */
const PEOPLE = 5;
/** A service without a mail server, whose links create accounts at once. */
let service: InProcess;
/** A service whose emails stay queued. */
let mailing: InProcess;

beforeAll(async () => {
  const now = () => new Date(Date.now() + 60_000);
  service = await startOnDatabaseOfRun({ env: { SMTP_URL: '', INVITATIONS_PER_DAY: '20' }, now });
  const env = { INVITATIONS_PER_DAY: '20', METRICS_BY_ORGANIZATION: '1', METRICS_TOKEN };
  mailing = await startOnDatabaseOfRun({ env, now });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await mailing[Symbol.asyncDispose]();
});

const newOrganization = (on = service) => createOrganization({}, { on, password: OWNER_PASSWORD });
type NewOrganization = Awaited<ReturnType<typeof newOrganization>>;
const run = (name: string, args: object, on = service) => runCommand(on.dataDir, name, args) as Promise<Json>;
const limits = ({ organization }: NewOrganization, set: object = {}, on = service) =>
  run('org limits', { org: organization.subdomain, ...set }, on);

let made = 0;
const newUser = () => ({ email: `person${++made}@new.example`, password: PASSWORD, full_name: `Person ${made}` });
const FULL = { code: 'BAD_REQUEST', limit: 'realm_max_active_users', msg: expect.stringContaining('more than') };

describe('org limits', () => {
  test('prints limits with their use, sets them, and returns to the defaults', async () => {
    const at = await newOrganization();
    const initial = [
      { limit: 'max_active_users', value: null, is_default: true, used: PEOPLE },
      { limit: 'upload_quota_mib', value: null, is_default: true, used: 0 },
      { limit: 'max_requests_per_minute', value: null, is_default: true, used: null },
      { limit: 'max_invitations_per_day', value: 20, is_default: true, used: 0 },
    ];
    expect(await limits(at)).toEqual(initial);
    const events = await at.member.receiving({ event_types: ['realm'] });
    const set = { maxUsers: 7, uploadQuotaMib: '2', requestsPerMinute: 500, invitationsPerDay: 0 };
    const values = [7, 2, 500, 0];
    const expected = initial.map((one, i) => ({ ...one, value: values[i], is_default: false }));
    expect(await limits(at, set)).toEqual(expected);
    expect(await limits(at)).toEqual(expected);
    const changed = {
      max_active_users: 7,
      upload_quota_mib: 2,
      max_requests_per_minute: 500,
      max_invitations_per_day: 0,
    };
    expect(await events()).toMatchObject([{ type: 'realm', data: changed }]);
    const FIELDS =
      'maxActiveUsers uploadQuotaMib maxRequestsPerMinute maxInvitationsPerDay invitationEmailsSent invitationEmailsPerDay';
    const shown = { maxActiveUsers: 7, uploadQuotaMib: 2, maxRequestsPerMinute: 500, maxInvitationsPerDay: 0 };
    const read = async (by: Person) => (await by.query(`{ organization { ${FIELDS} } }`)).organization;
    expect(await read(at.administrator)).toEqual({ ...shown, invitationEmailsSent: 0, invitationEmailsPerDay: 0 });
    expect(await read(at.member)).toEqual({ ...shown, invitationEmailsSent: null, invitationEmailsPerDay: null });
    const none = { maxUsers: 'none', uploadQuotaMib: 'none', requestsPerMinute: 'none', invitationsPerDay: 'none' };
    expect(await limits(at, none)).toEqual(initial);
    const entries = await service.app.db.auditLogEntry.findMany({
      where: { organizationId: at.organization.id, action: 'organization_changed' },
      orderBy: { id: 'asc' },
    });
    expect(entries.map(({ actorKind, details }) => [actorKind, details])).toEqual([
      ['operator', expect.objectContaining({ max_active_users: { old: null, new: 7 } })],
      ['operator', expect.objectContaining({ max_active_users: { old: 7, new: null } })],
    ]);
  });

  test('refuses values that are no limits', async () => {
    const at = await newOrganization();
    for (const set of [{ maxUsers: 0 }, { maxUsers: 'many' }, { uploadQuotaMib: 0.5 }, { invitationsPerDay: -1 }])
      await expect(limits(at, set)).rejects.toThrow();
    expect((await limits(at)).map(({ is_default }: Json) => is_default)).toEqual([true, true, true, true]);
  });
});

describe('the limit of active users', () => {
  test('holds for created and reactivated people and for concurrent requests, and not for bots', async () => {
    const [at, other] = [await newOrganization(), await newOrganization()];
    const { owner, guest, organization } = at;
    await limits(at, { maxUsers: PEOPLE + 1 });
    const replies = await Promise.all(Array.from({ length: 4 }, () => owner.rest('POST', '/users', newUser())));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
    for (const { status, body } of replies) if (status === 400) expect(body).toMatchObject(FULL);
    const { email, full_name: fullName } = newUser();
    const input = { email, fullName, password: PASSWORD };
    expect(await owner.tryMutation('createUser', input)).toMatchObject({ __typename: 'ConflictError' });
    const command = { org: organization.subdomain, name: fullName, email };
    await expect(run('user create', command)).rejects.toThrow('more than 6 active users');
    await owner.ok('POST', '/bots', { full_name: 'Robot', short_name: 'robot' });
    await owner.ok('DELETE', `/users/${guest.id}`);
    await owner.ok('POST', '/users', newUser());
    expect((await owner.rest('POST', `/users/${guest.id}/reactivate`)).body).toMatchObject(FULL);
    await expect(run('user reactivate', { org: organization.subdomain, user: String(guest.id) })).rejects.toThrow();
    await limits(at, { maxUsers: PEOPLE + 2 });
    await owner.ok('POST', `/users/${guest.id}/reactivate`);
    await other.owner.ok('POST', '/users', newUser());
    // People above a lowered limit stay.
    expect((await limits(at, { maxUsers: 1 }))[0]).toMatchObject({ value: 1, used: PEOPLE + 2 });
    await owner.ok('GET', '/users/me');
  });

  test('holds for people who accept invitations', async () => {
    const at = await newOrganization();
    const { invite_link } = await at.owner.ok('POST', '/invites/multiuse', { stream_ids: [] });
    const token = String(invite_link).split('/').at(-1);
    await limits(at, { maxUsers: PEOPLE + 1 });
    const accept = async (fullName: string) => {
      const query = `mutation ($input: AcceptInvitationInput!) { acceptInvitation(input: $input) {
        __typename ... on ServiceError { message } } }`;
      return (await at.anonymous.graphql(query, { input: { token, fullName, password: PASSWORD } })).data;
    };
    const replies = await Promise.all([accept('Ann Lee'), accept('Bob Lee')]);
    expect(replies.map((data) => data?.acceptInvitation.__typename).sort()).toEqual([
      'AcceptInvitationPayload',
      'ConflictError',
    ]);
    expect((await limits(at))[0]).toMatchObject({ used: PEOPLE + 1 });
  });

  test('refuses invitations to more people', async () => {
    const at = await newOrganization(mailing);
    await limits(at, { maxUsers: PEOPLE + 1 }, mailing);
    const invite = (invitee_emails: string) => at.owner.rest('POST', '/invites', { invitee_emails, stream_ids: [] });
    expect((await invite('a1@new.example,a2@new.example')).body).toMatchObject({
      ...{
        code: 'INVITATION_FAILED',
        license_limit_reached: true,
        daily_limit_reached: false,
        sent_invitations: false,
      },
    });
    const query = `mutation ($input: InviteUsersInput!) { inviteUsers(input: $input) {
      ... on InvitationFailedError { userLimitReached dailyLimitReached } } }`;
    const { data } = await at.owner.graphql(query, { input: { emails: ['a1@new.example', 'a2@new.example'] } });
    expect(data.inviteUsers).toEqual({ userLimitReached: true, dailyLimitReached: false });
    expect((await invite('a1@new.example')).body).toMatchObject({ result: 'success' });
  });
});

test('the limit of invitations of an organization replaces that of the server', async () => {
  const [at, other] = [await newOrganization(mailing), await newOrganization(mailing)];
  await limits(at, { invitationsPerDay: 1 }, mailing);
  const invite = async (by: Person, count: number) => {
    const invitee_emails = Array.from({ length: count }, () => newUser().email).join();
    return (await by.rest('POST', '/invites', { invitee_emails, stream_ids: [] })).body['code'];
  };
  expect(await invite(at.owner, 2)).toBe('INVITATION_FAILED');
  expect(await invite(at.owner, 1)).toBeUndefined();
  expect(await invite(at.owner, 1)).toBe('INVITATION_FAILED');
  expect(await invite(other.owner, 2)).toBeUndefined();
  await limits(at, { invitationsPerDay: 30 }, mailing);
  expect(await invite(at.owner, 25)).toBeUndefined();
  expect((await limits(at, {}, mailing))[3]).toEqual({
    ...{ limit: 'max_invitations_per_day', value: 30, is_default: false, used: 26 },
  });
  const signUp = async (on: NewOrganization) => {
    const query = `mutation ($input: RequestSignUpInput!) { requestSignUp(input: $input) {
      __typename ... on ServiceError { code } } }`;
    const { data, errors } = await on.anonymous.graphql(query, { input: { email: newUser().email } });
    return data?.requestSignUp ?? errors;
  };
  await at.owner.ok('PATCH', '/realm', { invite_required: false });
  await limits(at, { invitationsPerDay: 0 }, mailing);
  expect(await signUp(at)).toMatchObject({ code: 'RATE_LIMIT_HIT' });
  await other.owner.ok('PATCH', '/realm', { invite_required: false });
  for (let i = 0; i < 3; i++) expect(await signUp(other)).toEqual({ __typename: 'RequestSignUpPayload' });
  expect((await limits(other, {}, mailing))[3]).toMatchObject({ used: 3 });
});

test('requests of all accounts of an organization have a common limit', async () => {
  const [at, other] = [await newOrganization(), await newOrganization()];
  await limits(at, { requestsPerMinute: 4 });
  const first = await at.owner.rest('GET', '/users/me');
  expect(first.headers).toMatchObject({ 'x-ratelimit-limit': '4', 'x-ratelimit-remaining': '3' });
  await at.member.query('{ viewer { id } }');
  await at.guest.ok('GET', '/users/me');
  expect((await at.member.rest('GET', '/users/me')).headers).toMatchObject({ 'x-ratelimit-remaining': '0' });
  const refused = await at.administrator.rest('GET', '/users/me');
  expect([refused.status, refused.body['code'], refused.headers['x-ratelimit-limit']]).toEqual([
    429,
    'RATE_LIMIT_HIT',
    '4',
  ]);
  expect(refused.body['msg']).toContain('limit of 4 requests per minute');
  expect(refused.body['retry-after']).toBeGreaterThan(0);
  const typed = await at.member.graphql('{ viewer { id } }');
  expect(typed.errors?.[0]).toMatchObject({ extensions: { code: 'RATE_LIMIT_HIT' } });
  // Clients that are not signed in, and other organizations, have limits of their own.
  await at.anonymous.ok('GET', '/server_settings');
  await other.owner.ok('GET', '/users/me');
  await limits(at, { requestsPerMinute: 'none' });
  await at.owner.ok('GET', '/users/me');
});

describe('figures', () => {
  test('org usage counts guests, files, events and sign-ins, and estimates rows', async () => {
    const at = await newOrganization();
    await at.owner.ok('POST', '/messages', { type: 'direct', to: [at.owner.id], content: 'hello' });
    await at.anonymous.rest('POST', '/sessions', { username: at.owner.email, password: OWNER_PASSWORD });
    await service.app.db.$executeRawUnsafe('ANALYZE');
    const usage = await run('org usage', { org: at.organization.subdomain });
    expect(usage).toMatchObject({ people: PEOPLE, guests: 1, files: 0, file_bytes: 0, sign_ins_24_hours: 1 });
    const { length: events } = await service.app.db.event.findMany({ where: { organizationId: at.organization.id } });
    expect(usage.events).toBe(events);
    // More than the users, and less than all rows of the database.
    expect(usage.database_rows_estimate).toBeGreaterThan(PEOPLE);
    expect(usage.database_bytes_estimate).toBeGreaterThan(0);
    const [{ rows }] = (await service.app.db.$queryRaw`
      SELECT sum(reltuples)::float8 AS rows FROM pg_class WHERE relkind = 'r'`) as [{ rows: number }];
    expect(usage.database_rows_estimate).toBeLessThan(rows);
  });

  test('metrics have the largest organizations only', async () => {
    const at = await newOrganization(mailing);
    for (let i = 0; i < 3; i++) await at.owner.ok('POST', '/users', newUser());
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const read = async () => (await fetch(`${mailing.url}/metrics`, { headers })).text();
    const samples = (text: string, name: string) => text.split('\n').filter((line) => line.startsWith(`${name}{`));
    const text = await read();
    for (const name of ['people', 'bots', 'file_bytes', 'event_queues_live'])
      expect(samples(text, `organization_${name}`)).toHaveLength(1);
    await at.owner.ok('GET', '/users/me');
    const requests = samples(await read(), 'organization_requests_total');
    expect(requests.length).toBeGreaterThan(0);
    expect(requests.length).toBeLessThanOrEqual(2);
  });
});
