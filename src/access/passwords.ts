import { type BinaryLike, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Caller } from '../platform/caller.ts';
import type { Config } from '../platform/config.ts';
import { BadRequestError } from '../platform/errors.ts';
import { FairGate } from '../platform/fair-gate.ts';
import { observeCount, passwordHashSeconds } from '../platform/metrics.ts';
import { refuseNullBytes } from '../platform/text.ts';

/** Limits in Unicode code points. */
export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 100;

/**
 * Our choice, of the settings OWASP holds equal: with the default N of 32,768 they take 32 MiB and about 0.2 s of one core.
 * Stored with each hash.
 */
const COST = { r: 8, p: 3 };
const HASH_BYTES = 32;

const scryptOf = promisify<BinaryLike, BinaryLike, number, ScryptOptions, Buffer>(scrypt);

/**
 * Our choices. Two of the four threads that Node has for such work: files, compression and names are looked after by
 * the others. Of an office that signs in from one address at nine o'clock, two dozen people may wait; whoever is
 * refused is told when to try again, and the last in line waits some ten seconds.
 */
const BOUNDS = { atOnce: 2, placesOfNetwork: 24, places: 96 };
const EXPECTED_MS = 250;

/** Every hash of this process goes through here, whoever asks for it. */
const gate = new FairGate(BOUNDS, EXPECTED_MS);
observeCount('password_hash_waiting', 'Passwords that wait to be hashed.', () => gate.waiting);

/** @throws BadRequestError when `password` is shorter than 8 or longer than 100 characters, or holds a null byte. */
export function checkPassword(password: string): void {
  refuseNullBytes('password', password);
  const length = [...password].length;
  if (length < MIN_PASSWORD_LENGTH) throw new BadRequestError('password is too short.', 'password');
  if (length > MAX_PASSWORD_LENGTH) {
    throw new BadRequestError(`password is too long (limit: ${MAX_PASSWORD_LENGTH} characters)`);
  }
}

/** What hashing depends on. */
type Hashing = Pick<Config, 'passwordHashCost'>;

/**
 * The password as stored: "scrypt$N$r$p$salt$hash". Waits its turn.
 *
 * @param caller Whose turn; undefined for the server's operator.
 * @throws RateLimitHitError when too many wait already, AbandonedError when the caller did not.
 */
export async function hashPassword(
  { passwordHashCost: N }: Hashing,
  password: string,
  caller: Caller | undefined,
): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(caller, password, salt, { N, ...COST });
  return ['scrypt', N, COST.r, COST.p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/**
 * Whether `password` is the one stored. Waits its turn.
 *
 * @param caller Whose turn; undefined for the server's operator.
 * @param stored Null for an account without a password, or none at all: takes as long as a wrong password, so that the
 *   time tells nobody which addresses have an account.
 * @throws RateLimitHitError when too many wait already, AbandonedError when the caller did not.
 */
export async function verifyPassword(
  { passwordHashCost }: Hashing,
  password: string,
  stored: string | null,
  caller: Caller | undefined,
): Promise<boolean> {
  const [, n, r, p, salt, hash] = (stored ?? `scrypt$${passwordHashCost}$${COST.r}$${COST.p}$$`).split('$');
  const cost = { N: Number(n), r: Number(r), p: Number(p) };
  const found = await derive(caller, password, Buffer.from(salt ?? '', 'base64'), cost);
  const wanted = Buffer.from(hash ?? '', 'base64');
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

function derive(caller: Caller | undefined, password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  // The same characters may be typed in several encodings.
  const text = password.normalize('NFKC');
  return gate.run(caller, async () => {
    const end = passwordHashSeconds.startTimer();
    const hash = await scryptOf(text, salt, HASH_BYTES, { ...cost, maxmem: 256 * 2 ** 20 });
    end();
    return hash;
  });
}
