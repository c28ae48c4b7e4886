import type { CombinedError } from 'urql';
import type { SendMessageMutation } from '../generated/graphql.ts';

/** The service's reason for refusing a message. */
export interface Refusal {
  readonly message: string;
  /**
   * Whether the service may accept the message if it is sent again later, because the service is unavailable, lacks disk space,
   * limits the rate, or was upgraded.
   */
  readonly isForNow: boolean;
  /** Pause that the service requests, in milliseconds; 0 if it names none. */
  readonly retryAfterMs: number;
}

/**
 * Codes of errors that have no effect and after which the service can accept the message if it is sent again. After a
 * validation error, the outdated page must be reloaded first.
 */
const FOR_NOW: ReadonlySet<unknown> = new Set([
  'REQUEST_TIMEOUT',
  'RATE_LIMIT_HIT',
  'STORAGE_FULL',
  'GRAPHQL_VALIDATION_FAILED',
]);

/**
 * Returns the refusal in the response to a message.
 *
 * @returns Undefined if the message was sent or if no response arrived.
 */
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
