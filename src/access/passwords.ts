import { type BinaryLike, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Caller } from '../platform/caller.ts';
import type { Config } from '../platform/config.ts';
import { ValidationError } from '../platform/errors.ts';
import { observeCount, passwordHashSeconds } from '../platform/metrics.ts';
import { lengthOf } from '../platform/text.ts';
import { HashingLimiter } from './hashing-limiter.ts';
import { isWeak, type PasswordOwner } from './password-strength.ts';

/** Length limits of new passwords, in Unicode code points. Shorter and longer passwords are refused with `ValidationError`. */
export const MIN_PASSWORD_LENGTH = 8;
export const MAX_PASSWORD_LENGTH = 100;

/**
 * Cost of hashing a password with scrypt: one of the combinations of N, r and p that OWASP recommends as equally strong. With
 * the default N of 32,768, a hash takes 32 MiB and about 0.2 s of one core. Each stored hash contains its own cost.
 */
const COST = { r: 8, p: 3 };
const HASH_BYTES = 32;

const scryptOf = promisify<BinaryLike, BinaryLike, number, ScryptOptions, Buffer>(scrypt);

/**
 * Limits on the concurrent hashing of passwords. Hashing uses two of the four threads of Node's thread pool. The other threads
 * serve files, compression and name resolution. Per network, 24 requests can wait, because all users of an office may sign in
 * from one IP address at nine o'clock. A refused client receives the time after which it can retry. The last client in the
 * queue waits for about ten seconds.
 */
const BOUNDS = { atOnce: 2, waitingOfNetwork: 24, places: 96 };
const EXPECTED_MS = 250;

/** The fair limiter for all hashing of passwords in this process. */
const limiter = new HashingLimiter(BOUNDS, EXPECTED_MS);
observeCount('password_hash_waiting', 'Number of passwords that wait to be hashed.', () => limiter.waiting);

/** Options of the check of a new password. */
interface PasswordCheck {
  /** Name of the parameter that contains the password. Default: `password`. */
  readonly parameter?: string;
  /** Message for both a too short and a too weak password. Absent: each case has its own message. */
  readonly weak?: string;
}

/**
 * Validates a new password.
 *
 * @throws ValidationError if the password has fewer than 8 or more than 100 characters, or contains a null byte. Also thrown if
 *   an attacker needs fewer than 10,000 guesses.
 */
export async function checkPassword(
  password: string,
  owner: PasswordOwner,
  { parameter = 'password', weak }: PasswordCheck = {},
): Promise<void> {
  if (password.includes('\0')) throw new ValidationError('password must not contain null bytes', { parameter });
  const length = lengthOf(password);
  if (length < MIN_PASSWORD_LENGTH) {
    throw new ValidationError(weak ?? 'password is too short.', { parameter, minimum: MIN_PASSWORD_LENGTH });
  }
  if (length > MAX_PASSWORD_LENGTH) {
    throw new ValidationError(`password is too long (limit: ${MAX_PASSWORD_LENGTH} characters)`, {
      parameter,
      maximum: MAX_PASSWORD_LENGTH,
    });
  }
  if (await isWeak(password, owner)) throw new ValidationError(weak ?? 'password is too weak.', { parameter });
}

/** The configuration on which the hashing of passwords depends. */
type Hashing = Pick<Config, 'passwordHashCost'>;

/**
 * Returns the password in its stored form: "scrypt$N$r$p$salt$hash". Waits for a permit.
 *
 * @param caller The client that waits; undefined for the server's operator.
 * @throws RateLimitHitError if too many requests already wait.
 * @throws AbandonedError if the client disconnected during the wait.
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
 * Returns whether `password` matches the stored hash. Waits for a permit.
 *
 * @param stored Stored hash. Null if there is no account, or it has no password. The check then takes as long as for a wrong
 *   password, so that the time does not reveal which email addresses have an account.
 * @param caller The client that waits; undefined for the server's operator.
 * @throws RateLimitHitError if too many requests already wait.
 * @throws AbandonedError if the client disconnected during the wait.
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
  // Normalized, because one typed character can be encoded in several ways, depending on the device.
  const text = password.normalize('NFKC');
  return limiter.run(caller, async () => {
    const end = passwordHashSeconds.startTimer();
    const hash = await scryptOf(text, salt, HASH_BYTES, { ...cost, maxmem: 256 * 2 ** 20 });
    end();
    return hash;
  });
}
