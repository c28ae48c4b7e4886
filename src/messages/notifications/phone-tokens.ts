import { createHash, randomUUID } from 'node:crypto';
import { users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { PushDevice } from '../../generated/prisma/client.ts';
import type { Config } from '../../platform/config.ts';
import type { Tx } from '../../platform/db/client.ts';
import { type PhoneKind, phoneKindsOf } from '../../platform/push/phones.ts';
import { deviceUpdated } from './events.ts';

/** Returns the kinds of devices to which the service can send push messages. */
export const deviceKindsOf = (config: Pick<Config, 'apns' | 'fcm'>): string[] => ['web', ...phoneKindsOf(config)];

/** Returns the endpoint of the app with a token, by which devices with the same token are found, and its hash. */
export function phoneEndpoint(userId: number, kind: PhoneKind, token: string) {
  const endpoint = `${kind}:${token}`;
  return { kind, endpoint, endpointHash: hashOf(`${userId} ${endpoint}`) };
}

/** Returns the values of the columns of a device without a token. */
export function withoutToken() {
  const endpoint = `none:${randomUUID()}`;
  return {
    ...{ kind: 'none', endpoint, endpointHash: hashOf(endpoint), appId: null },
    ...{ tokenId: null, pendingTokenId: null, tokenUpdatedAt: null, registrationError: null },
  };
}

const hashOf = (text: string) => new Uint8Array(createHash('sha256').update(text).digest());

/**
 * Stores that the token of a device was registered again, so that an answer of its push service about an earlier registration
 * does not remove it. Repetitions within a second change nothing.
 */
export async function registeredAgain(tx: Tx, emit: Emit, device: PushDevice, now: Date): Promise<PushDevice> {
  const { organizationId, id, userId, createdAt, tokenUpdatedAt } = device;
  if (secondsOf(tokenUpdatedAt ?? createdAt) === secondsOf(now)) return device;
  const after = await tx.pushDevice.update({
    where: { organizationId_id: { organizationId, id } },
    data: { tokenUpdatedAt: now },
  });
  if (device.isClientDevice) emit(deviceUpdated(id, device, after), users([userId]));
  return after;
}

const secondsOf = (time: Date): number => Math.floor(time.getTime() / 1000);

/** Removes the token of a device, and deletes the device if it consists of the token only. */
export async function endToken(tx: Tx, emit: Emit, device: PushDevice): Promise<void> {
  const { organizationId, id, userId } = device;
  if (!device.isClientDevice) {
    await tx.pushDevice.deleteMany({ where: { organizationId, id } });
    return;
  }
  const [after] = await tx.pushDevice.updateManyAndReturn({
    where: { organizationId, id, endpointHash: device.endpointHash },
    data: withoutToken(),
  });
  if (after !== undefined) emit(deviceUpdated(id, device, after), users([userId]));
}
