import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isSameSecret, type KeyVault } from '../platform/key-vault.ts';

/** A version of a user's image. */
export interface ImageVersion {
  /** Id of the user. */
  readonly id: number;
  readonly avatarVersion: number;
}

/** Length of a signature in characters: 132 bits. */
const LENGTH = 22;
/** Pattern of a signature in a route. */
export const SIGNATURE = `[A-Za-z0-9_-]{${LENGTH}}`;

let secret = randomBytes(32).toString('base64url');
/** Cached signatures. An image URL is generated for each sender of a page of messages, so signatures are needed often. */
const kept = new LRUCache<string, string>({ max: 10_000 });

/**
 * Sets the secret that signs the URLs of images in this process. Nodes with the same SECRET_KEY produce the same signatures.
 */
export function signAvatarsWith(keys: Pick<KeyVault, 'token'>): void {
  secret = keys.token('avatar addresses');
  kept.clear();
}

/** Returns the signature of a version of an image. It makes the image's URL unguessable. */
export function signatureOf({ id, avatarVersion }: ImageVersion): string {
  const name = `${id} ${avatarVersion}`;
  const signature = kept.get(name) ?? createHmac('sha256', secret).update(name).digest('base64url').slice(0, LENGTH);
  kept.set(name, signature);
  return signature;
}

export const isSigned = (version: ImageVersion, signature: string): boolean =>
  isSameSecret(signature, signatureOf(version));
