import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const PASSWORD = 'correct horse battery';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0';
const CHROMIUM = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36';

let service: InProcess;
beforeAll(async () => {
  service = await startOnDatabaseOfRun({ env: { TRUST_PROXY: '1' } });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = () => createOrganization({}, { on: service, password: PASSWORD });

/** A client that signs in. */
interface Client {
  readonly agent: string;
  readonly address?: string;
  readonly cookie?: string;
}

/** Signs in with the password. @param path Path of the endpoint: for a session, or for the API key. */
async function signIn(
  user: Person,
  { agent, address = '203.0.113.1', cookie }: Client,
  path = '/sessions',
): Promise<string> {
  const { status, headers } = await send(service.url, {
    ...{ method: 'POST', path: `/api/v1${path}` },
    headers: {
      ...{ host: user.host, 'user-agent': agent, 'x-forwarded-for': address },
      'content-type': 'application/x-www-form-urlencoded',
      ...(cookie !== undefined && { cookie }),
    },
    body: new URLSearchParams({ username: user.email, password: PASSWORD }).toString(),
  });
  expect(status).toBe(200);
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

const mailsTo = ({ organization }: Organization, { email }: Person) =>
  service.app.db.outgoingMail.findMany({
    where: { organizationId: organization.id, recipient: email, subject: { startsWith: 'A new sign-in' } },
    orderBy: { id: 'asc' },
  });

describe.concurrent('an email about a new device', () => {
  test('is sent for an unknown browser at an unknown address, and names both', async () => {
    const at = await place();
    const { owner, member } = at;
    await owner.ok('PATCH', '/settings', { timezone: 'Asia/Kolkata' });
    await signIn(owner, { agent: FIREFOX });
    expect(await mailsTo(at, owner)).toEqual([]);
    await signIn(owner, { agent: CHROMIUM, address: '198.51.100.7' });
    const [mail, ...others] = await mailsTo(at, owner);
    expect(others).toEqual([]);
    expect(mail?.body).toContain(`Client: ${CHROMIUM}\nNetwork address: 198.51.100.7`);
    expect(mail?.body).toMatch(/from a new device at \d{4}-\d\d-\d\d \d\d:\d\d\./);
    expect(await mailsTo(at, member)).toEqual([]);
  });

  test('is not sent for a browser or address that is known, also after signing out', async () => {
    const at = await place();
    const { owner } = at;
    const home = { agent: FIREFOX };
    const cookie = await signIn(owner, home);
    await signIn(owner, home);
    // This browser presents the cookie of its session, at another network address.
    await signIn(owner, { ...home, address: '198.51.100.8', cookie });
    const out = { method: 'DELETE', path: '/api/v1/sessions/current', headers: { host: owner.host, cookie } };
    await send(service.url, out);
    await signIn(owner, home);
    expect(await mailsTo(at, owner)).toEqual([]);
  });

  test('is sent for a browser with the name of a known one at another address', async () => {
    const at = await place();
    const { owner } = at;
    await signIn(owner, { agent: FIREFOX });
    await signIn(owner, { agent: FIREFOX, address: '198.51.100.7' });
    expect(await mailsTo(at, owner)).toHaveLength(1);
  });

  test('is sent for the first sign-in in the audit log if the account is older than the log', async () => {
    const at = await place();
    const { owner } = at;
    const key = { organizationId_id: { organizationId: at.organization.id, id: owner.id } };
    await service.app.db.user.update({ where: key, data: { joinedAt: new Date(Date.now() - 366 * 86_400_000) } });
    await signIn(owner, { agent: FIREFOX });
    expect(await mailsTo(at, owner)).toHaveLength(1);
  });

  test('is sent for the API key too, once for each device', async () => {
    const at = await place();
    const { owner } = at;
    await signIn(owner, { agent: FIREFOX });
    const phone = { agent: 'ChatMobile/1.0 (Android)', address: '198.51.100.9' };
    for (const _ of [1, 2]) await signIn(owner, phone, '/fetch_api_key');
    expect((await mailsTo(at, owner)).map(({ body }) => body.includes('Client: ChatMobile'))).toEqual([true]);
  });

  test('is not sent to a user who does not want it', async () => {
    const at = await place();
    const { owner } = at;
    await owner.ok('PATCH', '/settings', { enable_login_emails: false });
    await signIn(owner, { agent: FIREFOX });
    await signIn(owner, { agent: CHROMIUM, address: '198.51.100.7' });
    expect(await mailsTo(at, owner)).toEqual([]);
  });

  test('has at most 200 characters of the client', async () => {
    const at = await place();
    const { owner } = at;
    await signIn(owner, { agent: FIREFOX });
    await signIn(owner, { agent: 'y'.repeat(400), address: '198.51.100.7' });
    const [mail] = await mailsTo(at, owner);
    expect(mail?.body).toContain(`Client: ${'y'.repeat(200)}\nNetwork address: 198.51.100.7`);
  });
});
