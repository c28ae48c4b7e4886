import { z } from 'zod';
import type { Ctx } from '../../access/context.ts';
import { endpoint } from '../../api/rest/endpoint.ts';
import { json, text } from '../../api/rest/params.ts';
import { PHONE_KINDS, type PhoneKind } from '../../platform/push/phones.ts';
import { configureClientDevice, registerClientDevice, removeClientDevice } from './client-devices.ts';
import { registerPushDevice, removePushToken } from './devices.ts';
import { sendTestNotification } from './test-notification.ts';

const token = text(z.string(), {
  description: 'Token that the push service gave to the app. At most 4,096 characters.',
  example: '740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad',
});
const deviceId = json(z.int(), { description: 'Device id.', example: '1' });

/** Names under which apps without a name of their own are listed. */
const NAMES: Readonly<Record<PhoneKind, string>> = { fcm: 'Android device', apns: 'Apple device' };

const addToken = async (ctx: Ctx, kind: PhoneKind, given: { readonly token: string; readonly appid?: string }) =>
  void (await registerPushDevice(ctx, { kind, token: given.token, appId: given.appid, name: NAMES[kind] }));

export const postClientDevice = endpoint({
  method: 'POST',
  path: '/register_client_device',
  auth: 'basic',
  equivalents: ['registerClientDevice'],
  summary: 'Register an app',
  description:
    'The app can then register a key and a token for encrypted push notifications with `POST /mobile_push/register`. The ' +
    'registration ends with the API key of the request.',
  params: {},
  reply: { device_id: z.int() },
  async handle(ctx) {
    const { id } = await registerClientDevice(ctx, 'Mobile app');
    return { device_id: id };
  },
});

export const postRemovedClientDevice = endpoint({
  method: 'POST',
  path: '/remove_client_device',
  auth: 'basic',
  equivalents: ['removePushDevice'],
  summary: 'Remove an app',
  params: { device_id: deviceId },
  reply: {},
  handle: (ctx, { device_id }) => removeClientDevice(ctx, device_id),
});

export const postPushRegistration = endpoint({
  method: 'POST',
  path: '/mobile_push/register',
  auth: 'basic',
  equivalents: ['configurePushDevice'],
  summary: 'Register for encrypted push notifications',
  description:
    'Sets the key and the token of an app. The first call must have the parameters of both, later calls can have those of one. ' +
    'Notifications are JSON, encrypted with the key (XSalsa20 and Poly1305), and sent as `push_key_id` and `encrypted_data`. ' +
    'If the token cannot be decrypted, the request succeeds, and the event `device` has an error code.',
  params: {
    device_id: deviceId,
    push_key_id: json(z.int(), {
      description: 'Number by which the app identifies the key: 32 bits, unsigned.',
      example: '2408',
    }).optional(),
    push_key: text(z.string(), {
      description: 'The byte 0x31 and a secret key of 32 bytes, in base64.',
      example: 'MTaUDJDMWypQ1WufZ1NRTHSSvgYtXh1qVNSjN3aBiEFt',
    }).optional(),
    token_kind: text(z.enum(PHONE_KINDS), { description: 'Push service of the token.', example: 'fcm' }).optional(),
    token_id: text(z.string(), {
      description: 'First 8 bytes of the SHA-256 of the token, in base64.',
      example: 'hGsEWGmyyfI=',
    }).optional(),
    bouncer_public_key: text(z.string(), {
      description: 'Public key with which the registration is encrypted (X25519), in base64.',
      example: 'JWGRqjBUaTKPHqJv3ZRVKNnHMy9n9eh0pUO8BlVCx04=',
    }).optional(),
    encrypted_push_registration: text(z.string(), {
      description:
        'JSON with `token`, `token_kind`, `timestamp` (UNIX seconds) and `ios_app_id` (Apple devices only), encrypted with the ' +
        'public key as a sealed box, in base64.',
      example: 'YQ==',
    }).optional(),
  },
  reply: {},
  async handle(ctx, values) {
    await configureClientDevice(ctx, values.device_id, {
      pushKeyId: values.push_key_id,
      pushKey: values.push_key,
      tokenKind: values.token_kind,
      tokenId: values.token_id,
      registrationKey: values.bouncer_public_key,
      encryptedRegistration: values.encrypted_push_registration,
    });
  },
});

export const postEncryptedTestNotification = endpoint({
  method: 'POST',
  path: '/mobile_push/e2ee/test_notification',
  auth: 'basic',
  ignoresIdempotencyKey: true,
  equivalents: ['sendTestNotification'],
  summary: 'Send an encrypted test notification',
  params: {
    device_id: json(z.int(), { description: 'Device id. Absent: all apps with a key.', example: '1' }).optional(),
  },
  reply: {},
  async handle(ctx, { device_id }) {
    await sendTestNotification(ctx, device_id === undefined ? { isEncrypted: true } : { deviceId: device_id });
  },
});

export const postTestNotification = endpoint({
  method: 'POST',
  path: '/mobile_push/test_notification',
  auth: 'basic',
  ignoresIdempotencyKey: true,
  equivalents: ['sendTestNotification'],
  summary: 'Send a test notification',
  params: {
    token: text(z.string(), { description: 'Token of the app. Absent: all apps without a key.' }).optional(),
  },
  reply: {},
  async handle(ctx, { token: given }) {
    await sendTestNotification(ctx, given === undefined ? { isEncrypted: false } : { token: given });
  },
});

export const postApnsToken = endpoint({
  method: 'POST',
  path: '/users/me/apns_device_token',
  auth: 'basic',
  equivalents: ['registerPushDevice(kind:)'],
  summary: 'Add the token of an Apple device',
  description:
    'The app receives your notifications, unencrypted, until the API key of the request ends. They are sent once the operator ' +
    'has configured the push service.',
  params: {
    token,
    appid: text(z.string(), { description: 'Bundle id of the app.', example: 'com.example.chat' }).optional(),
  },
  reply: {},
  handle: (ctx, given) => addToken(ctx, 'apns', given),
});

export const deleteApnsToken = endpoint({
  method: 'DELETE',
  path: '/users/me/apns_device_token',
  auth: 'basic',
  equivalents: ['removePushDevice'],
  summary: 'Remove the token of an Apple device',
  params: { token },
  reply: {},
  handle: (ctx, given) => removePushToken(ctx, 'apns', given.token),
});

export const postFcmToken = endpoint({
  method: 'POST',
  path: '/users/me/android_gcm_reg_id',
  auth: 'basic',
  equivalents: ['registerPushDevice(kind:)'],
  summary: 'Add the token of an Android device',
  description:
    'The app receives your notifications, unencrypted, until the API key of the request ends. They are sent once the operator ' +
    'has configured the push service.',
  params: { token },
  reply: {},
  handle: (ctx, given) => addToken(ctx, 'fcm', given),
});

export const deleteFcmToken = endpoint({
  method: 'DELETE',
  path: '/users/me/android_gcm_reg_id',
  auth: 'basic',
  equivalents: ['removePushDevice'],
  summary: 'Remove the token of an Android device',
  params: { token },
  reply: {},
  handle: (ctx, given) => removePushToken(ctx, 'fcm', given.token),
});
