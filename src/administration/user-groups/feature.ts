import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import './graphql-events.ts';
import './graphql-mutations.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { toWireGroups } from './reads.ts';
import {
  getUserGroupMember,
  getUserGroupMembers,
  getUserGroupSubgroups,
  getUserGroups,
  patchUserGroup,
  postUserGroup,
  postUserGroupDeactivate,
  postUserGroupMembers,
  postUserGroupSubgroups,
} from './rest.ts';

/** State group (a part of the response of `POST /register`) with the user groups, ascending by id, including role groups. */
const userGroupsState: StateGroup = {
  name: 'realm_user_groups',
  async read({ app, viewer: { organization }, db, options, groups }) {
    const rows = await db.userGroup.findMany({
      where: {
        organizationId: organization.id,
        ...(!options.capabilities.include_deactivated_groups && { deactivatedAt: null }),
      },
      orderBy: { id: 'asc' },
    });
    return { realm_user_groups: await toWireGroups(db, groups, { organization, now: app.now() }, rows) };
  },
};

export const userGroups: Feature = {
  endpoints: [
    getUserGroups,
    postUserGroup,
    patchUserGroup,
    postUserGroupDeactivate,
    postUserGroupMembers,
    getUserGroupMembers,
    getUserGroupMember,
    postUserGroupSubgroups,
    getUserGroupSubgroups,
  ],
  state: [userGroupsState],
};
