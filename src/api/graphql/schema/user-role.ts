import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../../../platform/roles.ts';
import { builder } from './builder.ts';

export const UserRole = builder.enumType('UserRole', {
  description: 'Role of a user. Each role includes the rights of the roles after it.',
  values: {
    OWNER: { value: OWNER, description: 'Can do everything, including to manage other owners.' },
    ADMINISTRATOR: {
      value: ADMINISTRATOR,
      description: 'Can manage users, channels and most settings of the organization.',
    },
    MODERATOR: { value: MODERATOR, description: 'Can do more than a member if settings of the organization allow it.' },
    MEMBER: { value: MEMBER, description: 'Default role.' },
    GUEST: { value: GUEST, description: 'Can see only the channels that they were added to.' },
  } as const,
});
