import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Runtime } from '../../access/context.ts';
import { useUp } from '../../access/used-tokens.ts';
import type { Tx } from '../../platform/db/client.ts';

/** Time in ms for which a challenge is valid. */
export const CHALLENGE_MS = 600_000;

/**
 * Fields of every challenge, the token that one request of a sign-in issues and a later one returns. It is sealed under
 * SECRET_KEY, so that each node can complete a sign-in that another node began.
 */
export const CHALLENGE_FIELDS = {
  organizationId: z.int(),
  /** Identifies the challenge, which can be completed once. */
  id: z.string(),
  /** Time at which the challenge expires, in ms since 1970. */
  expiresAt: z.number(),
};

/** A challenge. Its purpose prevents its use in place of a challenge with another purpose. */
interface Challenge {
  readonly purpose: string;
  readonly organizationId: number;
  readonly id: string;
  readonly expiresAt: number;
}

/** Returns a new challenge, valid for ten minutes: characters of [A-Za-z0-9_-]. */
export function sealChallenge<C extends Challenge>(app: Runtime, content: Omit<C, 'id' | 'expiresAt'>): string {
  const id = randomBytes(16).toString('base64url');
  const challenge = { ...content, id, expiresAt: app.now().getTime() + CHALLENGE_MS };
  return Buffer.from(app.keys.seal(JSON.stringify(challenge))).toString('base64url');
}

/**
 * Returns the content of a challenge. Undefined if it was not issued by this server, does not match the schema `form`, or has
 * expired.
 */
export function openChallenge<C extends Challenge>(
  { keys, now }: Runtime,
  form: z.ZodType<C>,
  text: string,
): C | undefined {
  try {
    const challenge = form.parse(JSON.parse(keys.open(Buffer.from(text, 'base64url'))));
    return challenge.expiresAt > now().getTime() ? challenge : undefined;
  } catch {
    // Any failure means that this server did not issue the challenge.
    return undefined;
  }
}

/** Marks a challenge as completed. @returns False if it was completed before. */
export const useUpChallenge = (
  app: Runtime,
  db: Tx,
  { purpose, organizationId, id, expiresAt }: Challenge,
): Promise<boolean> => useUp({ app, work: { db } }, organizationId, `${purpose} ${id}`, new Date(expiresAt));
