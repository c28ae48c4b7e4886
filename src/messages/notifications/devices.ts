import { createHash, ECDH } from 'node:crypto';
import type { Ctx } from '../../access/context.ts';
import { requirePerson } from '../../access/roles.ts';
import { transact } from '../../events/log.ts';
import { Prisma, type PushDevice } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { objectionToUrl } from '../../platform/outgoing.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { pushKeysOf, storePushKeys } from './keys.ts';

const MAX_ENDPOINT_LENGTH = 2_000;
const MAX_NAME_LENGTH = 100;
/** Length of the authentication secret of a device, in bytes. @see RFC 8291 3.2 */
const AUTH_SECRET_BYTES = 16;
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;

/** The push subscription of a browser, or the UnifiedPush registration of an app. */
export interface NewPushDevice {
  /** URL of the push service. */
  readonly endpoint: string;
  /** Public key of the device: P-256, uncompressed, in base64url. */
  readonly publicKey: string;
  /** Authentication secret of the device: 16 bytes in base64url. */
  readonly authSecret: string;
  readonly name: string;
}

/** Returns the filter for the devices that the viewer can see, which are only the viewer's own. */
export const visibleTo = ({ viewer }: Ctx): Prisma.PushDeviceWhereInput => ({
  organizationId: viewer.organization.id,
  userId: viewer.id,
});

/**
 * SQL condition that the credential with which the device `d` was registered is still valid at the time `now`. A device whose
 * session or API key has ended receives nothing.
 *
 * @param organization Id of the organization, or SQL for it.
 */
export const isSignedIn = (now: Date, organization: number | Prisma.Sql): Prisma.Sql => Prisma.sql`CASE
  WHEN d.session_id IS NOT NULL THEN EXISTS (
    SELECT FROM session s
    WHERE s.realm_id = ${organization} AND s.id = d.session_id AND s.user_id = d.user_id AND s.idle_expires_at > ${now}::timestamptz OFFSET 0)
  ELSE EXISTS (
    SELECT FROM api_key k WHERE k.realm_id = ${organization} AND k.user_id = d.user_id AND k.hash = d.key_hash OFFSET 0)
    OR EXISTS (
    SELECT FROM named_api_key k WHERE k.realm_id = ${organization} AND k.user_id = d.user_id AND k.hash = d.key_hash
      AND (k.expires_at IS NULL OR k.expires_at > ${now}::timestamptz) OFFSET 0)
  END`;

/** Returns the public key with which browsers subscribe to push messages of the viewer's organization, in base64url. */
export async function pushPublicKey({ app, work, organizationId }: Ctx): Promise<string> {
  return (await pushKeysOf(work.db, app, organizationId)).publicKey;
}

/** Returns the viewer's devices, the newest first. */
export const listPushDevices = (ctx: Ctx): Promise<PushDevice[]> =>
  ctx.work.db.pushDevice.findMany({ where: visibleTo(ctx), orderBy: { id: 'desc' } });

/**
 * Registers a device that receives the viewer's notifications until the session or API key of the request ends. A device with
 * the same endpoint is the same browser, so it is replaced, even if it belongs to another user of the organization.
 *
 * @throws ForbiddenError for a bot.
 * @throws ValidationError if a value is invalid, or if the service sends no requests to the endpoint.
 * @throws TotalReachedError if the viewer would have more than 50 devices.
 */
export async function registerPushDevice(ctx: Ctx, given: NewPushDevice): Promise<PushDevice> {
  requirePerson(ctx);
  const { app, organizationId, viewer } = ctx;
  const { credential } = viewer;
  const device = checked(ctx, given);
  const endpointHash = new Uint8Array(createHash('sha256').update(device.endpoint).digest());
  return transact(ctx, async (tx) => {
    await lockUser(tx, viewer.user);
    await storePushKeys(tx, app, organizationId);
    const known = await tx.pushDevice.findUnique({
      where: { organizationId_endpointHash: { organizationId, endpointHash } },
    });
    if (known !== null && isSame(known, ctx, device)) return known;
    if (known !== null) await tx.pushDevice.deleteMany({ where: { organizationId, id: known.id } });
    requireWithin('push_devices', 1 + (await tx.pushDevice.count({ where: visibleTo(ctx) })));
    return tx.pushDevice.create({
      data: {
        ...{ organizationId, userId: viewer.id, ...device, endpointHash, createdAt: app.now() },
        ...(credential?.kind === 'session' ? { sessionId: credential.id } : {}),
        ...(credential?.kind === 'key' ? { keyHash: credential.hash } : {}),
      },
    });
  });
}

/**
 * Removes one of the viewer's devices.
 *
 * @throws NotFoundError if the device does not exist or belongs to another user.
 */
export async function removePushDevice(ctx: Ctx, deviceId: number): Promise<void> {
  const noSuchDevice = new NotFoundError('Push device does not exist.', {
    type: 'PushDevice',
    id: deviceId,
    parameter: 'push_device_id',
    status: 404,
  });
  if (!isRowId(deviceId)) throw noSuchDevice;
  await transact(ctx, async (tx) => {
    const { count } = await tx.pushDevice.deleteMany({ where: { id: deviceId, ...visibleTo(ctx) } });
    if (count === 0) throw noSuchDevice;
  });
}

/** Returns whether a device was registered with the same keys and name, by the credential of the request. */
const isSame = (known: PushDevice, { viewer: { id, credential } }: Ctx, device: NewPushDevice): boolean =>
  known.userId === id &&
  known.publicKey === device.publicKey &&
  known.authSecret === device.authSecret &&
  known.name === device.name &&
  (credential?.kind === 'session'
    ? known.sessionId === credential.id
    : credential?.kind === 'key' && known.keyHash !== null && Buffer.from(known.keyHash).equals(credential.hash));

function checked({ app }: Ctx, { endpoint, publicKey, authSecret, name }: NewPushDevice): NewPushDevice {
  const objection =
    endpoint.length > MAX_ENDPOINT_LENGTH
      ? `It must have at most ${MAX_ENDPOINT_LENGTH} characters.`
      : /[^!-~]/.test(endpoint)
        ? 'It must have ASCII characters only.'
        : objectionToUrl(app.config, endpoint);
  if (objection !== undefined) {
    throw new ValidationError(`Invalid endpoint. ${objection}`, { parameter: 'endpoint' });
  }
  if (!isPublicKey(publicKey)) {
    const message = 'The public key must be a point of the curve P-256, uncompressed, in base64url';
    throw new ValidationError(message, { parameter: 'public_key' });
  }
  if (!BASE64URL.test(authSecret) || Buffer.from(authSecret, 'base64url').length !== AUTH_SECRET_BYTES) {
    const message = `The authentication secret must be ${AUTH_SECRET_BYTES} bytes in base64url`;
    throw new ValidationError(message, { parameter: 'auth_secret' });
  }
  const [key, secret] = [publicKey, authSecret].map((text) => text.replace(/=+$/, '')) as [string, string];
  return {
    endpoint,
    publicKey: key,
    authSecret: secret,
    name: requireText('name', name, { strip: true, min: 1, max: MAX_NAME_LENGTH }),
  };
}

function isPublicKey(text: string): boolean {
  const bytes = BASE64URL.test(text) ? Buffer.from(text, 'base64url') : Buffer.alloc(0);
  if (bytes.length !== 65 || bytes[0] !== 4) return false;
  try {
    ECDH.convertKey(bytes, 'prime256v1', undefined, undefined, 'uncompressed');
    return true;
  } catch {
    return false;
  }
}
