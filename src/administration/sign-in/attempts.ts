import { createHash } from 'node:crypto';
import type { Runtime } from '../../access/context.ts';
import { normalAddress } from '../../access/sign-in.ts';
import { RateLimitHitError } from '../../platform/errors.ts';
import type { FailureCounter } from '../../platform/rate-limits.ts';

const FAILURES = { points: 5, duration: 1800 };

/** Password attempts of one running service. */
interface Attempts {
  readonly failures: FailureCounter;
  /** Last password attempt for each email address of an organization. Attempts for the same address run one after another. */
  readonly last: Map<string, Promise<unknown>>;
}

/** Password attempts, for each running service. Several services may run in one process. */
const attemptsOf = new WeakMap<Runtime, Attempts>();

/**
 * Runs `attempt`, unless 5 attempts with the same name have failed within 30 minutes.
 *
 * Attempts with one name run one after the other. So of a thousand concurrent attempts with wrong passwords, only five
 * are made. A user who signs in with the right password from several clients at the same time does not reach the limit.
 *
 * @param name Organization id and email address, separated by a space, or another name of the account.
 * @param onLimit Called when this failure reaches the limit.
 * @throws RateLimitHitError if too many attempts have failed.
 */
export async function limited<T>(
  app: Runtime,
  name: string,
  attempt: () => Promise<T | undefined>,
  onLimit?: () => void,
): Promise<T | undefined> {
  const { failures, last } = attemptsFor(app);
  const key = keyOf(name);
  const turn = (last.get(key) ?? Promise.resolve()).then(async () => {
    const waitMs = await failures.waitMs(key);
    if (waitMs > 0) throw new RateLimitHitError(Math.ceil(waitMs / 1000));
    const result = await attempt();
    if (result !== undefined) await failures.clear(key);
    else {
      await failures.add(key);
      if (onLimit !== undefined && (await failures.waitMs(key)) > 0) onLimit();
    }
    return result;
  });
  const settled = turn.then(
    () => {},
    () => {},
  );
  last.set(key, settled);
  try {
    return await turn;
  } finally {
    if (last.get(key) === settled) last.delete(key);
  }
}

/** Returns the key of a counter. It is a hash, so that its length does not depend on the client's input. */
const keyOf = (name: string): string => createHash('sha256').update(name).digest('base64');

/** Resets the count of failed attempts for an email address, after the person has chosen a new password. */
export async function forgetFailures(app: Runtime, organizationId: number, email: string): Promise<void> {
  await attemptsFor(app).failures.clear(keyOf(`${organizationId} ${normalAddress(email)}`));
}

function attemptsFor(app: Runtime): Attempts {
  const known = attemptsOf.get(app) ?? {
    failures: app.rateLimits.failureCounter('password_failures', FAILURES),
    last: new Map(),
  };
  attemptsOf.set(app, known);
  return known;
}
