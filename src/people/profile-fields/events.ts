import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { ProfileField } from '../../generated/prisma/client.ts';
import { toWire, wireProfileField } from '../wire-profile-fields.ts';

/**
 * Event for all users: the complete list of fields, in order. Clients drop the values of fields that are missing from
 * it.
 */
export const profileFieldsChanged = defineEvent(
  'custom_profile_fields',
  undefined,
  (fields: readonly ProfileField[]) => ({ fields: fields.map(toWire) }),
);

documentEvent(profileFieldsChanged, 'all users of the organization', {
  fields: z.array(wireProfileField).describe('All fields in their order.'),
});
