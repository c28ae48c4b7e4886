import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/platform/config.ts';
import { keptSecretKey } from '../../src/platform/key-vault.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createDatabase } from '../helpers/database.ts';
import { runProgram, testFolder } from '../helpers/program.ts';

test('a port in use is reported before a database is created', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await new Promise((listening) => other.once('listening', listening));
  const { port } = other.address() as AddressInfo;
  const dataDir = join(testFolder(), 'data');
  const ended = await runProgram(['main.ts'], { PORT: String(port), DATA_DIR: dataDir });
  expect(ended).toEqual({
    code: 1,
    said: `Port ${port} is in use. Stop the process that uses it, or set PORT to another port.`,
  });
  expect(existsSync(dataDir)).toBe(false);
});

test('a DATA_DIR that is a file, or below one, causes a clear message', async () => {
  const file = join(testFolder(), 'file');
  writeFileSync(file, '');
  for (const dataDir of [file, join(file, 'data')]) {
    const ended = await runProgram(['main.ts'], { PORT: '0', DATA_DIR: dataDir });
    expect(ended).toEqual({ code: 1, said: `${dataDir} is not a directory. Set DATA_DIR to a directory.` });
  }
});

test('a command on a missing data directory reports that, and does not create it', async () => {
  const dataDir = join(testFolder(), 'mistyped');
  const { code, said } = await runProgram(['cli.ts', 'org', 'list'], { DATA_DIR: dataDir });
  expect([code, said]).toEqual([1, expect.stringContaining(`there is no directory ${dataDir}`)]);
  expect(existsSync(dataDir)).toBe(false);
});

test('a command on a directory without a database, as on an unmounted disk, reports that, and creates none', async () => {
  const dataDir = testFolder();
  const { code, said } = await runProgram(['cli.ts', 'org', 'list'], { DATA_DIR: dataDir });
  expect([code, said]).toEqual([1, expect.stringContaining(`there is no database in ${dataDir}`)]);
  expect(readdirSync(dataDir)).toEqual([]);
});

test.each([
  [{ HOST: '192.0.2.1' }, /^Cannot listen at 192\.0\.2\.1 \(EADDRNOTAVAIL\)\. Set HOST to .*\.$/],
  [{ HOST: 'nowhere.invalid' }, /^Cannot listen at nowhere\.invalid \(\w+\)\. Set HOST to .*\.$/],
  [
    { METRICS_ADDRESS: '192.0.2.1:9090' },
    /^Cannot listen at 192\.0\.2\.1 \(EADDRNOTAVAIL\)\. Set METRICS_ADDRESS to .*\.$/,
  ],
])('an address of another machine is reported before a database is created: %o', async (env, sentence) => {
  const dataDir = join(testFolder(), 'data');
  const ended = await runProgram(['main.ts'], { PORT: '0', DATA_DIR: dataDir, ...env });
  expect(ended).toEqual({ code: 1, said: expect.stringMatching(sentence) });
  expect(existsSync(dataDir)).toBe(false);
});

test('the maximum length of the event log can be set under its current and its previous name', () => {
  const limitWith = (env: Record<string, string>) =>
    readConfig({ SECRET_KEY: 's'.repeat(40), ...env }).logRowsPerOrganization;
  expect(limitWith({})).toBe(1_000_000);
  expect(limitWith({ EVENT_LOG_ROWS_PER_REALM: '5' })).toBe(5);
  expect(limitWith({ EVENT_LOG_ROWS_PER_REALM: '5', EVENT_LOG_ROWS_PER_ORGANIZATION: '6' })).toBe(6);
});

