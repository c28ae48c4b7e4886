import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { send } from '../helpers/http.ts';
import { ServerProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';

// Tests the change of SECRET_KEY while SECRET_KEY_PREVIOUS is accepted too.

const PATIENCE_MS = 60_000;

test('a new SECRET_KEY ends nothing, and replaces no API key', { timeout: 180_000 }, async () => {
  const server = await ServerProcess.start({ env: { DATABASE_URL: undefined, SECRET_KEY: undefined } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { owner, member } = await createOrganization({}, { on: server, password: OWNER_PASSWORD });
  const form = { 'content-type': 'application/x-www-form-urlencoded', host: owner.host };
  const signedIn = await send(server.url, {
    ...{ method: 'POST', path: '/api/v1/sessions', headers: form },
    body: new URLSearchParams({ username: owner.email, password: OWNER_PASSWORD }).toString(),
  });
  expect(signedIn.status).toBe(200);
  const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
  const said = { type: 'direct', to: [owner.id], content: 'once' };
  const key = { 'Idempotency-Key': randomBytes(8).toString('hex') };
  const first = await member.rest('POST', '/messages', said, { headers: key });
  const picture = (await member.ok('GET', `/users/${owner.id}`)).user.avatar_url;
  const { api_key: botKey } = await member.ok('POST', '/bots', { full_name: 'Tide tables', short_name: 'tides' });

  const [former, next] = [readFileSync(join(server.dataDir, 'secret-key'), 'utf8').trim(), 'n'.repeat(48)];
  const isUnchanged = async () => {
    expect((await member.rest('POST', '/messages', said, { headers: key })).body).toEqual(first.body);
    const own = await send(server.url, {
      method: 'GET',
      path: '/api/v1/users/me',
      headers: { host: owner.host, cookie },
    });
    expect([own.status, JSON.parse(own.text).user_id]).toEqual([200, owner.id]);
    const { bots } = await member.ok('GET', '/bots');
    expect(bots).toMatchObject([{ api_key: botKey }]);
  };
  const image = async () =>
    (await send(server.url, { method: 'GET', path: picture, headers: { host: owner.host } })).text;
  const shown = await image();

  // The future key is accepted, then the keys are exchanged.
  await server.restart({ SECRET_KEY: former, SECRET_KEY_PREVIOUS: next });
  await isUnchanged();
  await server.restart({ SECRET_KEY: next, SECRET_KEY_PREVIOUS: former });
  await isUnchanged();
  expect(await image()).toBe(shown);
  const env = { DATA_DIR: server.dataDir, SECRET_KEY: next, SECRET_KEY_PREVIOUS: former };
  const doctor = async () => (await runProgram(['cli.ts', 'doctor'], env)).said;
  for (
    const end = Date.now() + PATIENCE_MS;
    !(await doctor()).includes('none with SECRET_KEY_PREVIOUS');
    await sleep(500)
  ) {
    if (Date.now() > end) throw new Error(`Not sealed anew: ${await doctor()}`);
  }
  await server.restart({ SECRET_KEY: next, SECRET_KEY_PREVIOUS: undefined });
  const { bots } = await member.ok('GET', '/bots');
  expect(bots).toMatchObject([{ api_key: botKey }]);
  await expect(server.restart({ SECRET_KEY: former })).rejects.toThrow('SECRET_KEY is not the key that sealed');
});
