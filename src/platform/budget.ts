/** What is left of a budget after a request was counted. */
export interface Budget {
  /** Requests in each window. */
  readonly limit: number;
  readonly remaining: number;
  /** When the budget is full again. */
  readonly resetAt: Date;
}
