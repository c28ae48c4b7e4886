import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import {
  type EventSource,
  eventType,
  ORGANIZATION_PERMISSIONS,
  outdatedRoot,
} from '../../api/graphql/schema/event-types.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { groupReference, projectionOf } from './event-projections.ts';
import type { GroupEventData } from './events.ts';
import { UserGroup } from './graphql.ts';

/** Groups contain the members of their subgroups, and permissions depend on the members of groups. */
const outdates = () => [outdatedRoot('userGroups', 'userGroup'), ORGANIZATION_PERMISSIONS];

/** Options of the field `userGroup` in events about a group. */
const aboutGroup = projectedFromEvent(projectionOf, ({ facts }: EventSource<unknown, GroupEventData>) => facts.group);

eventType<unknown, GroupEventData>(
  'user_group',
  'add',
  'UserGroupAddedEvent',
  (t) => ({ userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group.', ...aboutGroup }) }),
  {
    description:
      'A group was created. Queues that were registered over REST without the client capability ' +
      '`include_deactivated_groups` also receive this event if a group is reactivated.',
    outdates: ['userGroups'],
  },
);

eventType<unknown, GroupEventData>(
  'user_group',
  'update',
  'UserGroupUpdatedEvent',
  (t) => ({
    userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group after the change.', ...aboutGroup }),
  }),
  { description: 'A group changed.', outdates },
);

eventType<{ group_id: number }>(
  'user_group',
  'remove',
  'UserGroupRemovedEvent',
  (t) => ({
    userGroupId: t.id({
      ...refersTo('UserGroup'),
      description: 'Id of the group.',
      resolve: ({ event }) => event.group_id,
    }),
  }),
  {
    description:
      'A group was deactivated. Sent only to queues that were registered over REST without the client ' +
      'capability `include_deactivated_groups`.',
    outdates,
  },
);

type WithUsers = GroupEventData & { readonly userIds: readonly number[] };

for (const [op, name, description] of [
  ['add_members', 'UserGroupMembersAddedEvent', 'Users became direct members of a group.'],
  ['remove_members', 'UserGroupMembersRemovedEvent', 'Users are no longer direct members of a group.'],
] as const) {
  eventType<unknown, WithUsers>(
    'user_group',
    op,
    name,
    (t) => ({
      userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group.', ...aboutGroup }),
      users: t.field({
        type: [User],
        nullable: { list: false, items: true },
        description: 'Users who were added or removed. Empty for guests, who cannot see groups.',
        ...projectedFromEvent(userReference, ({ facts }: EventSource<unknown, WithUsers>) => facts.userIds),
      }),
    }),
    { description, outdates },
  );
}

type WithSubgroups = GroupEventData & { readonly subgroupIds: readonly number[] };

for (const [op, name, description] of [
  ['add_subgroups', 'UserGroupSubgroupsAddedEvent', 'Groups became direct subgroups of a group.'],
  ['remove_subgroups', 'UserGroupSubgroupsRemovedEvent', 'Groups are no longer direct subgroups of a group.'],
] as const) {
  eventType<unknown, WithSubgroups>(
    'user_group',
    op,
    name,
    (t) => ({
      userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group.', ...aboutGroup }),
      subgroups: t.field({
        type: [UserGroup],
        nullable: { list: false, items: true },
        description: 'Groups that were added or removed. Empty for guests, who cannot see groups.',
        ...projectedFromEvent(groupReference, ({ facts }: EventSource<unknown, WithSubgroups>) => facts.subgroupIds),
      }),
    }),
    { description, outdates },
  );
}
