import type { Feature } from '../../api/feature.ts';
import type { StateGroup } from '../../api/state-group.ts';
import './graphql.ts';
import {
  deleteApnsToken,
  deleteFcmToken,
  postApnsToken,
  postClientDevice,
  postEncryptedTestNotification,
  postFcmToken,
  postPushRegistration,
  postRemovedClientDevice,
  postTestNotification,
} from './rest.ts';
import { toWire } from './wire.ts';

/** Initial state of event queues: the client devices of the user, by id. */
const deviceState: StateGroup = {
  name: 'device',
  async read({ viewer, db }) {
    const rows = await db.pushDevice.findMany({
      where: { organizationId: viewer.organization.id, userId: viewer.id, isClientDevice: true },
      orderBy: { id: 'asc' },
    });
    return { devices: Object.fromEntries(rows.map((device) => [String(device.id), toWire(device)])) };
  },
};

export const notifications: Feature = {
  endpoints: [
    postClientDevice,
    postRemovedClientDevice,
    postPushRegistration,
    postEncryptedTestNotification,
    postTestNotification,
    postApnsToken,
    deleteApnsToken,
    postFcmToken,
    deleteFcmToken,
  ],
  state: [deviceState],
};
