import type { RequestCtx } from '../../access/context.ts';
import type { Budget } from '../../platform/budget.ts';
import type { Browser } from '../cookies.ts';

/** What a document costs to answer, and the most it may. */
export interface Cost {
  readonly requested: number;
  readonly limit: number;
  /** How many requests the operation counts as. */
  readonly charged: number;
}

/** What a resolver is given: the request, made anew for each operation. */
export interface GraphQLContext extends RequestCtx {
  readonly cost: Cost;
  /** What is left of the caller's budget; undefined where nothing is counted. */
  readonly budget?: Budget | undefined;
  /** Undefined on a socket, which can be given no cookie. */
  readonly browser?: Browser;
  /** Under which the operation may be repeated. */
  readonly idempotencyKey?: string | undefined;
}

/**
 * Makes something at most once for each operation, such as a DataLoader. What it loads is cached with the rights of one
 * viewer at one time, so it must not outlive the operation.
 */
export function perOperation<T>(make: (ctx: GraphQLContext) => T): (ctx: GraphQLContext) => T {
  const made = new WeakMap<GraphQLContext, { readonly value: T }>();
  return (ctx) => {
    const known = made.get(ctx) ?? { value: make(ctx) };
    made.set(ctx, known);
    return known.value;
  };
}
