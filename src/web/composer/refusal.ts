import type { CombinedError } from 'urql';
import type { SendMessageMutation } from '../generated/graphql.ts';

/** What the service says against a message. */
export interface Refusal {
  readonly message: string;
  /** Whether it takes the same message a while later: it is busy, has no room, was asked too often, or was
   * upgraded. */
  readonly isForNow: boolean;
  /** How long it wants to be left alone, in milliseconds; 0 where it does not say. */
  readonly retryAfterMs: number;
}

/** Of these nothing was done, and the same is taken later: of a page that is outdated, when it was loaded again. */
const FOR_NOW: ReadonlySet<unknown> = new Set([
  'REQUEST_TIMEOUT',
  'RATE_LIMIT_HIT',
  'STORAGE_FULL',
  'GRAPHQL_VALIDATION_FAILED',
]);

/** @returns Undefined where it was sent, and where no answer came. */
export function refusalOf(
  data: SendMessageMutation | undefined,
  error: CombinedError | undefined,
): Refusal | undefined {
  const result = data?.sendMessage;
  if (result !== undefined && 'message' in result) {
    return refusal(result.message, result.code, 'retryAfterSeconds' in result ? result.retryAfterSeconds : undefined);
  }
  const [first] = error?.graphQLErrors ?? [];
  return first && refusal(first.message, first.extensions?.['code'], first.extensions?.['retry-after']);
}

const refusal = (message: string, code: unknown, seconds: unknown): Refusal => ({
  message,
  isForNow: FOR_NOW.has(code),
  retryAfterMs: 1_000 * (Number(seconds) || 0),
});
