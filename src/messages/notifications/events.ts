import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import { type RegistrationState, toWire, type WireDevice, wireDevice } from './wire.ts';

// The events below are sent only to the clients of the device's user.

export const deviceAdded = defineEvent('device', 'add', (deviceId: number) => ({ device_id: deviceId }));

/** Contains the fields that differ. */
export const deviceUpdated = defineEvent(
  'device',
  'update',
  (deviceId: number, before: RegistrationState, after: RegistrationState) => {
    const [old, current] = [toWire(before), toWire(after)];
    const names = Object.keys(current) as (keyof WireDevice)[];
    const changed = names.filter((name) => old[name] !== current[name]).map((name) => [name, current[name]] as const);
    return { device_id: deviceId, ...(Object.fromEntries(changed) as Partial<WireDevice>) };
  },
);

export const deviceRemoved = defineEvent('device', 'remove', (deviceId: number) => ({ device_id: deviceId }));

documentEvent(deviceAdded, 'the user of the device', { device_id: z.int() });
documentEvent(deviceUpdated, 'the user of the device', { device_id: z.int(), ...wireDevice.partial().shape });
documentEvent(deviceRemoved, 'the user of the device', { device_id: z.int() });
