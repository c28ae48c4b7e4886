import { describe, expect, test } from 'vitest';
import { expectShownAlike, logAsBefore } from '../helpers/entity-events.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';

const MODERN = {
  event_types: ['user_group'],
  client_capabilities: { notification_settings_null: true, include_deactivated_groups: true },
};

/**
 * Registers the tests of events about user groups.
 *
 * @param service Returns the service that the tests use.
 */
export function groups(service: () => InProcess): void {
  describe('user groups', () => {
    test('events contain the same data as queries, and null for guests', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const group = { name: 'crew', description: 'of the Argo', members: [member.id] };
      const made = await expectShownAlike(readers, () => owner.ok('POST', '/user_groups/create', group), MODERN);
      expect(made.map(([first]) => first?.type)).toEqual(Array(3).fill('UserGroupAddedEvent'));
      const { userGroup } = made[1]?.[0]?.event ?? {};
      expect(userGroup).toMatchObject({ name: 'crew', creator: { databaseId: owner.id } });
      const path = `/user_groups/${userGroup.databaseId}`;
      const rename = () =>
        owner.ok('PATCH', path, {
          name: 'sailors',
          can_mention_group: { new: { direct_members: [owner.id], direct_subgroups: [] } },
        });
      const renamed = await expectShownAlike(readers, rename, MODERN);
      expect(renamed[1]?.[0]).toMatchObject({
        type: 'UserGroupUpdatedEvent',
        event: { userGroup: { name: 'sailors' } },
      });
      const move = () => owner.ok('POST', `${path}/members`, { add: [guest.id], delete: [member.id] });
      const moved = await expectShownAlike(readers, move, MODERN);
      expect(moved[1]?.map(({ type, event }) => [type, event.users[0].databaseId]).toSorted()).toEqual([
        ['UserGroupMembersAddedEvent', guest.id],
        ['UserGroupMembersRemovedEvent', member.id],
      ]);
      expect(moved.map((events) => events.map(({ event }) => event.users.length))).toEqual([
        [1, 1],
        [1, 1],
        [0, 0],
      ]);
      const { group_id: other } = await owner.ok('POST', '/user_groups/create', { ...group, name: 'rowers' });
      const nest = () => owner.ok('POST', `${path}/subgroups`, { add: [other] });
      const nested = await expectShownAlike(readers, nest, MODERN);
      expect(nested.map((events) => events[0]?.event.subgroups.length)).toEqual([1, 1, 0]);
      expect(nested[1]?.[0]?.event.subgroups[0].databaseId).toBe(other);
      const take = () => owner.ok('POST', `${path}/subgroups`, { delete: [other] });
      expect((await expectShownAlike(readers, take, MODERN))[1]?.[0]?.type).toBe('UserGroupSubgroupsRemovedEvent');
      const deactivated = await expectShownAlike(readers, () => owner.ok('POST', `${path}/deactivate`), MODERN);
      expect(deactivated[1]?.[0]?.event.userGroup).toMatchObject({ isDeactivated: true });
      for (const heard of [made, renamed, moved, nested, deactivated]) {
        for (const { event, position } of heard[2] ?? []) expect(event).toMatchObject({ position, userGroup: null });
      }
      // Clients that do not support deactivated groups receive a reactivated group as a new group.
      const old = { event_types: ['user_group'] };
      const back = await expectShownAlike([member], () => owner.ok('PATCH', path, { deactivated: false }), old);
      expect(back[0]?.[0]).toMatchObject({
        type: 'UserGroupAddedEvent',
        event: { userGroup: { isDeactivated: false } },
      });
    });

    test('events logged by a previous version are read', async () => {
      const { owner, member, organization } = await createOrganization({}, { on: service() });
      const group = { name: 'crew', description: '', members: [] };
      const { group_id } = await owner.ok('POST', '/user_groups/create', group);
      const before = { type: 'user_group', op: 'update', group_id, data: { name: 'crew' }, is_deactivated: false };
      const [heard] = await expectShownAlike([member], () => logAsBefore(service(), organization.id, before, [member]));
      expect(heard?.[0]?.event.userGroup).not.toHaveProperty('name');
    });
  });
}
