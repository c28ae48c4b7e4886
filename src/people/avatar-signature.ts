import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isSameSecret, type KeyVault } from '../platform/key-vault.ts';

/** A version of a user's image. */
export interface ImageVersion {
  /** Id of the user. */
  readonly id: number;
  readonly avatarVersion: number;
}

/** Number of characters in a signature. Together they encode 132 bits. */
const LENGTH = 22;
/** Regular expression for a signature in the path of a route. */
export const SIGNATURE = `[A-Za-z0-9_-]{${LENGTH}}`;

/** Secrets whose signatures are accepted. The first one signs. */
let secrets = [randomBytes(32).toString('base64url')];
/** Cached signatures. An image URL is generated for each sender of a page of messages, so signatures are needed often. */
const kept = new LRUCache<string, string>({ max: 10_000 });

/**
 * Sets the secret that signs the URLs of images in this process. Nodes with the same SECRET_KEY produce the same signatures.
 */
export function signAvatarsWith(keys: Pick<KeyVault, 'tokens'>): void {
  secrets = keys.tokens('avatar addresses');
  kept.clear();
}

/** Returns the signature of a version of an image. The signature makes the URL of the image impossible to guess. */
export function signatureOf(version: ImageVersion): string {
  const name = nameOf(version);
  const signature = kept.get(name) ?? signed(name, secrets[0] as string);
  kept.set(name, signature);
  return signature;
}

const nameOf = ({ id, avatarVersion }: ImageVersion) => `${id} ${avatarVersion}`;
const signed = (name: string, secret: string) =>
  createHmac('sha256', secret).update(name).digest('base64url').slice(0, LENGTH);

/** Returns whether a signature is of this version of an image, made with SECRET_KEY or SECRET_KEY_PREVIOUS. */
export const isSigned = (version: ImageVersion, signature: string): boolean =>
  isSameSecret(signature, signatureOf(version)) ||
  secrets.slice(1).some((secret) => isSameSecret(signature, signed(nameOf(version), secret)));
