import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOfList } from '../../api/graphql/schema/connection.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { RequestVariableMissingError, UnsupportedParametersError } from '../../platform/errors.ts';
import { configureClientDevice, registerClientDevice } from './client-devices.ts';
import {
  listPushDevices,
  type NewPushDevice,
  pushPublicKey,
  registerPushDevice,
  removePushDevice,
  visibleTo,
} from './devices.ts';
import { NoActivePushDeviceError, PushServiceNotConfiguredError, PushServiceRefusedError } from './errors.ts';
import { sendTestNotification } from './test-notification.ts';

const KINDS = {
  WEB: { value: 'web', description: 'Web Push or UnifiedPush.' },
  FCM: { value: 'fcm', description: 'Firebase Cloud Messaging.' },
  APNS: { value: 'apns', description: 'Apple Push Notification service.' },
} as const;

const PushDeviceKind = builder.enumType('PushDeviceKind', {
  description: 'Push service of a device.',
  values: { ...KINDS, NONE: { value: 'none', description: 'None yet: an app that has registered no token.' } },
});

const PushServiceKind = builder.enumType('PushServiceKind', {
  description: 'Push service that can be registered.',
  values: KINDS,
});

const PhoneServiceKind = builder.enumType('PhoneServiceKind', {
  description: 'Push service of phones.',
  values: { FCM: KINDS.FCM, APNS: KINDS.APNS },
});

const PushDevice = builder.prismaNode('PushDevice', {
  ...byNumber,
  description:
    'A browser or app that receives push notifications of the viewer, until its session or API key ends. Only the viewer can ' +
    'see it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the device, as it was registered.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of the registration.' }),
    lastSentAt: t.expose('lastSentAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last message that the push service accepted. Null if there is none.',
    }),
    databaseId: t.exposeInt('id', { description: 'Id in the REST API.' }),
    kind: t.field({
      type: PushDeviceKind,
      description: 'Push service of the device.',
      resolve: ({ kind }) => kind as 'web' | 'fcm' | 'apns' | 'none',
    }),
    endpoint: t.string({
      nullable: true,
      description: 'URL of the push service. Null for push services of phones.',
      resolve: ({ kind, endpoint }) => (kind === 'web' ? endpoint : null),
    }),
    pushKeyId: t.string({
      nullable: true,
      description:
        'Number of the key with which messages to the app are encrypted, in decimal. Null for browsers, whose messages are ' +
        'always encrypted, and for apps without a key.',
      resolve: ({ pushKeyId }) => pushKeyId?.toString() ?? null,
    }),
    tokenId: t.exposeString('tokenId', {
      nullable: true,
      description:
        'First 8 bytes of the SHA-256 of the token that `configurePushDevice` set, in base64. Null if there is none.',
    }),
    pendingTokenId: t.exposeString('pendingTokenId', {
      nullable: true,
      description:
        'Like `tokenId`, for the token of the last call of `configurePushDevice` if it was refused. Otherwise null.',
    }),
    tokenUpdatedAt: t.expose('tokenUpdatedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time of the last call of `configurePushDevice` with a token, or of a repeated call of `registerPushDevice`. Null if ' +
        'there is none.',
    }),
    registrationError: t.exposeString('registrationError', {
      nullable: true,
      description:
        'Why the last token was refused: `INVALID_BOUNCER_PUBLIC_KEY` (the server does not have the key), `REQUEST_EXPIRED` (its ' +
        'timestamp is too old), or `BAD_REQUEST`. Null if it was not.',
    }),
  }),
});
nodeModel('PushDevice', 'PushDevice', visibleTo);

builder.queryField('pushDevices', (t) =>
  t.connection(
    {
      type: PushDevice,
      description: "The viewer's devices with push notifications, the newest first.",
      resolve: async (_root, args, ctx) => pageOfList(await listPushDevices(signedIn(ctx)), args),
    },
    { name: 'PushDeviceConnection' },
    { name: 'PushDeviceEdge' },
  ),
);

builder.queryField('pushPublicKey', (t) =>
  t.string({
    nullable: true,
    description:
      'Public key with which push messages of the organization are signed (VAPID, RFC 8292): P-256, uncompressed, in ' +
      'base64url. Browsers need it as `applicationServerKey`.',
    resolve: (_root, _args, ctx) => pushPublicKey(signedIn(ctx)),
  }),
);

