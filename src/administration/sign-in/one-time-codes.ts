import { createHash, randomInt } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

/** Length of a time step, in seconds. Authenticator apps show a code for this long. */
const STEP_SECONDS = 30;
/** Number of steps by which the clock of the person's device can differ from that of the server, in each direction. */
const WINDOW = 1;
const SECRET_BYTES = 20;

/** Returns a new secret of an authenticator app, in base32. */
export const newSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

const totpOf = (secret: string, names: { readonly issuer?: string; readonly label?: string } = {}) =>
  new TOTP({ ...names, secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: STEP_SECONDS });

/** Returns the URI of a secret, which authenticator apps read from a QR code. */
export const uriOf = (secret: string, names: { readonly issuer: string; readonly label: string }): string =>
  totpOf(secret, names).toString();

/** Returns the time step to which a code belongs. Undefined if it is not a code of the current time. */
export function stepOf(secret: string, code: string, now: Date): bigint | undefined {
  const token = code.replace(/\s/g, '');
  if (!/^[0-9]{6}$/.test(token)) return undefined;
  const delta = totpOf(secret).validate({ token, timestamp: now.getTime(), window: WINDOW });
  return delta === null ? undefined : BigInt(Math.floor(now.getTime() / 1000 / STEP_SECONDS) + delta);
}

/** Number of recovery codes of a person. */
export const RECOVERY_CODES = 10;
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUP_LENGTH = 5;
const GROUPS = 4;

/** Returns new recovery codes of 99 random bits each: four groups of five letters and digits. */
export function newRecoveryCodes(): string[] {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return Array.from({ length: RECOVERY_CODES }, () => Array.from({ length: GROUPS }, group).join('-'));
}

/**
 * Returns the hash under which a recovery code is stored. Codes are too random to be guessed, so they need no salt and no slow
 * hash. Undefined if the text does not have the form of a recovery code.
 */
export function recoveryHash(code: string): Uint8Array<ArrayBuffer> | undefined {
  const plain = code.toLowerCase().replace(/[\s-]/g, '');
  if (plain.length !== GROUP_LENGTH * GROUPS || !/^[a-z0-9]+$/.test(plain)) return undefined;
  return new Uint8Array(createHash('sha256').update(`recovery code ${plain}`).digest());
}
