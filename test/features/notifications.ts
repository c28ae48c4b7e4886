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

export const notifications: FeatureTests = {
  queries: {
    pushDevices: () => [PAGE],
    pushPublicKey: () => [{}],
  },
  mutations: {
    registerPushDevice: () => [device()],
    removePushDevice: ({ pushDeviceId }) => [{ pushDeviceId }],
  },
  nodes: ({ pushDeviceId }) => ({ PushDevice: pushDeviceId }),
  objects: {
    pushDeviceId: async (owner) =>
      numberOf((await owner.mutate('registerPushDevice', device(), 'pushDevice { id }')).pushDevice.id),
  },
};

declare module '../helpers/scene.ts' {
  interface Names {
    readonly pushDeviceId: number;
  }
}
