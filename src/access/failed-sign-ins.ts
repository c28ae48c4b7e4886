import { LRUCache } from 'lru-cache';
import { detached } from '../events/act.ts';
import { type AuditedContext, writeAuditLog } from '../events/audit.ts';
import { requireLive } from '../events/context.ts';
import type { SqlClient } from '../platform/db/client.ts';
import type { Runtime, WorkCtx } from './context.ts';

const HOUR_MS = 3_600_000;
/** Maximum number of entries about failed sign-ins that a node writes for one organization within an hour. */
const MAX_ENTRIES_PER_HOUR = 1000;
/** Maximum number of counters of a node. Beyond it, the counter used least recently is dropped. */
const MAX_COUNTERS = 10_000;

interface Counter {
  readonly hour: number;
  count: number;
}

const countersOf = new WeakMap<Runtime, LRUCache<string, Counter>>();

/** Increments a counter of the current hour, and returns its new value. */
function increment(app: Runtime, name: string): number {
  const counters = countersOf.get(app) ?? new LRUCache<string, Counter>({ max: MAX_COUNTERS });
  countersOf.set(app, counters);
  const hour = Math.floor(app.now().getTime() / HOUR_MS);
  const known = counters.get(name);
  const counter = known?.hour === hour ? known : { hour, count: 0 };
  counters.set(name, counter);
  return ++counter.count;
}

/** A sign-in that failed. */
export interface FailedSignIn extends Pick<AuditedContext, 'caller' | 'clientName'> {
  /** Subdomain of the organization. */
  readonly subdomain: string;
  readonly reason:
    | 'wrong password'
    | 'wrong API key'
    | 'wrong second factor'
    | 'wrong passkey'
    | 'too many attempts'
    | 'no account for the web token'
    | 'single sign-on refused';
  /** Email address of the account, as the client sent it. It is not written, because it can be a password by mistake. */
  readonly account: string | undefined;
}

/**
 * Writes an entry about a failed sign-in to the audit log, after the response, so that the time of the response does not depend
 * on it. Failures from one address within an hour are counted, and the first, second, fourth, eighth and so on are written, with
 * their number.
 */
export function auditFailedSignIn({ app, work }: WorkCtx, failed: FailedSignIn): void {
  const { subdomain, reason, caller, clientName } = failed;
  const count = increment(app, `${subdomain} ${caller?.network ?? ''}`);
  if ((count & (count - 1)) !== 0) return;
  if (increment(app, subdomain) > MAX_ENTRIES_PER_HOUR) return;
  const service = requireLive(work).app;
  // Copied now, because the connection can be closed before the entry is written.
  const client = caller === undefined ? {} : { caller: { address: caller.address, network: caller.network } };
  const write = async () => {
    const organization = await service.db.organization.findUnique({ where: { subdomain }, select: { id: true } });
    if (organization === null) return;
    const organizationId = organization.id;
    const userId = await userIdOf(service.db, organizationId, failed.account);
    await writeAuditLog(service.db, { app: service, organizationId, ...client, clientName }, [
      {
        ...{ action: 'sign_in_failed', objectType: userId === undefined ? 'organization' : 'user' },
        objectId: userId ?? organizationId,
        changes: { reason: { new: reason }, failures_of_address_within_hour: { new: count } },
      },
    ]);
  };
  detached(() => {
    write().catch((err: unknown) => service.log.warn({ err }, 'audit log entry failed'));
  });
}

/** Returns the id of the user with an email address. Undefined if there is none. */
async function userIdOf(
  db: SqlClient,
  organizationId: number,
  account: string | undefined,
): Promise<number | undefined> {
  if (account === undefined || account.includes('\0')) return undefined;
  const [found] = await db.$queryRaw<{ id: number }[]>`
    SELECT id FROM user_account
    WHERE realm_id = ${organizationId} AND lower(email) = lower(${account.trim().toWellFormed()})`;
  return found?.id;
}
