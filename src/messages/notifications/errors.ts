import { defineError } from '../../platform/errors.ts';

/** Error if the operator has not configured the push service of a phone. */
export class PushServiceNotConfiguredError extends defineError('PUSH_SERVICE_NOT_CONFIGURED', () => ({
  message: 'Server is not configured to use push notification service.',
})) {}

/** Error if a push service refuses a test notification for good, or the credentials of this server. */
export class PushServiceRefusedError extends defineError('PUSH_SERVICE_REFUSED', () => ({
  message: 'The push service refused the notification. The log of the server says why.',
})) {}

/** Error if the viewer has no device that can receive a test notification. */
export class NoActivePushDeviceError extends defineError('NO_ACTIVE_PUSH_DEVICE', () => ({
  message: 'No active registered push device',
})) {}
