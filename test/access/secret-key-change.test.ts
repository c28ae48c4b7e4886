import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { KeyVault } from '../../src/platform/key-vault.ts';
import { checkAddress } from '../../src/server/operator/reach.ts';
import { Credentials, TOKEN_ENV, TOKEN_SUBDOMAIN } from '../helpers/credentials.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { send } from '../helpers/http.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { freePort, ServerProcess } from '../helpers/process.ts';
import { runProgram } from '../helpers/program.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';

// Tests the change of SECRET_KEY while SECRET_KEY_PREVIOUS is accepted too.

const PATIENCE_MS = 60_000;

const { DATABASE_URL = '' } = process.env;

/** Starts a service without EXTERNAL_HOST. @returns The service, and its SECRET_KEY. */
async function startOn(kind: 'embedded' | 'postgresql') {
  const database = kind === 'embedded' ? undefined : await createMigratedDatabase(DATABASE_URL);
  if (database !== undefined) onTestFinished(() => database[Symbol.asyncDispose]());
  const key = 'f'.repeat(48);
  const env = { ...TOKEN_ENV, DATABASE_URL: database?.url, SECRET_KEY: database && key };
  const server = await ServerProcess.start({ env });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const former = database === undefined ? readFileSync(join(server.dataDir, 'secret-key'), 'utf8').trim() : key;
  return { server, former, env: { DATA_DIR: server.dataDir, ...(database && { DATABASE_URL: database.url }) } };
}

test.each(DATABASE_URL === '' ? (['embedded'] as const) : (['embedded', 'postgresql'] as const))(
  'a new SECRET_KEY ends nothing, and replaces no API key: %s',
  { timeout: 180_000 },
  async (kind) => {
    const { server, former, env } = await startOn(kind);
    const { owner, member } = await createOrganization(
      {},
      { on: server, password: OWNER_PASSWORD, subdomain: TOKEN_SUBDOMAIN },
    );
    const credentials = await Credentials.of(owner, OWNER_PASSWORD);
    const said = { type: 'direct', to: [owner.id], content: 'once' };
    const key = { 'Idempotency-Key': randomBytes(8).toString('hex') };
    const first = await member.rest('POST', '/messages', said, { headers: key });
    const picture = (await member.ok('GET', `/users/${owner.id}`)).user.avatar_url;
    const { api_key: botKey } = await member.ok('POST', '/bots', { full_name: 'Tide tables', short_name: 'tides' });

    const next = 'n'.repeat(48);
    const isUnchanged = async () => {
      expect((await member.rest('POST', '/messages', said, { headers: key })).body).toEqual(first.body);
      await credentials.expectValid();
      const { bots } = await member.ok('GET', '/bots');
      expect(bots).toMatchObject([{ api_key: botKey }]);
    };
    const image = async () =>
      (await send(server.url, { method: 'GET', path: picture, headers: { host: owner.host } })).text;
    const shown = await image();

    // First the service also accepts the future key. Then the keys are exchanged.
    await server.restart({ SECRET_KEY: former, SECRET_KEY_PREVIOUS: next });
    await isUnchanged();
    await server.restart({ SECRET_KEY: next, SECRET_KEY_PREVIOUS: former });
    await isUnchanged();
    expect(await image()).toBe(shown);
    const doctor = async () =>
      (await runProgram(['cli.ts', 'doctor'], { ...env, SECRET_KEY: next, SECRET_KEY_PREVIOUS: former })).said;
    for (
      const end = Date.now() + PATIENCE_MS;
      !(await doctor()).includes('none with SECRET_KEY_PREVIOUS');
      await sleep(500)
    ) {
      if (Date.now() > end) throw new Error(`Not sealed anew: ${await doctor()}`);
    }
    await server.restart({ SECRET_KEY: next, SECRET_KEY_PREVIOUS: undefined });
    await credentials.expectValid();
    const { bots } = await member.ok('GET', '/bots');
    expect(bots).toMatchObject([{ api_key: botKey }]);
    await expect(server.restart({ SECRET_KEY: former })).rejects.toThrow('SECRET_KEY is not the key that sealed');
  },
);

test('doctor recognizes a node that has another of the two keys', { timeout: 120_000 }, async () => {
  const port = await freePort();
  const external = { EXTERNAL_HOST: `127.0.0.1:${port}` };
  const [former, next] = ['f'.repeat(48), 'n'.repeat(48)];
  const keys = { SECRET_KEY: former, SECRET_KEY_PREVIOUS: next };
  await using node = await startInProcess({ env: { ...external, ...keys, PORT: String(port) } });
  await createOrganization({}, { on: node });
  const address = async (env: Readonly<Record<string, string>>) => {
    const config = readConfig({ ...external, ...env, DATA_DIR: node.dataDir });
    return checkAddress({ ...node.app, config, keys: new KeyVault(config.secretKey ?? '', config.previousSecretKey) });
  };
  const leadsHere = `http://127.0.0.1:${port} leads to this service`;
  expect(await address(keys)).toBe(leadsHere);
  expect(await address({ SECRET_KEY: next, SECRET_KEY_PREVIOUS: former })).toBe(leadsHere);
  await expect(address({ SECRET_KEY: next })).rejects.toThrow('another server replies');
});
