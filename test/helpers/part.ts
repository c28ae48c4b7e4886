import { createHash } from 'node:crypto';

/** Of a run: which of the cases it makes. Another each time, unless it is given. */
const SEED = 'TEST_SEED';

/**
 * Whether this run makes every case of the wide matrices: on PostgreSQL, which serves many at once, as in CI; or where
 * `TEST_WHOLE=on` asks for it.
 */
export const IS_WHOLE = process.env['DATABASE_URL'] !== undefined || process.env['TEST_WHOLE'] === 'on';

/**
 * Tests that are one case each of a wide matrix, by file, and the share of them that `npm test` makes: each run another
 * part, so that all are made in turn, and the whole on PostgreSQL.
 */
const SHARES: Readonly<Record<string, number>> = {
  'attacks.test.ts': 1 / 4,
  'bad-input.test.ts': 1 / 8,
  'clients/javascript.test.ts': 1 / 3,
  'counter-last.test.ts': 1 / 4,
  'hidden-addresses.test.ts': 1 / 8,
  'hidden-things.test.ts': 1 / 8,
  'idempotency.test.ts': 1 / 2,
  'interface/1.1-conventions.test.ts': 1 / 4,
  'isolation.test.ts': 1 / 4,
  'parity.test.ts': 1 / 5,
  'replay.test.ts': 1 / 8,
  'two-organizations.test.ts': 1 / 3,
};

/** Chooses the seed of a run, for all its processes. */
export function chooseSeed(): string {
  process.env[SEED] ??= String(Date.now() % 1_000_000);
  return process.env[SEED];
}

/** Whether a run that does not make every case makes this one. */
export function isPicked(file: string, name: string): boolean {
  const share = SHARES[file];
  if (IS_WHOLE || share === undefined) return true;
  const digest = createHash('sha256').update(`${process.env[SEED]} ${file} ${name}`).digest();
  return digest.readUInt32BE() < share * 2 ** 32;
}
