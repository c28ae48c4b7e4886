/** State of the rate limit of an account or IP address, after one of its requests was counted. */
export interface Budget {
  /** Maximum number of requests in one window of the rate limit. Further requests are refused with `RateLimitHitError`. */
  readonly limit: number;
  readonly remaining: number;
  /** Time at which the current window ends. After that time, `limit` requests are permitted again. */
  readonly resetAt: Date;
}
