import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { expectedError } from '../platform/db/errors.ts';

/**
 * Keeps the process running when a promise is rejected that no code awaits. By default, Node would exit and close all
 * connections. Any client could cause this: if one item of a list fails synchronously, graphql-js 16 stops awaiting the pending
 * items before it. These can be rejected later.
 *
 * Errors that a client caused are logged at level debug, because the client already received the first failure. All other
 * errors are bugs, and are logged as errors.
 */
export function outliveStrayRejections(log: Logger): void {
  process.on('unhandledRejection', (reason) => {
    const err = reason instanceof GraphQLError ? (reason.originalError ?? reason) : reason;
    if (expectedError(err) !== undefined) log.debug({ err }, 'promise rejected after its response');
    else log.error({ err }, 'unhandled promise rejection');
  });
}
