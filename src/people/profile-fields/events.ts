import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { ProfileField } from '../../generated/prisma/client.ts';
import { toWire, wireProfileField } from './wire.ts';

/** To everyone: all the fields there are, in their order. Clients drop the values of a field that is gone. */
export const profileFieldsChanged = defineEvent(
  'custom_profile_fields',
  undefined,
  (fields: readonly ProfileField[]) => ({ fields: fields.map(toWire) }),
);

tells(profileFieldsChanged, 'everyone', {
  fields: z.array(wireProfileField).describe('All there are, in their order.'),
});
