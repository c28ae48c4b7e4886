import { GraphQLError } from 'graphql';
import type { Logger } from 'pino';
import { expectedError } from '../platform/db/errors.ts';

/**
 * Keeps the process up when something fails that nobody waits for any more. Node's own way is to end it, and with it
 * everybody's connections, at the will of any client: where one item of a list fails at once, graphql-js 16 forgets the
 * items before it that are still on their way, and these fail later on their own.
 *
 * What a client caused was answered by what failed first. Anything else is a fault of ours, and logged as one.
 */
export function outliveStrayRejections(log: Logger): void {
  process.on('unhandledRejection', (reason) => {
    const err = reason instanceof GraphQLError ? (reason.originalError ?? reason) : reason;
    if (expectedError(err) !== undefined) log.debug({ err }, 'a failure came after its answer');
    else log.error({ err }, 'something failed that nobody waited for');
  });
}
