import type { CombinedError } from 'urql';
import { TEMPORARY } from '../api/retry.ts';
import type { SendMessageMutation } from '../generated/graphql.ts';

/** The service's reason for refusing a message. */
export interface Refusal {
  readonly message: string;
  /**
   * Whether the service may accept the message if it is sent again later. True if the service is unavailable, lacks disk space,
   * limits the rate, or was upgraded.
   */
  readonly isForNow: boolean;
  /** Pause that the service requests, in milliseconds; 0 if it requests none. */
  readonly retryAfterMs: number;
}

/**
 * Codes of errors after which the service has not accepted the message, but can accept it if it is sent again. After a
 * validation error, the outdated page must be reloaded first.
 */
const FOR_NOW: readonly unknown[] = [...TEMPORARY, 'GRAPHQL_VALIDATION_FAILED'];

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
  if (result != null && 'message' in result) return refusal(result.message, result.code, undefined);
  const [first] = error?.graphQLErrors ?? [];
  return first && refusal(first.message, first.extensions?.['code'], first.extensions?.['retryAfterSeconds']);
}

const refusal = (message: string, code: unknown, seconds: unknown): Refusal => ({
  message,
  isForNow: FOR_NOW.includes(code),
  retryAfterMs: 1_000 * (Number(seconds) || 0),
});
