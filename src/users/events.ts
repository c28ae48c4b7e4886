import { defineEvent, type Effect } from '../events/define.ts';
import type { User } from '../generated/prisma/client.ts';
import { toFacts, toMinute, toWireUser } from './wire.ts';

/** Whoever looks is somebody else: a user who has just been added has no queue yet. */
const SOMEBODY_ELSE = 0;

/** To everyone who can access the new user. */
export const userAdded = defineEvent('realm_user', 'add', (user: User) => ({ person: toFacts(user) }), {
  render: ({ person }, { role, options: { clientGravatar } }) => ({
    type: 'realm_user',
    op: 'add',
    person: toWireUser(person, { id: SOMEBODY_ELSE, role }, { clientGravatar, includeProfileData: true }),
  }),
});

/** One logical change of a user, as interface document 6.3 has its forms. */
export type PersonChange =
  | { readonly user_id: number; readonly full_name: string }
  | { readonly user_id: number; readonly role: number }
  | { readonly user_id: number; readonly is_imported_stub: false }
  | { readonly user_id: number; readonly date_joined: string };

const userUpdated = defineEvent(
  'realm_user',
  'update',
  (person: PersonChange, oldRole?: number) => ({ person, old_role: oldRole }),
  {
    render: ({ person }) => ({ type: 'realm_user', op: 'update', person }),
    effect: ({ person, old_role }): Effect | undefined =>
      'role' in person && old_role !== undefined
        ? { kind: 'role', userId: person.user_id, oldRole: old_role, newRole: person.role }
        : undefined,
  },
);

export const userRenamed = (userId: number, fullName: string) => userUpdated({ user_id: userId, full_name: fullName });

/** The id of this event must be kept in a row of `role_change`: replay asks it what the user was when. */
export const userRoleChanged = (userId: number, { oldRole, newRole }: { oldRole: number; newRole: number }) =>
  userUpdated({ user_id: userId, role: newRole }, oldRole);

/** The two events of an imported or API-created user's first login. */
export const stubLoggedIn = (userId: number, joinedAt: Date) => [
  userUpdated({ user_id: userId, is_imported_stub: false }),
  userUpdated({ user_id: userId, date_joined: toMinute(joinedAt.toISOString()) }),
];
