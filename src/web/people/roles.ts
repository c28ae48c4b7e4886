import type { UserRole } from '../generated/graphql.ts';

export const ROLE_NAMES: Readonly<Record<UserRole, string>> = {
  OWNER: 'Owner',
  ADMINISTRATOR: 'Administrator',
  MODERATOR: 'Moderator',
  MEMBER: 'Member',
  GUEST: 'Guest',
};
