import { defineEvent } from '../events/define.ts';

/**
 * To everyone in the organisation: what changed of it, by the names of registration's fields without `realm_`.
 *
 * @see registration-and-events companion 1.9, 3.7
 */
export const realmUpdated = defineEvent('realm', 'update_dict', (data: Readonly<Record<string, unknown>>) => ({
  property: 'default',
  data,
}));
