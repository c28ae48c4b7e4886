import { z } from 'zod';
import type { PushDevice } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';

/** State of the registration of an app for encrypted push notifications. */
export const wireDevice = z
  .object({
    push_key_id: z.int().nullable().describe('Id of the key with which notifications are encrypted.'),
    push_token_id: z.string().nullable().describe('Id of the token to which notifications are sent.'),
    pending_push_token_id: z.string().nullable().describe('Id of the token of the last registration, if it failed.'),
    push_token_last_updated_timestamp: z
      .int()
      .nullable()
      .describe('Time of the last registration of a token, in UNIX seconds.'),
    push_registration_error_code: z
      .string()
      .nullable()
      .describe(
        'Why the last registration of a token failed: `INVALID_BOUNCER_PUBLIC_KEY` (the server does not have the key), ' +
          '`REQUEST_EXPIRED` (its timestamp is too old), or `BAD_REQUEST`.',
      ),
  })
  .meta({ id: 'ClientDevice' });
export type WireDevice = Wire<typeof wireDevice>;

/** The columns of a device that its registration state consists of. */
export type RegistrationState = Pick<
  PushDevice,
  'pushKeyId' | 'tokenId' | 'pendingTokenId' | 'tokenUpdatedAt' | 'registrationError'
>;

export const toWire = (device: RegistrationState): WireDevice => ({
  push_key_id: device.pushKeyId === null ? null : Number(device.pushKeyId),
  push_token_id: device.tokenId,
  pending_push_token_id: device.pendingTokenId,
  push_token_last_updated_timestamp:
    device.tokenUpdatedAt === null ? null : Math.floor(device.tokenUpdatedAt.getTime() / 1000),
  push_registration_error_code: device.registrationError,
});
