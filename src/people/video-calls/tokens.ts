import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Ctx, Runtime, Scope } from '../../access/context.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import type { VideoProvider } from '../../platform/config.ts';
import { lockUser } from '../locks.ts';
import { InvalidVideoCallProviderTokenError } from './errors.ts';
import { callTokenChanged } from './events.ts';
import { PROVIDER_TIMEOUT_MS, ProviderError, requestToken, type TokenAnswer } from './provider.ts';

// Only one request at a time renews a token, across all nodes. No row stays locked during the request to the provider, because
// it can take seconds and the embedded database has a single connection. Instead, the renewing request writes a lease into the
// row, and other requests wait and read the row again. A write succeeds only if the row still has the sealed content that was
// read before. Sealing uses a new nonce each time, so equal contents mean that nothing was written in between. Of two
// concurrent writes, only the first one succeeds.

/** Stored content of a token. Times are milliseconds since 1970. */
const Stored = z.object({
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** Time at which the token expires. If absent, the token is valid until the provider refuses it. */
  expiresAt: z.number().optional(),
  /** Time until which one request has the exclusive right to renew the token. */
  renewedUntil: z.number().optional(),
});
type Stored = z.output<typeof Stored>;

/** A token, and the sealed content of the row from which it was read. */
export interface HeldToken {
  readonly accessToken: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

/**
 * Time in ms before the expiry of a token at which the token is renewed. A request that is sent later with the old token could
 * reach the provider after the expiry.
 */
const EARLY_MS = 30_000;
/**
 * Length of a lease in ms. A lease is longer than the timeout of a request to the provider, so that it does not end during a
 * renewal.
 */
const LEASE_MS = PROVIDER_TIMEOUT_MS + 5_000;
/** Interval in ms at which waiting requests read the row of the token again. */
const LOOK_AGAIN_MS = 50;

/**
 * Stores the token of a user who has just allowed calls in their name. Replaces any previous token, and notifies the user's
 * clients.
 */
export async function keepToken(scope: Scope, userId: number, answer: TokenAnswer): Promise<void> {
  const { app, organizationId } = scope;
  const row = { organizationId, sealed: seal(app, toStored(app, answer)), updatedAt: app.now() };
  await transact(scope, async (tx, emit) => {
    await lockUser(tx, { organizationId, id: userId });
    await tx.callToken.upsert({
      where: { organizationId_userId: { organizationId, userId } },
      create: { ...row, userId },
      update: row,
    });
    emit(callTokenChanged(true), users([userId]));
  });
}

/**
 * Deletes a token that the provider refused, and notifies the user's clients. Does nothing if the token was replaced after it
 * was sent to the provider.
 */
export async function dropToken(ctx: Ctx, { sealed }: Pick<HeldToken, 'sealed'>): Promise<void> {
  const { viewer } = ctx;
  await transact(ctx, async (tx, emit) => {
    const { count } = await tx.callToken.deleteMany({
      where: { organizationId: viewer.organization.id, userId: viewer.id, sealed },
    });
    if (count > 0) emit(callTokenChanged(false), users([viewer.id]));
  });
}

/**
 * Returns the viewer's token. Renews it first if it expires within 30 seconds.
 *
 * @throws InvalidVideoCallProviderTokenError if there is no token, or if the provider refuses to renew it. In the second case,
 *   the token is deleted.
 * @throws ProviderError if the provider cannot be reached, or another request does not finish the renewal in time.
 */
export async function heldToken(ctx: Ctx, provider: VideoProvider): Promise<HeldToken> {
  const { app, work, viewer } = ctx;
  const patience = performance.now() + LEASE_MS;
  while (performance.now() < patience) {
    const row = await work.db.callToken.findUnique({
      where: { organizationId_userId: { organizationId: viewer.organization.id, userId: viewer.id } },
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
  throw new ProviderError('Another request did not finish the renewal of the token in time');
}

/**
 * Renews a token with its refresh token, and stores the new token. `leased` is the sealed content of the row, which this
 * request wrote to claim the renewal.
 *
 * @returns The new token. Undefined if another request has written the row during the renewal.
 * @throws InvalidVideoCallProviderTokenError if the provider refuses the refresh token.
 */
async function renew(
  ctx: Ctx,
  provider: VideoProvider,
  stored: Stored,
  leased: Uint8Array<ArrayBuffer>,
): Promise<HeldToken | undefined> {
  const { refreshToken } = stored;
  const answer =
    refreshToken === undefined ? 'refused' : await requestRenewal(ctx, provider, { stored, leased, refreshToken });
  if (answer === 'refused') {
    await dropToken(ctx, { sealed: leased });
    throw new InvalidVideoCallProviderTokenError();
  }
  // If the provider returns no new refresh token, the old one stays valid.
  const renewed = { refreshToken, ...toStored(ctx.app, answer) };
  const sealed = await replace(ctx, leased, renewed);
  return sealed && { accessToken: renewed.accessToken, sealed };
}

async function requestRenewal(
  ctx: Ctx,
  provider: VideoProvider,
  { stored, leased, refreshToken }: { stored: Stored; leased: Uint8Array<ArrayBuffer>; refreshToken: string },
) {
  try {
    return await requestToken(provider, { grant_type: 'refresh_token', refresh_token: refreshToken });
  } catch (error) {
    // Ends the lease, so that the next request need not wait for a failed renewal.
    await replace(ctx, leased, stored);
    throw error;
  }
}

/** Writes `stored` if the row still contains `sealed`. @returns The new sealed content. Undefined if the row had changed. */
async function replace({ app, work, viewer }: Ctx, sealed: Uint8Array<ArrayBuffer>, stored: Stored) {
  const data = { sealed: seal(app, stored), updatedAt: app.now() };
  const { count } = await work.db.callToken.updateMany({
    where: { organizationId: viewer.organization.id, userId: viewer.id, sealed },
    data,
  });
  return count === 0 ? undefined : data.sealed;
}

function toStored({ now }: Runtime, { access_token, refresh_token, expires_in }: TokenAnswer): Stored {
  return {
    accessToken: access_token,
    ...(refresh_token !== undefined && { refreshToken: refresh_token }),
    ...(expires_in !== undefined && { expiresAt: now().getTime() + expires_in * 1000 }),
  };
}

const seal = ({ keys }: Runtime, stored: Stored) => keys.seal(JSON.stringify(stored));
const open = ({ keys }: Runtime, sealed: Uint8Array): Stored => Stored.parse(JSON.parse(keys.open(sealed)));
