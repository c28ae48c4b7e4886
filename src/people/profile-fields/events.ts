import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { ProfileField } from '../../generated/prisma/client.ts';
import { toWire, wireProfileField } from '../wire-profile-fields.ts';

/**
 * Event with the complete list of fields, in order. Recipients: all users. Clients delete the values of fields that are not in
 * the list.
 */
export const profileFieldsChanged = defineEvent(
  'custom_profile_fields',
  undefined,
  (fields: readonly ProfileField[]) => ({ fields: fields.map(toWire) }),
);

documentEvent(profileFieldsChanged, 'all users of the organization', {
  fields: z.array(wireProfileField).describe('All fields in their order.'),
});
