import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../src/server/listen.ts';
import { runCommand } from '../helpers/control.ts';
import { send } from '../helpers/http.ts';
import { openMailbox } from '../helpers/mailbox.ts';
import { basic } from '../helpers/person.ts';
import { METRICS } from '../helpers/process.ts';
import { createOrganization, serverOf } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

// Tests operator commands about users, sent to a running server.

const PASSWORD = 'correct horse battery';

async function ground() {
  const { owner, organization, signUp } = await createOrganization();
  const member = await signUp('Mara', 'member', PASSWORD);
  const command = (name: string, args: object) =>
    runCommand(serverOf().dataDir, name, { org: organization.subdomain, ...args });
  const signIn = (password: string) =>
    member.rest('POST', '/fetch_api_key', { username: member.email, password }).then(({ status }) => status);
  return { owner, member, command, signIn };
}

test.concurrent('changes a role, and notifies other users', async () => {
  const { owner, member, command } = await ground();
  const heard = await owner.receiving();
  expect(await command('user role', { user: member.email, role: 'moderator' })).toMatchObject({ role: 'moderator' });
  const told = (await heard()).find(({ type, op }) => type === 'realm_user' && op === 'update');
  expect(told?.person).toEqual({ user_id: member.id, role: 300 });
  await expect(command('user role', { user: owner.email, role: 'member' })).rejects.toThrow(/only organization owner/);
});

test.concurrent('sets a password, which replaces a lost one', async () => {
  const { member, command, signIn } = await ground();
  await expect(command('user password', { user: member.email, password: 'short' })).rejects.toThrow(/BAD_REQUEST/);
  expect(await signIn(PASSWORD)).toBe(200);
  await command('user password', { user: String(member.id), password: 'another horse battery' });
  expect(await command('user reset-password', { user: member.email })).toEqual({
    url: expect.stringMatching(/^http:.*\/reset-password\?token=[\w-]{43}$/),
    expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect([await signIn(PASSWORD), await signIn('another horse battery')]).toEqual([401, 200]);
  expect((await member.rest('GET', '/users/me')).status).toBe(200);
});

test.concurrent('deactivates and reactivates a user', async () => {
  const { owner, member, command } = await ground();
  const status = async () => (await member.rest('GET', '/users/me')).status;
  expect(await command('user deactivate', { user: member.email })).toMatchObject({ active: false });
  expect(await status()).toBe(401);
  expect(await command('user reactivate', { user: member.email })).toMatchObject({ active: true });
  // The command has replaced the API key of the user.
  expect(await status()).toBe(401);
  const { api_key: key } = await command('key show', { user: member.email });
  expect((await member.as(basic(member.email, key)).rest('GET', '/users/me')).status).toBe(200);
  await expect(command('user deactivate', { user: owner.email })).rejects.toThrow(/only organization owner/);
});

test.concurrent('lists the live event queues, and ends one with an error to its reader', async () => {
  const { member, owner, command } = await ground();
  const { queue_id } = await member.register({ fetch_event_types: [] });
  const { queue_id: another } = await owner.register({ fetch_event_types: [] });
  const idsOf = async (args: object) =>
    ((await command('queue list', args)) as unknown as { queue_id: string }[]).map(({ queue_id }) => queue_id);
  expect((await idsOf({})).sort()).toEqual([queue_id, another].sort());
  expect(await idsOf({ user: member.email })).toEqual([queue_id]);
  const polled = member.rest('GET', '/events', { queue_id, last_event_id: -1 });
  expect(await command('queue end', { queue: queue_id })).toMatchObject({ user_id: member.id, ended: true });
  await polled;
  const after = await member.rest('GET', '/events', { queue_id, last_event_id: -1, dont_block: true });
  expect(after.body).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID' });
  expect(await idsOf({})).toEqual([another]);
  await expect(command('queue end', { queue: queue_id })).rejects.toThrow(/no live queue/);
});

test('doctor checks Redis, the mail server, the disk and the address', async () => {
  const port = await freePort(0, '127.0.0.1');
  const closed = await freePort(0, '127.0.0.1');
  const examine = async (env: Record<string, string>) => {
    await using service = await startOnDatabaseOfRun({
      env: { PORT: String(port), EXTERNAL_HOST: `http://127.0.0.1:${port}`, ...env },
    });
    const { findings } = (await runCommand(service.dataDir, 'doctor', {})) as { findings: Finding[] };
    return Object.fromEntries(findings.map(({ check, ok, detail }) => [check, [ok, detail]]));
  };
  expect(await examine({ SMTP_URL: '' })).toMatchObject({
    disk: [expect.any(Boolean), expect.stringContaining('GiB free')],
    redis: [true, expect.stringContaining('not set')],
    mail: [true, expect.stringContaining('not set')],
    address: [true, `http://127.0.0.1:${port} leads to this service`],
  });
  const other = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const taken = (other.address() as AddressInfo).port;
  const away = {
    REDIS_URL: `redis://127.0.0.1:${closed}`,
    SMTP_URL: `smtp://127.0.0.1:${closed}`,
    EXTERNAL_HOST: `http://127.0.0.1:${taken}`,
  };
  expect(await examine(away)).toMatchObject({
    redis: [false, expect.stringContaining('no reply')],
    mail: [false, expect.stringContaining('does not accept email')],
    address: [false, `another server replies at http://127.0.0.1:${taken}, with status 200`],
  });
});

test('doctor reports that a mail server and Redis are available', async () => {
  await using mailbox = await openMailbox();
  const { REDIS_URL } = process.env;
  await using service = await startOnDatabaseOfRun({
    env: { SMTP_URL: mailbox.url, ...(REDIS_URL !== undefined && { REDIS_URL }) },
  });
  const look = async () => {
    const { findings } = (await runCommand(service.dataDir, 'doctor', {})) as { findings: Finding[] };
    return (check: string) => findings.find((finding) => finding.check === check);
  };
  const found = await look();
  expect(found('mail')).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/^accepts email, checked in [\d.]+ ms$/),
  });
  if (REDIS_URL !== undefined) {
    expect(found('redis')).toMatchObject({ ok: true, detail: expect.stringMatching(/^replied in [\d.]+ ms$/) });
  }
  // The doctor command connected to the mail server, but sent no email.
  expect([mailbox.mails, mailbox.attempts]).toEqual([[], 0]);
  await mailbox[Symbol.asyncDispose]();
  expect((await look())('mail')).toMatchObject({ ok: false, detail: expect.stringContaining('does not accept email') });
});

test('metrics report how far readers are behind, and what is due', async () => {
  await using service = await startOnDatabaseOfRun({ env: { METRICS_TOKEN: METRICS.env.METRICS_TOKEN } });
  const { member } = await createOrganization({}, { on: service });
  await member.register({ fetch_event_types: [] });
  await member.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'one' }] });
  const { text } = await send(service.url, { method: 'GET', path: '/metrics', headers: METRICS.headers });
  const shown = (name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  expect(shown('event_queues_live')).toBe(1);
  expect(shown('event_lag_events')).toBeGreaterThan(0);
  for (const name of ['event_lag_seconds', 'event_log_rows', 'event_log_age_seconds', 'event_windows_bytes'])
    expect(shown(name), name).toBeGreaterThanOrEqual(0);
  expect([shown('mail_due'), shown('scheduled_messages_due'), shown('database_pool_waiting')]).toEqual([0, 0, 0]);
});

interface Finding {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
}
