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

/** Returns whether `text` has the form of an API key. */
export const isKey = (text: string): boolean => /^[A-Za-z0-9]{32}$/.test(text);

/** Returns whether two texts are equal, in a time that does not depend on where they differ. */
export function isSameSecret(shown: string, secret: string): boolean {
  const [a, b] = [shown, secret].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

/**
 * Generator of API keys and of their stored forms: a hash, by which sign-in finds a key, and a sealed (encrypted) form,
 * because two endpoints must return the key.
 */
export class KeyVault {
  readonly #sealing: Uint8Array;
  /** Imported once, because the import takes four times as long as computing an HMAC with the key. */
  readonly #marking: KeyObject;
  readonly #succession: KeyObject;
  readonly #derived: (purpose: string) => Uint8Array;

  /** @param secret SECRET_KEY, from which the keys for sealing, fingerprints and tokens are derived. */
  constructor(secret: string) {
    this.#derived = (purpose) => new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32));
    this.#sealing = this.#derived('api key sealing');
    this.#marking = createSecretKey(this.#derived('fingerprints'));
    this.#succession = createSecretKey(this.#derived('session tokens'));
  }

  /** Returns a new key: 32 characters of [A-Za-z0-9], each equally likely. */
  newKey(): string {
    return Array.from({ length: KEY_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  }

  /** Returns the SHA-256 of a key. Keys are too random to be guessed, so they need no salt and no slow hash. */
  hash(key: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(hash('sha256', key, 'buffer'));
  }

  /**
   * Returns the HMAC-SHA-256 of a text, by which texts can be compared without storing them. Without SECRET_KEY, it reveals
   * nothing about the text, even if the text is short.
   */
  fingerprint(text: string): Uint8Array<ArrayBuffer> {
    return new Uint8Array(createHmac('sha256', this.#marking).update(text).digest());
  }

  /** Returns the session token that replaces `token`: 43 characters of [A-Za-z0-9_-]. Computing it requires SECRET_KEY. */
  successor(token: string): string {
    return createHmac('sha256', this.#succession).update(token).digest('base64url');
  }

  /** Returns a secret of this server for one purpose. It does not change between starts: 43 characters of [A-Za-z0-9_-]. */
  token(purpose: string): string {
    return Buffer.from(this.#derived(purpose)).toString('base64url');
  }

  /** Encrypts a key with AES-256-GCM. @returns Nonce, tag and ciphertext. */
  seal(key: string): Uint8Array<ArrayBuffer> {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, nonce);
    const text = Buffer.concat([cipher.update(key, 'utf8'), cipher.final()]);
    return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), text]));
  }

  /** Decrypts a sealed key. @throws Error if it was sealed with another SECRET_KEY, or was modified afterwards. */
  open(sealed: Uint8Array): string {
    const bytes = Buffer.from(sealed);
    const decipher = createDecipheriv('aes-256-gcm', this.#sealing, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  }
}

/**
 * Returns SECRET_KEY. If it is not set, which only the embedded database permits, returns the key in
 * DATA_DIR/secret-key, which the first start generates. Call it while the data directory is locked.
 *
 * @throws ConfigError if the file contains no key.
 */
export function loadSecretKey(config: Config): string {
  const { secretKey, dataDir } = config;
  return secretKey ?? keptSecretKey(config) ?? makeSecretKey(dataDir, join(dataDir, 'secret-key'));
}

/**
 * Returns the key in DATA_DIR/secret-key. Undefined if the file does not exist.
 *
 * @throws ConfigError if the file contains fewer than 32 characters, or is a directory.
 */
export function keptSecretKey({ dataDir }: Pick<Config, 'dataDir'>): string | undefined {
  const path = join(dataDir, 'secret-key');
  const kept = readIfThere(path)?.trim();
  if (kept !== undefined && kept.length < 32) throw new ConfigError(`${path}: must have at least 32 characters`);
  return kept;
}

function makeSecretKey(dataDir: string, path: string): string {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const secret = randomBytes(48).toString('base64url');
  // The file is renamed after it was written completely: an empty file left by a crash would prevent every later start.
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
    // Containers create a directory if the file to be mounted does not exist.
    if (code === 'EISDIR') throw new ConfigError(`${path}: is a directory, not a file with a key`);
    throw error;
  }
}
