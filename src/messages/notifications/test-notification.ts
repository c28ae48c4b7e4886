import type { Ctx } from '../../access/context.ts';
import { requirePerson } from '../../access/roles.ts';
import { transact } from '../../events/log.ts';
import type { PushDevice } from '../../generated/prisma/client.ts';
import { NotFoundError, RequestTimeoutError } from '../../platform/errors.ts';
import { pushMessages } from '../../platform/metrics.ts';
import type { PushOutcome } from '../../platform/push/outcome.ts';
import { type PhoneKind, phoneKindsOf } from '../../platform/push/phones.ts';
import { readDevices } from './devices.ts';
import { NoActivePushDeviceError, PushServiceNotConfiguredError, PushServiceRefusedError } from './errors.ts';
import { sendToPhone, testMessageOf } from './phone-message.ts';
import { tokenOf } from './phone-registration.ts';
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
 * @throws RequestTimeoutError if no push service accepted the notification, but one can accept it later.
 * @throws PushServiceRefusedError if all push services refused the notification.
 */
export async function sendTestNotification(ctx: Ctx, target: TestTarget): Promise<number> {
  requirePerson(ctx);
  const { app, work, viewer } = ctx;
  if (phoneKindsOf(app.config).length === 0) throw new PushServiceNotConfiguredError();
  const readable = await readDevices(app, work.db, { organizationId: viewer.organization.id, userId: viewer.id });
  const devices = readable.filter((device) => device.kind !== 'web' && isTarget(device, target));
  if (devices.length === 0 && typeof target === 'object' && 'token' in target) {
    throw new NotFoundError('Device not recognized', { parameter: 'token' });
  }
  if (devices.length === 0) throw new NoActivePushDeviceError();
  const message = testMessageOf(app, viewer.organization, viewer.id);
  const signal = AbortSignal.timeout(ATTEMPT_MS);
  const outcomes = await Promise.all(
    devices.map(async (device): Promise<PushOutcome> => {
      const outcome = await sendToPhone(app, device, message, signal);
      pushMessages.inc({ outcome: outcome.kind });
      if (outcome.kind === 'gone') await forget(device);
      if (outcome.kind === 'refused' || outcome.kind === 'failed') {
        const { id, kind: service, organizationId: organization } = device;
        app.log.warn(
          { organization, device: id, service, reason: outcome.reason },
          'test notification was not accepted',
        );
      }
      return outcome;
    }),
  );
  const count = outcomes.filter(({ kind }) => kind === 'sent').length;
  if (count > 0) return count;
  if (outcomes.every(({ kind }) => kind === 'gone')) throw new NoActivePushDeviceError();
  if (outcomes.some((outcome) => outcome.kind === 'failed' && !outcome.isRefusal)) {
    throw new RequestTimeoutError('The push service did not accept the notification, please try again');
  }
  throw new PushServiceRefusedError();

  async function forget(device: PushDevice): Promise<void> {
    await transact(ctx, (tx, emit) => endToken(tx, emit, device));
  }
}

function isTarget({ id, kind, endpoint, pushKeyId }: PushDevice, target: TestTarget): boolean {
  if (target === 'all') return true;
  if ('deviceId' in target) return id === target.deviceId;
  if ('isEncrypted' in target) return (pushKeyId !== null) === target.isEncrypted;
  const token = tokenOf(kind as PhoneKind, target.token);
  return token !== undefined && endpoint === `${kind}:${token}`;
}