test('an address that cannot be parsed is reported with its variable', () => {
  for (const [name, ...wrong] of [
    ['DATABASE_URL', 'postgres://[', 'postgres://chat:a#b@db/chat', 'postgres://chat:a%b@db/chat', 'mysql://db/chat'],
    ['REDIS_URL', 'redis://[', 'redis://localhost:99999'],
    ['SMTP_URL', 'smtp://chat:a/b@mail.example', 'smtp://chat:a%b@mail.example'],
    ['EXTERNAL_HOST', 'chat.example:99999', 'chat..example', '-', 'https://chat.example/path', 'ftp://chat.example'],
    ['METRICS_ADDRESS', '127.0.0.1:99999'],
    ['S3_ENDPOINT', 's3.example', 'ftp://s3.example', 'https://s3.example/bucket', 'https://key@s3.example'],
    ['S3_BUCKET', 'Files', 'a', 'files/2026'],
    ['CLAMD_URL', 'clamd.example:3310', 'tcp://clamd.example', 'tcp://clamd.example:99999', 'unix:clamd.ctl'],
  ] as const) {
    for (const text of wrong) {
      const reading = () => readConfig({ SECRET_KEY: 's'.repeat(40), [name]: text });
      expect(reading, text).toThrow(ConfigError);
      expect(reading, text).toThrow(new RegExp(`^${name}: must [^\n]+$`));
    }
  }
  const taken = readConfig({
    SECRET_KEY: 's'.repeat(40),
    DATABASE_URL: 'postgres://chat@/chat?host=/var/run/postgresql',
    REDIS_URL: 'rediss://:a%23b@cache.example:6380/1',
    SMTP_URL: 'smtps://me@mail.example:secret@mail.example',
    EXTERNAL_HOST: 'http://Chat.lan:8080',
  });
  expect(taken.databaseUrl).toBe('postgres://chat@/chat?host=/var/run/postgresql');
  expect([taken.externalScheme, taken.externalHost]).toEqual(['http', 'chat.lan:8080']);
});