mutation('registerPushDevice', {
  description:
    'Registers a browser or app for push notifications: by its Web Push subscription or UnifiedPush endpoint, or by the token of a ' +
    'push service of phones. Web Push messages are encrypted (RFC 8291) JSON: `{"type": "message", "id", "messageId", "reason", ' +
    '"title", "body", "icon", "url", "sentAt"}`, or `{"type": "removal", "messageIds"}` once messages were read or deleted. ' +
    'Messages to tokens are not encrypted: see `configurePushDevice`. A device with the same endpoint is replaced. The ' +
    'registration ends with the session or API key of the request.',
  input: (t) => ({
    kind: t.field({
      type: PushServiceKind,
      required: false,
      defaultValue: 'web' as const,
      description: 'Push service. `WEB` requires an endpoint and keys, the others a token.',
    }),
    endpoint: t.string({
      required: false,
      description: 'URL of the push service: https, at most 2,000 characters, not a local address.',
    }),
    publicKey: t.string({
      required: false,
      description: 'Key `p256dh` of the subscription: a point of P-256, uncompressed, in base64url.',
    }),
    authSecret: t.string({
      required: false,
      description: 'Key `auth` of the subscription: 16 bytes in base64url.',
    }),
    token: t.string({
      required: false,
      description: 'Token that the push service of the phone gave to the app. At most 4,096 characters.',
    }),
    appId: t.string({
      required: false,
      description: 'Bundle id of the app, for `APNS`. Absent: that of the configuration of the server.',
    }),
    name: t.string({
      description: 'Name by which the viewer recognizes the device. Not blank. At most 100 characters.',
    }),
  }),
  payload: () => ({ pushDevice: { type: PushDevice, description: 'The registered device.' } }),
  resolve: async (ctx, { kind, name, ...given }) => ({
    pushDevice: await registerPushDevice(ctx, newDevice(kind ?? 'web', name, given)),
  }),
});

interface GivenTarget {
  readonly endpoint?: string | null | undefined;
  readonly publicKey?: string | null | undefined;
  readonly authSecret?: string | null | undefined;
  readonly token?: string | null | undefined;
  readonly appId?: string | null | undefined;
}

/** Returns the device with the values that its kind requires. @throws ValidationError if one is missing, or is for another kind. */
function newDevice(kind: 'web' | 'fcm' | 'apns', name: string, given: GivenTarget): NewPushDevice {
  const { endpoint, publicKey, authSecret, token, appId } = given;
  const required = (parameter: string, value: string | null | undefined): string => {
    if (value === undefined || value === null) throw new RequestVariableMissingError(parameter);
    return value;
  };
  const isForWeb = endpoint != null || publicKey != null || authSecret != null;
  if (kind === 'web') {
    if (token != null || appId != null)
      throw new UnsupportedParametersError([token != null ? 'token' : 'app_id', 'kind']);
    return {
      ...{ kind, name, endpoint: required('endpoint', endpoint) },
      ...{ publicKey: required('public_key', publicKey), authSecret: required('auth_secret', authSecret) },
    };
  }
  if (isForWeb) throw new UnsupportedParametersError(['endpoint', 'kind']);
  return { kind, name, token: required('token', token), appId: appId ?? undefined };
}

mutation('registerClientDevice', {
  description:
    'Registers an app that can then set a key and a token for encrypted notifications with `configurePushDevice`. The registration ' +
    'ends with the API key of the request. Sessions of browsers cannot register apps.',
  input: (t) => ({
    name: t.string({
      description: 'Name by which the viewer recognizes the device. Not blank. At most 100 characters.',
    }),
  }),
  payload: () => ({ pushDevice: { type: PushDevice, description: 'The registered device.' } }),
  resolve: async (ctx, { name }) => ({ pushDevice: await registerClientDevice(ctx, name) }),
});

errorType(PushServiceNotConfiguredError, 'The operator has not configured the push service of the phone.');

errorType(
  PushServiceRefusedError,
  'The push service refused the notification. Another attempt will fail until the operator acts.',
);
errorType(NoActivePushDeviceError, 'The viewer has no app that can receive the notification.');

