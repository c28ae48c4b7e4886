import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomInt,
  timingSafeEqual,
} from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from './config.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const KEY_LENGTH = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Whether `text` has the form of an API key. */
export const isKey = (text: string): boolean => /^[A-Za-z0-9]{32}$/.test(text);

/** Whether two texts are the same, in a time that says nothing of where they differ. */
export function isSameSecret(shown: string, secret: string): boolean {
  const [a, b] = [shown, secret].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

/**
 * Makes API keys and keeps them: as a hash, by which sign-in finds them, and sealed, because two endpoints must return
 * them.
 */
export class KeyVault {
  readonly #sealing: Uint8Array;
  /** Made once: to make a key of its bytes takes four times as long as to use it. */
  readonly #marking: KeyObject;
  readonly #succession: KeyObject;
  readonly #derived: (purpose: string) => Uint8Array;

  /** @param secret SECRET_KEY, from which the keys to seal and to mark with are derived. */
  constructor(secret: string) {
    this.#derived = (purpose) => new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32));
    this.#sealing = this.#derived('api key sealing');
    this.#marking = createSecretKey(this.#derived('fingerprints'));
    this.#succession = createSecretKey(this.#derived('session tokens'));
  }

  /** A new key: 32 characters of [A-Za-z0-9], each equally likely. */
  newKey(): string {
    return Array.from({ length: KEY_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  }

  /** SHA-256. A key is random beyond guessing, so that it needs no salt and no slow hash. */
  hash(key: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(hash('sha256', key, 'buffer'));
  }

  /** HMAC-SHA-256: tells whether two texts are the same, and without SECRET_KEY nothing of them, however short. */
  fingerprint(text: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(createHmac('sha256', this.#marking).update(text).digest());
  }

  /** The token that follows another, which nobody can tell without SECRET_KEY: 43 characters of [A-Za-z0-9_-]. */
  successor(token: string): string {
    return createHmac('sha256', this.#succession).update(token).digest('base64url');
  }

  /** A secret of this server's for one purpose, the same at every start: 43 characters of [A-Za-z0-9_-]. */
  token(purpose: string): string {
    return Buffer.from(this.#derived(purpose)).toString('base64url');
  }

  /** AES-256-GCM: nonce, tag, ciphertext. */
  seal(key: string): Uint8Array<ArrayBuffer> {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, nonce);
    const text = Buffer.concat([cipher.update(key, 'utf8'), cipher.final()]);
    return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), text]));
  }

  /** @throws Error when it was sealed under another SECRET_KEY, or changed since. */
  open(sealed: Uint8Array): string {
    const bytes = Buffer.from(sealed);
    const decipher = createDecipheriv('aes-256-gcm', this.#sealing, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  }
}

/**
 * SECRET_KEY; with the embedded database and none given, the one kept in DATA_DIR/secret-key, made at the first start.
 * Call with the data directory locked.
 *
 * @throws ConfigError when the file holds no key.
 */
export function loadSecretKey(config: Config): string {
  const { secretKey, dataDir } = config;
  return secretKey ?? keptSecretKey(config) ?? makeSecretKey(dataDir, join(dataDir, 'secret-key'));
}

/** What DATA_DIR/secret-key holds; undefined where it is not there. @throws ConfigError when it holds no key. */
export function keptSecretKey({ dataDir }: Pick<Config, 'dataDir'>): string | undefined {
  const path = join(dataDir, 'secret-key');
  const kept = readIfThere(path)?.trim();
  if (kept !== undefined && kept.length < 32) throw new ConfigError(`${path}: must hold at least 32 characters`);
  return kept;
}

function makeSecretKey(dataDir: string, path: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const secret = randomBytes(48).toString('base64url');
  // Whole or not at all: an empty file left by a crash would stop every later start.
  const draft = openSync(`${path}.new`, 'w', 0o600);
  writeSync(draft, `${secret}\n`);
  fsyncSync(draft);
  closeSync(draft);
  renameSync(`${path}.new`, path);
  return secret;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    // As containers make one, where the file that is to be mounted is not there.
    if (code === 'EISDIR') throw new ConfigError(`${path}: is a directory, and holds no key`);
    throw error;
  }
}
