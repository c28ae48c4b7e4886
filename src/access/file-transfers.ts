import { FairLimiter } from '../platform/fair-limiter.ts';
import { type Ctx, chargedAccountOf } from './context.ts';

/** Maximum number of concurrent transfers of this node, of which `SPARE` are for accounts without a running transfer. */
const [TOTAL, SPARE] = [24, 8];
/** Maximum number of running and of waiting transfers of an account. Further ones are refused with `RequestTimeoutError`. */
const OF_ACCOUNT = { running: 4, waiting: 100 };
/** Maximum time that a transfer waits, in milliseconds. */
const MAX_WAIT_MS = 60_000;

const limiter = new FairLimiter<number>({
  ...{ total: TOTAL, spare: SPARE, maxWaitMs: MAX_WAIT_MS, limitsOf: () => OF_ACCOUNT },
});

/**
 * Sends a received file to the virus scanner or to the bucket, when the limits of the viewer's account permit it. So an account
 * with many uploads does not take all threads of the scanner. Further requests of the account can start meanwhile.
 *
 * @param work Must not start another transfer.
 * @throws RequestTimeoutError if too many transfers of the account are waiting, or it has waited too long.
 */
export const transferFile = <T>({ app, viewer }: Pick<Ctx, 'app' | 'viewer'>, work: () => Promise<T>): Promise<T> =>
  app.accountLimiter.outside(() => limiter.run(chargedAccountOf(viewer), work));
