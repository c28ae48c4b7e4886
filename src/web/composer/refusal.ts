import type { CombinedError } from 'urql';
import { retryAfterMs } from '../api/retry.ts';
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
 * Returns the refusal in the response to a message.
 *
 * @returns Undefined if the message was sent or if no response arrived.
 */
export function refusalOf(
  data: SendMessageMutation | undefined,
  error: CombinedError | undefined,
): Refusal | undefined {
  const result = data?.sendMessage;
  if (result != null && 'message' in result) return { message: result.message, isForNow: false, retryAfterMs: 0 };
  const [first] = error?.graphQLErrors ?? [];
  if (error === undefined || first === undefined) return undefined;
  const pauseMs = retryAfterMs(error.graphQLErrors);
  // After a validation error, the outdated page must be reloaded first.
  const isForNow = pauseMs !== undefined || first.extensions['code'] === 'GRAPHQL_VALIDATION_FAILED';
  return { message: first.message, isForNow, retryAfterMs: pauseMs ?? 0 };
}
