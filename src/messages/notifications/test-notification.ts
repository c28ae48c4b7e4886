import type { Ctx } from '../../access/context.ts';
import { requirePerson } from '../../access/roles.ts';
import { transact } from '../../events/log.ts';
import type { Prisma, PushDevice } from '../../generated/prisma/client.ts';
import { NotFoundError, RequestTimeoutError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { pushMessages } from '../../platform/metrics.ts';
import { phoneKindsOf } from '../../platform/push/phones.ts';
import { visibleTo } from './devices.ts';
import { NoActivePushDeviceError, PushServiceNotConfiguredError } from './errors.ts';
import { sendToPhone, testMessageOf } from './phone-message.ts';
import { endToken } from './phone-tokens.ts';

/** Maximum duration of the attempts, in milliseconds. */
const ATTEMPT_MS = 10_000;

/** The apps to which a test notification is sent. */
export type TestTarget =
  | { readonly deviceId: number }
  | { readonly token: string }
  /** All apps of the viewer that have a key, or all that have none. */
  | { readonly isEncrypted: boolean }
  | 'all';

/**
 * Sends a test notification to apps of the viewer, at once and without a second attempt. A token that its push service does not
 * know any more is removed.
 *
 * @returns The number of apps for which a push service accepted the notification. At least 1.
 * @throws ForbiddenError for a bot.
 * @throws PushServiceNotConfiguredError if the operator has configured no push service of phones.
 * @throws NotFoundError if no app has this token.
 * @throws NoActivePushDeviceError if there is no such app.
 * @throws RequestTimeoutError if no push service accepted the notification.
 */
export async function sendTestNotification(ctx: Ctx, target: TestTarget): Promise<number> {
  requirePerson(ctx);
  const { app, work, viewer } = ctx;
  const kinds = phoneKindsOf(app.config);
  if (kinds.length === 0) throw new PushServiceNotConfiguredError();
  const devices = await work.db.pushDevice.findMany({
    where: { ...visibleTo(ctx), kind: { in: kinds }, ...whereOf(target) },
  });
  if (devices.length === 0 && typeof target === 'object' && 'token' in target) {
    throw new NotFoundError('Device not recognized', { parameter: 'token' });
  }
  if (devices.length === 0) throw new NoActivePushDeviceError();
  const message = testMessageOf(app, viewer.organization, viewer.id);
  const signal = AbortSignal.timeout(ATTEMPT_MS);
  const kindsOfOutcomes = await Promise.all(
    devices.map(async (device): Promise<string> => {
      const outcome = await sendToPhone(app, device, message, signal);
      pushMessages.inc({ outcome: outcome.kind });
      if (outcome.kind === 'gone') await forget(device);
      return outcome.kind;
    }),
  );
  const count = kindsOfOutcomes.filter((kind) => kind === 'sent').length;
  if (count > 0) return count;
  if (kindsOfOutcomes.every((kind) => kind === 'gone')) throw new NoActivePushDeviceError();
  throw new RequestTimeoutError('The push service did not accept the notification, please try again');

  async function forget(device: PushDevice): Promise<void> {
    await transact(ctx, (tx, emit) => endToken(tx, emit, device));
  }
}

function whereOf(target: TestTarget): Prisma.PushDeviceWhereInput {
  if (target === 'all') return {};
  if ('deviceId' in target) return { id: isRowId(target.deviceId) ? target.deviceId : -1 };
  if ('token' in target) {
    const { token } = target;
    return { endpoint: { in: [`fcm:${token}`, `apns:${token.toLowerCase()}`] } };
  }
  return { pushKeyId: target.isEncrypted ? { not: null } : null };
}