mutation('configurePushDevice', {
  description:
    'Sets the key and the token of an app that `registerClientDevice` registered. The first call must set both. Notifications are ' +
    'JSON, encrypted with the key (XSalsa20 and Poly1305), and sent as `push_key_id` and `encrypted_data`. If the token cannot be ' +
    'decrypted, the payload has `registrationError`.',
  input: (t) => ({
    pushDeviceId: t.id({ ...refersTo('PushDevice'), description: "Id of one of the viewer's apps." }),
    pushKeyId: t.string({
      required: false,
      description: 'Number by which the app identifies the key, in decimal: 0 to 4294967295. Required with `pushKey`.',
    }),
    pushKey: t.string({
      required: false,
      description: 'New key: the byte 0x31 and a secret key of 32 bytes, in base64. Absent: unchanged.',
    }),
    tokenKind: t.field({
      type: PhoneServiceKind,
      required: false,
      description: 'Push service of the new token. Required with `tokenId`.',
    }),
    tokenId: t.string({
      required: false,
      description: 'First 8 bytes of the SHA-256 of the new token, in base64. Absent: unchanged.',
    }),
    registrationKey: t.string({
      required: false,
      description:
        'Public key of the server with which the registration is encrypted (X25519), in base64. Required with `tokenId`.',
    }),
    encryptedRegistration: t.string({
      required: false,
      description:
        'JSON with `token`, `token_kind` ("fcm" or "apns"), `timestamp` (UNIX seconds) and `ios_app_id` (Apple devices only), ' +
        'encrypted with the public key as a sealed box, in base64. At most 20,000 characters. Required with `tokenId`.',
    }),
  }),
  payload: () => ({ pushDevice: { type: PushDevice, description: 'The changed device.' } }),
  errors: [PushServiceNotConfiguredError],
  resolve: async (ctx, { pushDeviceId, pushKeyId, ...given }) => ({
    pushDevice: await configureClientDevice(ctx, pushDeviceId, {
      pushKeyId: pushKeyId == null ? undefined : /^\d{1,10}$/.test(pushKeyId) ? Number(pushKeyId) : -1,
      pushKey: given.pushKey ?? undefined,
      tokenKind: given.tokenKind ?? undefined,
      tokenId: given.tokenId ?? undefined,
      registrationKey: given.registrationKey ?? undefined,
      encryptedRegistration: given.encryptedRegistration ?? undefined,
    }),
  }),
});

mutation('sendTestNotification', {
  description: "Sends a test notification to the viewer's apps: those with tokens of push services of phones.",
  ignoresIdempotencyKey: true,
  input: (t) => ({
    pushDeviceId: t.id({
      ...refersTo('PushDevice'),
      required: false,
      description: "Id of one of the viewer's apps. Absent: all of them.",
    }),
  }),
  payload: () => ({
    sentCount: {
      type: 'Int',
      isAlwaysThere: true,
      description: 'Number of apps for which a push service accepted the notification.',
    },
  }),
  errors: [PushServiceNotConfiguredError, PushServiceRefusedError, NoActivePushDeviceError],
  resolve: async (ctx, { pushDeviceId }) => ({
    sentCount: await sendTestNotification(ctx, pushDeviceId == null ? 'all' : { deviceId: pushDeviceId }),
  }),
});

mutation('removePushDevice', {
  description: "Removes one of the viewer's devices. It receives no more push notifications.",
  input: (t) => ({
    pushDeviceId: t.id({ ...refersTo('PushDevice'), description: "Id of one of the viewer's devices." }),
  }),
  payload: () => ({
    pushDeviceId: { type: 'ID', refersTo: 'PushDevice', description: 'Id of the removed device.' },
  }),
  resolve: async (ctx, { pushDeviceId }) => {
    await removePushDevice(ctx, pushDeviceId);
    return { pushDeviceId };
  },
});

eventType('device', 'add', 'PushDeviceAddedEvent', () => ({}), {
  description: 'The user registered an app.',
  outdates: ['pushDevices'],
});
eventType('device', 'update', 'PushDeviceUpdatedEvent', () => ({}), {
  description: 'The key or the token of an app changed.',
  outdates: ['pushDevices'],
});
eventType<{ device_id: number }>(
  'device',
  'remove',
  'PushDeviceRemovedEvent',
  (t) => ({
    pushDeviceId: t.id({
      ...refersTo('PushDevice'),
      description: 'Id of the removed app.',
      resolve: ({ event }) => event.device_id,
    }),
  }),
  { description: 'An app was removed, or its API key has ended.', outdates: ['pushDevices'] },
);
