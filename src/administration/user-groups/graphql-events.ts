import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { userReference } from '../../people/entity-facts.ts';
import { User } from '../../people/graphql.ts';
import { factsAbout, groupReference } from './entity-facts.ts';
import type { KnownGroup } from './events.ts';
import { UserGroup } from './graphql.ts';

/** The group that an event is about. */
const aboutGroup = fromEvent(factsAbout, ({ facts }: EventSource<unknown, KnownGroup>) => facts.group);

eventType<unknown, KnownGroup>(
  'user_group',
  'add',
  'UserGroupAddedEvent',
  (t) => ({ userGroup: t.field({ type: UserGroup, nullable: true, description: 'The group.', ...aboutGroup }) }),
  { description: 'There is a new group; or one came back, to clients that know no deactivated ones.' },
);

eventType<unknown, KnownGroup>(
  'user_group',
  'update',
  'UserGroupUpdatedEvent',
  (t) => ({
    userGroup: t.field({ type: UserGroup, nullable: true, description: 'As it is now.', ...aboutGroup }),
  }),
  { description: 'A group changed.' },
);

eventType<{ group_id: number }>(
  'user_group',
  'remove',
  'UserGroupRemovedEvent',
  (t) => ({
    userGroupId: t.id({ ...refersTo('UserGroup'), description: 'The group.', resolve: ({ event }) => event.group_id }),
  }),
  { description: 'A group was deactivated. To clients that know no deactivated ones.' },
);

type WithUsers = KnownGroup & { readonly userIds: readonly number[] };

for (const [op, name, description] of [
  ['add_members', 'UserGroupMembersAddedEvent', 'Users came into a group.'],
  ['remove_members', 'UserGroupMembersRemovedEvent', 'Users are in a group no more.'],
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
        description: 'Those who came or went, into or out of the group itself. None to guests, who see no groups.',
        ...fromEvent(userReference, ({ facts }: EventSource<unknown, WithUsers>) => facts.userIds),
      }),
    }),
    { description },
  );
}

type WithSubgroups = KnownGroup & { readonly subgroupIds: readonly number[] };

for (const [op, name, description] of [
  ['add_subgroups', 'UserGroupSubgroupsAddedEvent', 'Groups came into a group.'],
  ['remove_subgroups', 'UserGroupSubgroupsRemovedEvent', 'Groups are in a group no more.'],
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
        description: 'Those that came or went, into or out of the group itself. None to guests, who see no groups.',
        ...fromEvent(groupReference, ({ facts }: EventSource<unknown, WithSubgroups>) => facts.subgroupIds),
      }),
    }),
    { description },
  );
}
