import { createHash, ECDH } from 'node:crypto';
import type { App, Ctx } from '../../access/context.ts';
import { requirePerson } from '../../access/roles.ts';
import { users } from '../../events/audience.ts';
import { transact } from '../../events/log.ts';
import { Prisma, type PushDevice } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import { fieldsOf } from '../../platform/db/columns.ts';
import { listOf } from '../../platform/db/lists.ts';
import { readRows } from '../../platform/db/rows.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { objectionToUrl } from '../../platform/outgoing.ts';
import type { PhoneKind } from '../../platform/push/phones.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { deviceRemoved } from './events.ts';
import { pushKeysOf, storePushKeys } from './keys.ts';
import { requireAppId, requireToken } from './phone-registration.ts';
import { deviceKindsOf, endToken, phoneEndpoint, registeredAgain } from './phone-tokens.ts';

const MAX_ENDPOINT_LENGTH = 2_000;
export const MAX_NAME_LENGTH = 100;
/** Length of the authentication secret of a device, in bytes. @see RFC 8291 3.2 */
const AUTH_SECRET_BYTES = 16;
const BASE64URL = /^[A-Za-z0-9_-]+={0,2}$/;

/** The push subscription of a browser, or the UnifiedPush registration of an app. */
interface NewWebDevice {
  readonly kind: 'web';
  /** URL of the push service. */
  readonly endpoint: string;
  /** Public key of the device: P-256, uncompressed, in base64url. */
  readonly publicKey: string;
  /** Authentication secret of the device: 16 bytes in base64url. */
  readonly authSecret: string;
  readonly name: string;
}

/** An app with a token of the push service of its phone. */
interface NewPhone {
  readonly kind: PhoneKind;
  readonly token: string;
  /** Bundle id of the app, for Apple devices. Undefined: the one that the operator has configured. */
  readonly appId?: string | undefined;
  readonly name: string;
}

export type NewPushDevice = NewWebDevice | NewPhone;

/** The columns of a device that describe where its notifications are sent. */
interface Target {
  readonly kind: string;
  readonly endpoint: string;
  readonly endpointHash: Uint8Array<ArrayBuffer>;
  readonly publicKey: string;
  readonly authSecret: string;
  readonly appId: string | null;
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

/** Reads the devices of a user to which messages can be sent, and whose session or API key is valid. */
export const readDevices = (
  { config, now }: Pick<App, 'config' | 'now'>,
  db: Parameters<typeof readRows>[0],
  { organizationId, userId }: { readonly organizationId: number; readonly userId: number },
): Promise<PushDevice[]> =>
  readRows<PushDevice>(
    db,
    Prisma.sql`
    SELECT ${fieldsOf('d', 'PushDevice')} FROM push_device d
    WHERE d.realm_id = ${organizationId} AND d.user_id = ${userId}
      AND d.kind = ANY (${listOf('text', deviceKindsOf(config))}) AND ${isSignedIn(now(), organizationId)}
    ORDER BY d.id`,
  );

/** Returns the public key with which browsers subscribe to push messages of the viewer's organization, in base64url. */
export async function pushPublicKey({ app, work, organizationId }: Ctx): Promise<string> {
  return (await pushKeysOf(work.db, app, organizationId)).publicKey;
}

/** Returns the viewer's devices, the newest first. */
export const listPushDevices = (ctx: Ctx): Promise<PushDevice[]> =>
  ctx.work.db.pushDevice.findMany({ where: visibleTo(ctx), orderBy: { id: 'desc' } });

/**
 * Registers a device that receives the viewer's notifications until the session or API key of the request ends. A device with
 * the same endpoint is the same browser, so it is replaced, even if it belongs to another user of the organization. Several users
 * can register the same token of an app. A token that a client device has registered with the same API key stays there, encrypted.
 *
 * @throws ForbiddenError for a bot.
 * @throws ValidationError if a value is invalid, or if the service sends no requests to the endpoint.
 * @throws TotalReachedError if the viewer would have more than 50 devices.
 */
export async function registerPushDevice(ctx: Ctx, given: NewPushDevice): Promise<PushDevice> {
  requirePerson(ctx);
  const { app, organizationId, viewer } = ctx;
  const { credential } = viewer;
  const target = targetOf(ctx, given);
  const { endpointHash } = target;
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    if (target.kind === 'web') await storePushKeys(tx, app, organizationId);
    const known = await tx.pushDevice.findUnique({
      where: { organizationId_endpointHash: { organizationId, endpointHash } },
    });
    if (known !== null && isOfSameCredential(known, ctx) && (known.isClientDevice || isSame(known, target))) {
      return known.kind === 'web' ? known : registeredAgain(tx, emit, known, app.now());
    }
    if (known !== null) await endToken(tx, emit, known);
    requireWithin('push_devices', 1 + (await tx.pushDevice.count({ where: visibleTo(ctx) })));
    return tx.pushDevice.create({
      data: {
        ...{ organizationId, userId: viewer.id, ...target, createdAt: app.now() },
        ...(credential?.kind === 'session' ? { sessionId: credential.id } : {}),
        ...(credential?.kind === 'key' ? { keyHash: credential.hash } : {}),
      },
    });
  });
}

