import { type ExecutionArgs, type ExecutionResult, execute } from 'graphql';
import type { Config } from '../../../platform/config.ts';
import { executeByPlan } from './plans/queries.ts';

/**
 * A function that executes an operation of a valid document. All executors return the same data. Their errors can differ only
 * below a field that became null because of another error.
 */
export type Executor = (args: ExecutionArgs) => Promise<ExecutionResult>;

/** Returns the executor for all queries and mutations. It uses query plans if QUERY_PLANS is on, otherwise graphql-js. */
export const executorOf = ({ queryPlans }: Pick<Config, 'queryPlans'>): Executor =>
  queryPlans ? executeByPlan : async (args) => execute(args);
