/** Rate limit of a caller, after a request was counted. */
export interface Budget {
  /** Requests per window. */
  readonly limit: number;
  readonly remaining: number;
  /** Time at which the budget is full again. */
  readonly resetAt: Date;
}
