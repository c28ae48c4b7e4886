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
 * Operations on API keys, and on secrets that are derived from SECRET_KEY. An API key is stored in two forms: as a hash, by
 * which sign-in finds the key, and sealed (encrypted), because some endpoints return the key.
 */
export class KeyVault {
  readonly #current: Derived;
  /** The keys of SECRET_KEY and, during a change of the key, of SECRET_KEY_PREVIOUS. */
  readonly #accepted: readonly Derived[];

  /**
   * @param secret SECRET_KEY, from which the keys for sealing, fingerprints and tokens are derived.
   * @param previous SECRET_KEY_PREVIOUS. Values that were made with it are accepted. New values are made with `secret` only.
   */
  constructor(secret: string, previous?: string) {
    this.#current = derived(secret);
    this.#accepted = previous === undefined ? [this.#current] : [this.#current, derived(previous)];
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
   * Returns the HMAC-SHA-256 of a text. Texts are equal if their HMACs are equal, so the texts need not be stored. The HMAC
   * reveals nothing about the text to readers without SECRET_KEY, even if the text is short.
   */
  fingerprint(text: string): Uint8Array<ArrayBuffer> {
    return fingerprintOf(this.#current, text);
  }

  /** Returns the fingerprints that a text can have: by SECRET_KEY and, during a change of the key, by SECRET_KEY_PREVIOUS. */
  fingerprints(text: string): Uint8Array<ArrayBuffer>[] {
    return this.#accepted.map((keys) => fingerprintOf(keys, text));
  }

  /**
   * Returns the session tokens that can replace `token`, each 43 characters of [A-Za-z0-9_-]. The first is derived with
   * SECRET_KEY and is the one to issue. The second, if any, is derived with SECRET_KEY_PREVIOUS.
   */
  successors(token: string): [string, ...string[]] {
    const [first, ...others] = this.#accepted.map(({ succession }) =>
      createHmac('sha256', succession).update(token).digest('base64url'),
    );
    return [first as string, ...others];
  }

  /**
   * Returns a secret of this server that is used for one purpose only: 43 characters of [A-Za-z0-9_-], the same after each
   * start.
   */
  token(purpose: string): string {
    return tokenOf(this.#current, purpose);
  }

  /** Returns whether a text is a secret of this server for a purpose, made with SECRET_KEY or SECRET_KEY_PREVIOUS. */
  isToken(shown: string, purpose: string): boolean {
    return this.#accepted.some((keys) => isSameSecret(shown, tokenOf(keys, purpose)));
  }

  /** Returns the accepted secrets of this server for a purpose. The first is the one to use for new values. */
  tokens(purpose: string): string[] {
    return this.#accepted.map((keys) => tokenOf(keys, purpose));
  }

  /** Encrypts a key with AES-256-GCM. @returns Nonce, tag and ciphertext. */
  seal(key: string): Uint8Array<ArrayBuffer> {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current.sealing, nonce);
    const text = Buffer.concat([cipher.update(key, 'utf8'), cipher.final()]);
    return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), text]));
  }

  /** Decrypts a sealed key. @throws Error if it was sealed with another SECRET_KEY, or was modified afterwards. */
  open(sealed: Uint8Array): string {
    const opened = this.#accepted.values().map((keys) => openWith(keys, sealed));
    const text = opened.find((found) => found !== undefined);
    if (text === undefined) throw new Error('The value was sealed with another SECRET_KEY, or was modified');
    return text;
  }

  /** Returns whether `open` can decrypt a sealed key. */
  canOpen(sealed: Uint8Array): boolean {
    return this.#accepted.some((keys) => openWith(keys, sealed) !== undefined);
  }

  /** Returns whether a key was sealed with SECRET_KEY, not with SECRET_KEY_PREVIOUS or another key. */
  isCurrent(sealed: Uint8Array): boolean {
    return openWith(this.#current, sealed) !== undefined;
  }
}

/** Keys that are derived from one SECRET_KEY. */
interface Derived {
  readonly secret: string;
  readonly sealing: Uint8Array;
  /** A `KeyObject`, because creating one takes four times as long as computing an HMAC with it. */
  readonly marking: KeyObject;
  readonly succession: KeyObject;
}

const derive = (secret: string, purpose: string) => new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32));

const derived = (secret: string): Derived => ({
  secret,
  sealing: derive(secret, 'api key sealing'),
  marking: createSecretKey(derive(secret, 'fingerprints')),
  succession: createSecretKey(derive(secret, 'session tokens')),
});

const fingerprintOf = ({ marking }: Derived, text: string) =>
  new Uint8Array(createHmac('sha256', marking).update(text).digest());

const tokenOf = ({ secret }: Derived, purpose: string) => Buffer.from(derive(secret, purpose)).toString('base64url');

/** Decrypts a sealed key. Undefined if it was sealed with another key, or was modified afterwards. */
function openWith({ sealing }: Derived, sealed: Uint8Array): string | undefined {
  const bytes = Buffer.from(sealed);
  try {
    const options = { authTagLength: TAG_BYTES };
    const decipher = createDecipheriv('aes-256-gcm', sealing, bytes.subarray(0, NONCE_BYTES), options);
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
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
