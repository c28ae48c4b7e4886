import { createHash, randomBytes } from 'node:crypto';

/** Returns a new token for a link: 256 random bits as base64url. The database stores only its hash. */
export const newLinkToken = (): string => randomBytes(32).toString('base64url');

/** Returns the SHA-256 of a token, by which the service finds the row of a link. */
export const linkTokenHash = (token: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHash('sha256').update(token).digest());
