/** Rate limit of a caller, after a request was counted. */
export interface Budget {
  /** Requests per window. */
  readonly limit: number;
  readonly remaining: number;
  /** Time at which the window ends and all `limit` requests are available again. */
  readonly resetAt: Date;
}
