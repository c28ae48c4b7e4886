/** The outcome of sending a push message to a device. Each kind is one of `PUSH_OUTCOMES`. */
export type PushOutcome =
  /** The push service accepted the message. */
  | { readonly kind: 'sent' }
  /** The device no longer exists. */
  | { readonly kind: 'gone' }
  /** The push service will never accept this message. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The message can be sent again. */
  | {
      readonly kind: 'failed';
      readonly reason: string;
      /** Minimum delay before the next attempt that the push service asked for, in seconds. */
      readonly afterSeconds: number;
      /** Whether messages to other devices of the push service would fail as well: it does not respond, or refuses this server. */
      readonly isOfService: boolean;
      /** Whether the push service refuses the credentials of this server. Attempts fail until the operator corrects them. */
      readonly isRefusal: boolean;
    };

/** Maximum delay that a push service can ask for, in seconds. */
const MAX_RETRY_AFTER = 3_600;

/** Returns the delay that a header `Retry-After` asks for, in seconds. 0 if there is none. */
export const secondsIn = (retryAfter: string | undefined): number =>
  /^\d{1,9}$/.test(retryAfter ?? '') ? Math.min(Number(retryAfter), MAX_RETRY_AFTER) : 0;

/** Returns the outcome of an attempt that ended without a response. */
export const failedWith = (error: unknown): PushOutcome => ({
  kind: 'failed',
  reason: error instanceof Error ? error.message : String(error),
  afterSeconds: 0,
  isOfService: true,
  isRefusal: false,
});