/**
 * Removes the viewer's device with a token. A client device keeps its registration, without the token.
 *
 * @throws ForbiddenError for a bot.
 * @throws ValidationError if it is not a token of this kind.
 * @throws NotFoundError if the viewer has not registered the token.
 */
export async function removePushToken(ctx: Ctx, kind: PhoneKind, token: string): Promise<void> {
  requirePerson(ctx);
  const { organizationId, viewer } = ctx;
  const { endpointHash } = phoneEndpoint(viewer.id, kind, requireToken(kind, token));
  await transact(ctx, async (tx, emit) => {
    const device = await tx.pushDevice.findUnique({
      where: { organizationId_endpointHash: { organizationId, endpointHash } },
    });
    if (device === null) throw new NotFoundError('Token does not exist', { parameter: 'token' });
    await endToken(tx, emit, device);
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
  await transact(ctx, async (tx, emit) => {
    const where = { id: deviceId, ...visibleTo(ctx) };
    const device = await tx.pushDevice.findFirst({ where, select: { isClientDevice: true } });
    const { count } = await tx.pushDevice.deleteMany({ where });
    if (device === null || count === 0) throw noSuchDevice;
    if (device.isClientDevice) emit(deviceRemoved(deviceId), users([ctx.viewer.id]));
  });
}

const isSame = (known: PushDevice, { publicKey, authSecret, appId, name }: Target): boolean =>
  known.publicKey === publicKey && known.authSecret === authSecret && known.appId === appId && known.name === name;

const isOfSameCredential = (known: PushDevice, { viewer: { id, credential } }: Ctx): boolean =>
  known.userId === id &&
  (credential?.kind === 'session'
    ? known.sessionId === credential.id
    : credential?.kind === 'key' && known.keyHash !== null && Buffer.from(known.keyHash).equals(credential.hash));

/** Checks a new device. @throws ValidationError if a value is invalid. */
function targetOf(ctx: Ctx, given: NewPushDevice): Target {
  const name = requireText('name', given.name, { strip: true, min: 1, max: MAX_NAME_LENGTH });
  if (given.kind !== 'web') {
    const { kind, token, appId } = given;
    return {
      ...phoneEndpoint(ctx.viewer.id, kind, requireToken(kind, token)),
      ...{ publicKey: '', authSecret: '', name },
      appId: kind === 'apns' && appId !== undefined ? requireAppId(appId) : null,
    };
  }
  const checkedDevice = checked(ctx, given);
  const endpointHash = new Uint8Array(createHash('sha256').update(checkedDevice.endpoint).digest());
  return { kind: 'web', ...checkedDevice, endpointHash, appId: null, name };
}

type WebKeys = Pick<NewWebDevice, 'endpoint' | 'publicKey' | 'authSecret'>;

function checked({ app }: Ctx, { endpoint, publicKey, authSecret }: WebKeys): WebKeys {
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
  return { endpoint, publicKey: key, authSecret: secret };
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
