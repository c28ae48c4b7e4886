import { type ExecutionArgs, type ExecutionResult, execute } from 'graphql';
import type { Config } from '../../../platform/config.ts';
import { executeByPlan } from './plans/queries.ts';

/**
 * Executes an operation of a valid document. Executors return equal data, and equal errors except below a null that has
 * propagated.
 */
export type Executor = (args: ExecutionArgs) => Promise<ExecutionResult>;

/** Returns the executor of all queries and mutations: plans, or graphql-js if QUERY_PLANS is off. */
export const executorOf = ({ queryPlans }: Pick<Config, 'queryPlans'>): Executor =>
  queryPlans ? executeByPlan : async (args) => execute(args);
