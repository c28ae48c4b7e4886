import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { testFolder } from '../helpers/program.ts';

// Checks that the documented systemd unit matches the service.

const ROOT = join(import.meta.dirname, '../..');
const UNIT = readFileSync(join(ROOT, 'src/server/team-chat@.service'), 'utf8');

const settings = (name: string) =>
  [...UNIT.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

test('the systemd unit runs the same as npm start, with variables that the service reads', () => {
  const [place = ''] = settings('WorkingDirectory');
  const [program = '', ...args] = settings('ExecStart')[0]?.split(' ') ?? [];
  expect(existsSync(program.replace(place, ROOT))).toBe(true);
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [own = '', library] = settings('Environment');
  expect(scripts.start).toBe(`node ${args.join(' ').replace('src/main.ts', 'src/start.ts')}`);
  const [, value] = /MALLOC_TRIM_THRESHOLD_: '(\d+)'/.exec(readFileSync(join(ROOT, 'src/start.ts'), 'utf8')) ?? [];
  expect(library).toBe(`MALLOC_TRIM_THRESHOLD_=${value}`);

  const credentials = testFolder();
  writeFileSync(join(credentials, 'secret-key'), `${'s'.repeat(40)}\n`);
  const filled = own.replaceAll('%i', '4001').replaceAll('%S', '/var/lib').replaceAll('%d', credentials);
  const config = readConfig(Object.fromEntries(filled.split(' ').map((one) => one.split('='))));
  expect(config).toMatchObject({ port: 4001, dataDir: '/var/lib/team-chat/4001', secretKey: 's'.repeat(40) });
  expect(`/var/lib/${settings('StateDirectory')[0]?.replace('%i', '4001')}`).toBe(config.dataDir);
  const files = Number(settings('LimitNOFILE')[0]);
  expect(files).toBeGreaterThan(config.maxConnections);
  // The service needs at most 5 s to shut down.
  expect(Number(settings('TimeoutStopSec')[0])).toBeGreaterThan(5);
});
