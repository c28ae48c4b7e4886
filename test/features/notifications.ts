import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { numberOf } from '../helpers/global-ids.ts';

/** A device at a push service that does not exist. */
const device = () => ({
  endpoint: `https://push.invalid/${encodeURIComponent(fresh())}`,
  publicKey: 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM',
  authSecret: 'tBHItJI5svbpez7KI4CCXg',
  name: 'A browser',
});

const [APNS_TOKEN, FCM_TOKEN] = ['ab'.repeat(32), 'a-token-of-fcm'];
const PUSH_KEY = 'MTaUDJDMWypQ1WufZ1NRTHSSvgYtXh1qVNSjN3aBiEFt';
const REGISTRATION_KEY = 'JWGRqjBUaTKPHqJv3ZRVKNnHMy9n9eh0pUO8BlVCx04=';
const NOT_CONFIGURED = { refusal: 'Server is not configured to use push notification service.' };

export const notifications: FeatureTests = {
  rest: {
    'POST /register_client_device': () => [{}],
    'POST /mobile_push/register': ({ clientDeviceId }) => [
      {
        ...NOT_CONFIGURED,
        parameters: {
          ...{
            device_id: clientDeviceId,
            push_key_id: 2408,
            push_key: PUSH_KEY,
            token_kind: 'fcm',
            token_id: 'hGsEWGmyyfI=',
          },
          ...{ bouncer_public_key: REGISTRATION_KEY, encrypted_push_registration: 'YQ==' },
        },
      },
    ],
    'POST /mobile_push/e2ee/test_notification': ({ clientDeviceId }) => [
      { ...NOT_CONFIGURED, parameters: { device_id: clientDeviceId } },
    ],
    'POST /mobile_push/test_notification': () => [{ ...NOT_CONFIGURED, parameters: { token: 'token' } }],
    'POST /remove_client_device': ({ clientDeviceId }) => [{ parameters: { device_id: clientDeviceId } }],
    'POST /users/me/apns_device_token': () => [{ parameters: { token: APNS_TOKEN, appid: 'org.example.chat' } }],
    'DELETE /users/me/apns_device_token': () => [{ parameters: { token: APNS_TOKEN } }],
    'POST /users/me/android_gcm_reg_id': () => [{ parameters: { token: FCM_TOKEN } }],
    'DELETE /users/me/android_gcm_reg_id': () => [{ parameters: { token: FCM_TOKEN } }],
  },
  queries: {
    pushDevices: () => [PAGE],
    pushPublicKey: () => [{}],
  },
  mutations: {
    registerPushDevice: () => [
      device(),
      { kind: 'APNS', token: APNS_TOKEN, appId: 'org.example.chat', name: 'A phone' },
    ],
    registerClientDevice: () => [{ name: 'A phone' }],
    configurePushDevice: ({ clientDeviceId }) => [
      {
        pushDeviceId: clientDeviceId,
        ...{ pushKeyId: '2408', pushKey: PUSH_KEY, tokenKind: 'FCM', tokenId: 'hGsEWGmyyfI=' },
        ...{ registrationKey: REGISTRATION_KEY, encryptedRegistration: 'YQ==' },
      },
    ],
    sendTestNotification: ({ clientDeviceId }) => [{ pushDeviceId: clientDeviceId }],
    removePushDevice: ({ pushDeviceId }) => [{ pushDeviceId }],
  },
  refusals: {
    configurePushDevice: NOT_CONFIGURED.refusal,
    sendTestNotification: NOT_CONFIGURED.refusal,
  },
  nodes: ({ pushDeviceId }) => ({ PushDevice: pushDeviceId }),
  objects: {
    pushDeviceId: async (owner) =>
      numberOf((await owner.mutate('registerPushDevice', device(), 'pushDevice { id }')).pushDevice.id),
    clientDeviceId: async (owner) => (await owner.ok('POST', '/register_client_device')).device_id,
  },
  ownChanges: {
    'an app': async (user) => {
      const { device_id } = await user.ok('POST', '/register_client_device');
      return {
        'a new one': () => user.ok('POST', '/register_client_device'),
        'one removed': () => user.ok('POST', '/remove_client_device', { device_id }),
      };
    },
  },
  rules: {
    'device/add': (state, { device_id }) => {
      state['devices'][device_id] = {
        ...{ push_key_id: null, push_token_id: null, pending_push_token_id: null },
        ...{ push_token_last_updated_timestamp: null, push_registration_error_code: null },
      };
    },
    'device/update': (state, { id: _id, type: _type, op: _op, device_id, ...changed }) => {
      Object.assign(state['devices'][device_id], changed);
    },
    'device/remove': (state, { device_id }) => {
      delete state['devices'][device_id];
    },
  },
};

declare module '../helpers/scene.ts' {
  interface Names {
    readonly pushDeviceId: number;
    readonly clientDeviceId: number;
  }
}
