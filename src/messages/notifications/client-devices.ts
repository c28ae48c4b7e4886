import type { Ctx } from '../../access/context.ts';
import { requirePerson } from '../../access/roles.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import { Prisma, type PushDevice } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { ForbiddenError, NotFoundError, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { type PhoneKind, phoneKindsOf } from '../../platform/push/phones.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import type { NotificationApp } from './decide.ts';
import { isSignedIn, MAX_NAME_LENGTH, visibleTo } from './devices.ts';
import { PushServiceNotConfiguredError } from './errors.ts';
import { deviceAdded, deviceRemoved, deviceUpdated } from './events.ts';
import {
  type GivenPushKey,
  type GivenToken,
  openRegistration,
  type PushKey,
  type Registration,
  requirePushKey,
  requireTokenId,
} from './phone-registration.ts';
import { endToken, phoneEndpoint, registeredAgain, withoutToken } from './phone-tokens.ts';

// Client devices are apps that register themselves first, and then the key and the token for encrypted push notifications.

/** Number of ended devices that one call deletes in each organization. */
const ENDED_AT_ONCE = 2_000;

/**
 * Registers an app that can later register a key and a token. The registration ends with the API key of the request.
 *
 * @throws ForbiddenError for a bot, or in a session.
 * @throws TotalReachedError if the viewer would have more than 50 devices.
 */
export async function registerClientDevice(ctx: Ctx, name: string): Promise<PushDevice> {
  requirePerson(ctx);
  const { app, organizationId, viewer } = ctx;
  const { credential } = viewer;
  if (credential?.kind !== 'key') throw new ForbiddenError('Apps register their devices with an API key.');
  const data = {
    ...{ organizationId, userId: viewer.id, keyHash: credential.hash, publicKey: '', authSecret: '' },
    ...{ isClientDevice: true, createdAt: app.now() },
    name: requireText('name', name, { strip: true, min: 1, max: MAX_NAME_LENGTH }),
  };
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    requireWithin('push_devices', 1 + (await tx.pushDevice.count({ where: visibleTo(ctx) })));
    const device = await tx.pushDevice.create({ data: { ...data, ...withoutToken() } });
    emit(deviceAdded(device.id), users([viewer.id]));
    return device;
  });
}

/** A key, a token, or both, for the notifications of a client device: all values of the key, all of the token, or all. */
export interface DeviceConfiguration {
  readonly pushKeyId?: number | undefined;
  readonly pushKey?: string | undefined;
  readonly tokenKind?: PhoneKind | undefined;
  readonly tokenId?: string | undefined;
  readonly registrationKey?: string | undefined;
  readonly encryptedRegistration?: string | undefined;
}

/**
 * Sets the key, the token, or both, of one of the viewer's client devices. The first call must set both. A token that cannot be
 * decrypted is no error of the call: the device then has an error code, and the former token stays. Another device of the viewer
 * with the same token loses it.
 *
 * @throws ForbiddenError for a bot.
 * @throws PushServiceNotConfiguredError if the operator has not configured the push service, or no key for registrations.
 * @throws NotFoundError if the device does not exist, or belongs to another user.
 * @throws ValidationError if a value is invalid, or if a key or token is missing.
 */
export async function configureClientDevice(
  ctx: Ctx,
  deviceId: number,
  configuration: DeviceConfiguration,
): Promise<PushDevice> {
  requirePerson(ctx);
  const { app, organizationId, viewer } = ctx;
  const kinds = phoneKindsOf(app.config);
  const { tokenKind } = configuration;
  const isConfigured = tokenKind === undefined ? kinds.length > 0 : kinds.includes(tokenKind);
  if (!isConfigured || app.config.pushRegistrationKeys.length === 0) throw new PushServiceNotConfiguredError();
  const { pushKey, token } = partsOf(configuration);
  const key = pushKey && requirePushKey(pushKey);
  const tokenId = token && requireTokenId(token.id);
  const registration = token && (await openRegistration(ctx, token));
  return transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const where = { id: deviceId, isClientDevice: true, ...visibleTo(ctx) };
    const before = isRowId(deviceId) ? await tx.pushDevice.findFirst({ where }) : null;
    if (before === null) throw noSuchDevice(deviceId);
    if (before.pushKey === null && (key === undefined || token === undefined)) throw missing();
    const isSameKey = key === undefined || isEqual(key, before);
    const isSameToken = tokenId === undefined || (tokenId === before.tokenId && before.registrationError === null);
    const isRepeated = isSameToken && registration !== undefined && !('error' in registration);
    if (isSameKey && isSameToken) return isRepeated ? registeredAgain(tx, emit, before, app.now()) : before;
    const changes =
      token === undefined || registration === undefined || tokenId === undefined || isSameToken
        ? { ...(isRepeated && { tokenUpdatedAt: app.now() }) }
        : changesOf(viewer.id, { kind: token.kind, tokenId, registration, now: app.now() });
    const data = { ...key, ...changes };
    if (data.endpointHash !== undefined) await leaveToken(tx, emit, before, data.endpointHash);
    const device = await tx.pushDevice.update({ where: { organizationId_id: { organizationId, id: deviceId } }, data });
    emit(deviceUpdated(deviceId, before, device), users([viewer.id]));
    return device;
  });
}

