import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { BadRequestError } from '../errors.ts';
import { refuseNullBytes } from '../text.ts';

/** Limits in Unicode code points. @see endpoints companion E, architecture 11 */
export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 100;

/** Our choice, of the settings OWASP holds equal: 32 MiB and about 0.2 s of one core. Stored with each hash. */
const COST = { N: 2 ** 15, r: 8, p: 3 };
const HASH_BYTES = 32;

/** @throws BadRequestError when `password` is shorter than 8 or longer than 100 characters, or holds a null byte. */
export function checkPassword(password: string): void {
  refuseNullBytes('password', password);
  const length = [...password].length;
  if (length < MIN_PASSWORD_LENGTH) throw new BadRequestError('password is too short.');
  if (length > MAX_PASSWORD_LENGTH) {
    throw new BadRequestError(`password is too long (limit: ${MAX_PASSWORD_LENGTH} characters)`);
  }
}

/** The password as stored: "scrypt$N$r$p$salt$hash". */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, COST);
  return ['scrypt', COST.N, COST.r, COST.p, salt.toString('base64'), hash.toString('base64')].join('$');
}

/**
 * Whether `password` is the one stored.
 *
 * @param stored Null for an account without a password, or none at all: takes as long as a wrong password, so that the
 *   time tells nobody which addresses have an account.
 */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [, n, r, p, salt, hash] = (stored ?? `scrypt$${COST.N}$${COST.r}$${COST.p}$$`).split('$');
  const found = await derive(password, Buffer.from(salt ?? '', 'base64'), { N: Number(n), r: Number(r), p: Number(p) });
  const wanted = Buffer.from(hash ?? '', 'base64');
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}

function derive(password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  // The same characters may be typed in several encodings.
  const text = password.normalize('NFKC');
  return new Promise((resolve, reject) => {
    scrypt(text, salt, HASH_BYTES, { ...cost, maxmem: 256 * 2 ** 20 }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}