test('a bucket is configured by all of its variables, or by none', () => {
  const all = {
    ...{ S3_ENDPOINT: 'https://s3.example:9000/', S3_BUCKET: 'chat-files' },
    ...{ S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' },
  };
  expect(readConfig({}).bucket).toBeUndefined();
  expect(readConfig({ S3_REGION: 'eu-central-1' }).bucket).toBeUndefined();
  expect(readConfig(all).bucket).toEqual({
    ...{ endpoint: 'https://s3.example:9000', region: 'us-east-1', name: 'chat-files', isInPath: false },
    ...{ accessKeyId: 'id', secretAccessKey: 'secret' },
  });
  for (const missing of Object.keys(all)) {
    const reading = () => readConfig({ ...all, [missing]: '' });
    expect(reading, missing).toThrow(`${missing}: required with the other S3_ variables`);
  }
  expect(readConfig({ CLAMD_URL: 'tcp://[::1]:3310' }).scanner).toEqual({ host: '::1', port: 3310 });
  expect(readConfig({ CLAMD_URL: 'unix:///run/clamd.ctl' }).scanner).toEqual({ path: '/run/clamd.ctl' });
});

const { DATABASE_URL = '' } = process.env;

describe.skipIf(DATABASE_URL === '')(
  'a PostgreSQL role without the necessary permissions causes a clear message:',
  () => {
    const SECRET_KEY = 's'.repeat(40);
    const start = (url: string) => runProgram(['main.ts'], { DATABASE_URL: url, SECRET_KEY, PORT: '0', DEMO: 'off' });

    /** Creates a database, and a role with these session settings. Both are dropped at the end of the test. */
    async function ground(...settings: readonly string[]) {
      const database = await createDatabase(DATABASE_URL);
      const role = `chat_test_${randomBytes(6).toString('hex')}`;
      const owner = new pg.Client({ connectionString: database.url });
      await owner.connect();
      onTestFinished(async () => {
        await owner.query(`DROP OWNED BY ${role}`);
        await owner.query(`DROP ROLE ${role}`);
        await owner.end();
        await database[Symbol.asyncDispose]();
      });
      const password = randomBytes(12).toString('hex');
      await owner.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
      await owner.query(`GRANT ALL ON SCHEMA public TO ${role}`);
      for (const setting of settings) await owner.query(`ALTER ROLE ${role} ${setting}`);
      const url = Object.assign(new URL(database.url), { username: role, password }).href;
      return { url, role, owner, ownerUrl: database.url };
    }

    test.each([
      [
        'SET search_path = nowhere',
        /^There is no schema for the service's tables: search_path is nowhere, .+ in DATABASE_URL\.$/,
      ],
      ['CONNECTION LIMIT 1', /^Database error: too many connections for role "\w+"$/],
    ])('%s', async (setting, sentence) => {
      const { url } = await ground(setting);
      expect(await start(url)).toEqual({ code: 1, said: expect.stringMatching(sentence) });
    });

    test('one that cannot write to the tables, or to any', async () => {
      const { url, role, owner, ownerUrl } = await ground();
      const made = await runProgram(['cli.ts', 'migrate'], { DATABASE_URL: ownerUrl, SECRET_KEY });
      expect(made).toEqual({ code: 0, said: expect.stringMatching(/^applied: /) });
      await owner.query(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
      expect(await start(url)).toEqual({ code: 1, said: expect.stringMatching(/^The database role cannot .+\.$/) });
      await owner.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
      await owner.query(`GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
      await owner.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
      expect(await start(url)).toEqual({
        code: 1,
        said: expect.stringMatching(/^The database accepts no changes .+\.$/),
      });
      await owner.query(`ALTER ROLE ${role} RESET default_transaction_read_only`);
      // The service must ignore other tables in its database.
      await owner.query('CREATE TABLE of_somebody_else (id int)');
      await owner.query('ALTER TABLE of_somebody_else OWNER TO pg_monitor');
      const listed = await runProgram(['cli.ts', 'org', 'list'], { DATABASE_URL: url, SECRET_KEY });
      expect(listed).toEqual({ code: 0, said: 'none' });
    });
  },
);

test('a file .env in the working directory is read, and environment variables override it', async () => {
  const cwd = testFolder();
  writeFileSync(join(cwd, '.env'), `DATA_DIR=${join(cwd, 'of-the-file')}\nLOG_LEVEL=silent\n`);
  const byFile = await runProgram(['cli.ts', 'org', 'list'], {}, cwd);
  expect(byFile.said).toContain(`there is no directory ${join(cwd, 'of-the-file')}`);
  const byEnvironment = await runProgram(['cli.ts', 'org', 'list'], { DATA_DIR: join(cwd, 'of-the-environment') }, cwd);
  expect(byEnvironment.said).toContain(`there is no directory ${join(cwd, 'of-the-environment')}`);
});

test('a secret can be in a file, which must exist, contain a value, and have no alternative', () => {
  const place = testFolder();
  const [good, empty] = [join(place, 'good'), join(place, 'empty')];
  writeFileSync(good, `${'s'.repeat(40)}\n`);
  writeFileSync(empty, '\n');
  expect(readConfig({ SECRET_KEY_FILE: good }).secretKey).toBe('s'.repeat(40));
  expect(readConfig({ SECRET_KEY_FILE: '' }).secretKey).toBeUndefined();
  for (const [env, said] of [
    [{ SECRET_KEY_FILE: empty }, `SECRET_KEY_FILE: ${empty} is empty`],
    [{ SECRET_KEY_FILE: join(place, 'none') }, /^SECRET_KEY_FILE: ENOENT/],
    [
      { SECRET_KEY_FILE: good, SECRET_KEY: 'x'.repeat(40) },
      'SECRET_KEY_FILE: SECRET_KEY is also set. Set only one of them',
    ],
    [{ METRICS_TOKEN_FILE: good, REDIS_URL_FILE: good }, 'REDIS_URL: must be a redis:// URL'],
  ] as const) {
    const reading = () => readConfig(env);
    expect(reading).toThrow(ConfigError);
    expect(reading).toThrow(said);
  }
});

test('a missing or different SECRET_KEY causes a clear message, and nothing is created until it is back', async () => {
  const dataDir = newDataDir();
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const cli = async (args: readonly string[], env = {}) =>
    runProgram(['cli.ts', ...args], { DATA_DIR: dataDir, ...env });
  const made = await cli(['org', 'create', '--name', 'Acme', '--owner-name', 'O', '--owner-email', 'o@a.example']);
  expect(made.code).toBe(0);
  const file = join(dataDir, 'secret-key');
  const kept = `${file}.away`;
  const other = await runProgram(['main.ts'], { PORT: '0', DATA_DIR: dataDir, SECRET_KEY: 'x'.repeat(40) });
  expect(other).toEqual({ code: 1, said: expect.stringMatching(/^SECRET_KEY is not the key that sealed .+\.$/) });
  renameSync(file, kept);
  const gone = await runProgram(['main.ts'], { PORT: '0', DATA_DIR: dataDir });
  expect(gone).toEqual({
    code: 1,
    said: expect.stringMatching(/secret-key, which sealed .+, is missing: .+ secret-key renew"\.$/),
  });
  expect(existsSync(file)).toBe(false);
  writeFileSync(file, `${'y'.repeat(40)}\n`);
  expect((await cli(['org', 'list'])).said).toMatch(/secret-key is not the key that sealed .+\.$/);
  renameSync(kept, file);
  const key = await cli(['key', 'show', '--user', 'o@a.example']);
  expect(key.said).toMatch(/api_key: \w{32}$/);
  rmSync(file);
  expect(await cli(['secret-key', 'renew', '--json'])).toEqual({
    code: 0,
    said: expect.stringMatching(/"keys": [1-9]/),
  });
  const renewed = await cli(['key', 'show', '--user', 'o@a.example']);
  expect(renewed).toEqual({ code: 0, said: expect.stringMatching(/api_key: \w{32}$/) });
  expect(renewed.said).not.toBe(key.said);
});

test('a secret key that is a directory, as after mounting a missing file, causes a clear message', () => {
  const dataDir = testFolder();
  mkdirSync(join(dataDir, 'secret-key'));
  expect(() => keptSecretKey({ dataDir })).toThrow(ConfigError);
  expect(() => keptSecretKey({ dataDir })).toThrow(/secret-key: is a directory, not a file with a key$/);
});

test('a damaged database causes a clear message, and is not overwritten', async () => {
  const whole = newDataDir();
  onTestFinished(() => rmSync(whole, { recursive: true, force: true }));
  for (const [damage, said] of [
    [(place: string) => truncateSync(join(place, 'PG_VERSION')), 'PG_VERSION does not contain a version'],
    [(place: string) => rmSync(join(place, 'PG_VERSION')), 'PG_VERSION is missing'],
    [(place: string) => rmSync(join(place, 'global/pg_control')), 'pg_control is missing'],
    [(place: string) => rmSync(join(place, 'base'), { recursive: true }), 'it cannot be opened'],
  ] as const) {
    const dataDir = testFolder();
    cpSync(whole, dataDir, { recursive: true });
    damage(join(dataDir, 'postgres'));
    const ended = await runProgram(['main.ts'], { PORT: '0', DATA_DIR: dataDir });
    expect(ended).toEqual({ code: 1, said: expect.stringMatching(/^The database in .+ is damaged .+\.$/) });
    expect(ended.said).toContain(said);
  }
});

test.skipIf(process.platform !== 'linux')(
  'a data directory that cannot be written to causes a clear error message',
  async () => {
    const place = (dataDir: string) => runProgram(['main.ts'], { PORT: '0', DATA_DIR: dataDir });
    expect(await place('/proc/data')).toEqual({
      code: 1,
      said: 'Directory /proc/data cannot be created. Set DATA_DIR to another directory.',
    });
    expect(await place('/proc')).toEqual({
      code: 1,
      said: expect.stringMatching(/^(The data directory|Permission denied:) .*\/proc/),
    });
  },
);
