import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { expectedError } from '../platform/db/errors.ts';

/**
 * Keeps the process running when a promise is rejected that no code awaits any more. By default, Node would exit and
 * close all connections, and any client could cause it: if one item of a list fails synchronously, graphql-js 16 drops
 * the pending items before it, and these are rejected later.
 *
 * For errors that a client caused, the first failure was already reported to the client. All other errors are faults of
 * the service and are logged as errors.
 */
export function outliveStrayRejections(log: Logger): void {
  process.on('unhandledRejection', (reason) => {
    const err = reason instanceof GraphQLError ? (reason.originalError ?? reason) : reason;
    if (expectedError(err) !== undefined) log.debug({ err }, 'promise rejected after its response');
    else log.error({ err }, 'unhandled promise rejection');
  });
}
