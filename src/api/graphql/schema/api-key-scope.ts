import type { KeyScope } from '../../../platform/key-scopes.ts';
import { builder } from './builder.ts';

/** Descriptions of the scopes in the schema. */
const SCOPES: Readonly<Record<Uppercase<KeyScope>, { readonly value: KeyScope; readonly description: string }>> = {
  READ: { value: 'read', description: 'Queries, and objects in events and in the payloads of mutations.' },
  WRITE: { value: 'write', description: 'Changes that the audit log does not record, such as sending messages.' },
  EVENTS: {
    value: 'events',
    description: 'Event queues: registering them, with the state that the REST registration returns, and reading them.',
  },
  ADMINISTRATION: {
    value: 'administration',
    description: 'Reading the audit log and invitation links, and changes that the audit log records.',
  },
};

export const ApiKeyScope = builder.enumType('ApiKeyScope', {
  description: 'A kind of operations that an API key permits. The permissions of its user apply as well.',
  values: SCOPES,
});