/** Returns the key and the token of a configuration. @throws ValidationError if values of one are missing, or both are. */
function partsOf(configuration: DeviceConfiguration): {
  readonly pushKey: GivenPushKey | undefined;
  readonly token: GivenToken | undefined;
} {
  const { pushKeyId, pushKey, tokenKind, tokenId, registrationKey, encryptedRegistration } = configuration;
  const tokenValues = [tokenKind, tokenId, registrationKey, encryptedRegistration];
  const hasKey = pushKeyId !== undefined && pushKey !== undefined;
  const isTokenAbsent = tokenValues.every((value) => value === undefined);
  if (!hasKey && (isTokenAbsent || pushKeyId !== undefined || pushKey !== undefined)) throw missing();
  const key = hasKey ? { id: pushKeyId, key: pushKey } : undefined;
  if (isTokenAbsent) return { pushKey: key, token: undefined };
  if (
    tokenKind === undefined ||
    tokenId === undefined ||
    registrationKey === undefined ||
    encryptedRegistration === undefined
  ) {
    throw missing();
  }
  return { pushKey: key, token: { kind: tokenKind, id: tokenId, registrationKey, encryptedRegistration } };
}

const isEqual = ({ pushKeyId, pushKey }: PushKey, before: PushDevice): boolean =>
  pushKeyId === before.pushKeyId && before.pushKey !== null && Buffer.from(pushKey).equals(before.pushKey);

interface OpenedToken {
  readonly kind: PhoneKind;
  readonly tokenId: string;
  readonly registration: Registration;
  readonly now: Date;
}

/** Returns the changes of the columns of a device by the registration of a token. */
function changesOf(
  userId: number,
  { kind, tokenId, registration, now }: OpenedToken,
): Partial<Omit<PushDevice, 'id' | 'pushKey' | 'keyHash'>> & { endpointHash?: Uint8Array<ArrayBuffer> } {
  if ('error' in registration) {
    return { pendingTokenId: tokenId, tokenUpdatedAt: now, registrationError: registration.error };
  }
  const { token, appId } = registration;
  return {
    ...{ ...phoneEndpoint(userId, kind, token), appId },
    ...{ tokenId, pendingTokenId: null, tokenUpdatedAt: now, registrationError: null },
  };
}

/** Removes a token from the other device of the user that has it. A device that consists of its token only is deleted. */
async function leaveToken(
  tx: Tx,
  emit: Emit,
  { organizationId, id }: PushDevice,
  endpointHash: Uint8Array<ArrayBuffer>,
): Promise<void> {
  const other = await tx.pushDevice.findUnique({
    where: { organizationId_endpointHash: { organizationId, endpointHash } },
  });
  if (other !== null && other.id !== id) await endToken(tx, emit, other);
}

/**
 * Removes one of the viewer's client devices.
 *
 * @throws NotFoundError if the device does not exist, is no client device, or belongs to another user.
 */
export async function removeClientDevice(ctx: Ctx, deviceId: number): Promise<void> {
  if (!isRowId(deviceId)) throw noSuchDevice(deviceId);
  await transact(ctx, async (tx, emit) => {
    const where = { id: deviceId, isClientDevice: true, ...visibleTo(ctx) };
    const { count } = await tx.pushDevice.deleteMany({ where });
    if (count === 0) throw noSuchDevice(deviceId);
    emit(deviceRemoved(deviceId), users([ctx.viewer.id]));
  });
}

/**
 * Deletes the client devices whose API key has ended, and notifies their users. If this fails in an organization, it is logged,
 * and the others continue.
 */
export async function removeEndedClientDevices({ db, log, work, now }: NotificationApp): Promise<void> {
  const ended = await readRows<{ id: number; organizationId: number; userId: number }>(
    db,
    Prisma.sql`
    SELECT d.id, d.realm_id AS "organizationId", d.user_id AS "userId" FROM push_device d
    WHERE d.is_client_device AND NOT ${isSignedIn(now(), Prisma.sql`d.realm_id`)}
      AND NOT EXISTS (SELECT FROM realm_move v WHERE v.realm_id = d.realm_id OFFSET 0)
    LIMIT ${ENDED_AT_ONCE}`,
  );
  for (const organizationId of new Set(ended.map((one) => one.organizationId))) {
    try {
      await transact({ work, organizationId }, async (tx, emit) => {
        for (const { id, userId } of ended.filter((one) => one.organizationId === organizationId)) {
          const { count } = await tx.pushDevice.deleteMany({ where: { organizationId, id } });
          if (count > 0) emit(deviceRemoved(id), users([userId]));
        }
      });
    } catch (err) {
      log.warn({ err, organization: organizationId }, 'ended devices could not be deleted');
    }
  }
}

const noSuchDevice = (id: number): NotFoundError =>
  new NotFoundError('Invalid `device_id`', {
    ...{ type: 'PushDevice', id, parameter: 'device_id' },
    schemaMessage: 'The device does not exist, or is no client device',
  });

const missing = (): ValidationError =>
  new ValidationError('Missing parameters: must provide either all push key fields, all token fields, or both.', {
    schemaMessage: 'Either a key, a token, or both are required, and both in the first call',
  });
