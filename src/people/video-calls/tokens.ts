import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { App, Ctx, Scope } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { VideoProvider } from '../../platform/config.ts';
import { lockUser } from '../locks.ts';
import { InvalidVideoCallProviderTokenError } from './errors.ts';
import { callTokenChanged } from './events.ts';
import { PROVIDER_TIMEOUT_MS, ProviderError, requestToken, type TokenAnswer } from './provider.ts';

// A token is renewed by one request at a time, over all nodes, and no row stays locked while the provider is asked: it
// may take seconds, and the embedded database has one connection for everybody. Instead who renews writes so into the
// row, and for how long; the others wait and look again. Each write names the row's content as it was read: sealing it
// draws a new nonce each time, so that content never comes back, and of two writers the first alone finds it.

/** What is kept of a token. Times are milliseconds since 1970. */
const Stored = z.object({
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Absent: until the provider refuses it. */
  expiresAt: z.number().optional(),
  /** Until when a request may take to renew it. */
  renewedUntil: z.number().optional(),
});
type Stored = z.output<typeof Stored>;

/** A token, and the row's content as it was read. */
export interface HeldToken {
  readonly accessToken: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

/** Our choice: what takes longer to reach the provider is too late. */
const EARLY_MS = 30_000;
/** Our choice: longer than the provider is waited for, so that nobody else begins meanwhile. */
const LEASE_MS = PROVIDER_TIMEOUT_MS + 5_000;
/** Our choice. */
const LOOK_AGAIN_MS = 50;

/** Keeps the token of a user who has just allowed calls, in the place of any other, and tells their clients. */
export async function keepToken(scope: Scope, userId: number, answer: TokenAnswer): Promise<void> {
  const { app, realmId } = scope;
  const row = { realmId, sealed: seal(app, toStored(app, answer)), updatedAt: app.now() };
  await transact(scope, async (tx, emit) => {
    await lockUser(tx, { realmId, id: userId });
    await tx.callToken.upsert({
      where: { realmId_userId: { realmId, userId } },
      create: { ...row, userId },
      update: row,
    });
    emit(callTokenChanged(true), users([userId]));
  });
}

/** Forgets a token the provider refused, unless there is another by now, and tells the user's clients. */
export async function dropToken(ctx: Ctx, { sealed }: Pick<HeldToken, 'sealed'>): Promise<void> {
  const { viewer } = ctx;
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.callToken.deleteMany({ where: { realmId: viewer.realm.id, userId: viewer.id, sealed } });
    if (count > 0) emit(callTokenChanged(false), users([viewer.id]));
  });
}

/**
 * The viewer's token, renewed when its time is over.
 *
 * @throws InvalidVideoCallProviderTokenError when there is none, or it cannot be renewed any more: then it is forgotten.
 * @throws ProviderError when the provider cannot be asked.
 */
export async function heldToken(ctx: Ctx, provider: VideoProvider): Promise<HeldToken> {
  const { app, viewer } = ctx;
  const patience = performance.now() + LEASE_MS;
  while (performance.now() < patience) {
    const row = await app.db.callToken.findUnique({
      where: { realmId_userId: { realmId: viewer.realm.id, userId: viewer.id } },
    });
    if (row === null) throw new InvalidVideoCallProviderTokenError();
    const sealed = new Uint8Array(row.sealed);
    const stored = open(app, sealed);
    const now = app.now().getTime();
    if (now < (stored.expiresAt ?? Number.POSITIVE_INFINITY) - EARLY_MS) return { ...stored, sealed };
    if (now < (stored.renewedUntil ?? 0)) await sleep(LOOK_AGAIN_MS);
    else {
      const leased = await replace(ctx, sealed, { ...stored, renewedUntil: now + LEASE_MS });
      const held = leased && (await renew(ctx, provider, stored, leased));
      if (held !== undefined) return held;
    }
  }
  throw new ProviderError('Another request did not come to an end with the token');
}

/** @returns Undefined when the user allowed calls anew meanwhile. */
async function renew(
  ctx: Ctx,
  provider: VideoProvider,
  stored: Stored,
  leased: Uint8Array<ArrayBuffer>,
): Promise<HeldToken | undefined> {
  const { refreshToken } = stored;
  const answer =
    refreshToken === undefined ? 'refused' : await askAgain(ctx, provider, { stored, leased, refreshToken });
  if (answer === 'refused') {
    await dropToken(ctx, { sealed: leased });
    throw new InvalidVideoCallProviderTokenError();
  }
  // A provider that gives no new one goes on with the old.
  const renewed = { refreshToken, ...toStored(ctx.app, answer) };
  const sealed = await replace(ctx, leased, renewed);
  return sealed && { accessToken: renewed.accessToken, sealed };
}

async function askAgain(
  ctx: Ctx,
  provider: VideoProvider,
  { stored, leased, refreshToken }: { stored: Stored; leased: Uint8Array<ArrayBuffer>; refreshToken: string },
) {
  try {
    return await requestToken(provider, { grant_type: 'refresh_token', refresh_token: refreshToken });
  } catch (error) {
    // Who comes next need not wait for what came to nothing.
    await replace(ctx, leased, stored);
    throw error;
  }
}

/** Writes `stored` where `sealed` was read. @returns The row's content; undefined when it had another by then. */
async function replace({ app, viewer }: Ctx, sealed: Uint8Array<ArrayBuffer>, stored: Stored) {
  const data = { sealed: seal(app, stored), updatedAt: app.now() };
  const { count } = await app.db.callToken.updateMany({
    where: { realmId: viewer.realm.id, userId: viewer.id, sealed },
    data,
  });
  return count === 0 ? undefined : data.sealed;
}

function toStored({ now }: App, { access_token, refresh_token, expires_in }: TokenAnswer): Stored {
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(expires_in !== undefined && { expiresAt: now().getTime() + expires_in * 1000 }),
  };
}

const seal = ({ keys }: App, stored: Stored) => keys.seal(JSON.stringify(stored));
const open = ({ keys }: App, sealed: Uint8Array): Stored => Stored.parse(JSON.parse(keys.open(sealed)));
