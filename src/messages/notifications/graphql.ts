import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOfList } from '../../api/graphql/schema/connection.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { listPushDevices, pushPublicKey, registerPushDevice, removePushDevice, visibleTo } from './devices.ts';

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
    endpoint: t.exposeString('endpoint', { description: 'URL of the push service.' }),
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
    'Registers a browser or app for push notifications, by its Web Push subscription or UnifiedPush endpoint. Messages are ' +
    'encrypted (RFC 8291) JSON: `{"type": "message", "id", "messageId", "reason", "title", "body", "icon", "url", "sentAt"}`, or ' +
    '`{"type": "removal", "messageIds"}` once messages were read or deleted. A device with the same endpoint is replaced. The ' +
    'registration ends with the session or API key of the request.',
  input: (t) => ({
    endpoint: t.string({
      description: 'URL of the push service: https, at most 2,000 characters, not a local address.',
    }),
    publicKey: t.string({
      description: 'Key `p256dh` of the subscription: a point of P-256, uncompressed, in base64url.',
    }),
    authSecret: t.string({ description: 'Key `auth` of the subscription: 16 bytes in base64url.' }),
    name: t.string({
      description: 'Name by which the viewer recognizes the device. Not blank. At most 100 characters.',
    }),
  }),
  payload: () => ({ pushDevice: { type: PushDevice, description: 'The registered device.' } }),
  resolve: async (ctx, input) => ({ pushDevice: await registerPushDevice(ctx, input) }),
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
