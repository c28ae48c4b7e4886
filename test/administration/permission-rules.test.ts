import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests that the documented rules for permissions (`server_supported_permission_settings`) match the values that the service
// accepts.

type Rules = Readonly<Record<string, Json>>;

/** Returns the ids of the role groups by name, and all data about permissions in a registration. */
async function rulesFor(person: Person) {
  const state = await person.register({ fetch_event_types: ['realm', 'realm_user_groups'] });
  const roles: Json[] = state.realm_user_groups.filter((group: Json) => group.is_system_group);
  const ids = new Map<string, number>(roles.map(({ name, id }) => [name, id]));
  const rules: Readonly<Record<'realm' | 'stream' | 'group', Rules>> = state.server_supported_permission_settings;
  return { state, roles, ids, rules };
}

/** Returns the names of the role groups that can hold the permission according to its rule. */
const allowed = (rule: Json, names: readonly string[]) =>
  names.filter((name) => {
    if (rule.allowed_system_groups.length > 0) return rule.allowed_system_groups.includes(name);
    return rule[`allow_${name.slice('role:'.length)}_group`] ?? true;
  });

/**
 * Checks that each permission can be granted to exactly the groups that its rule permits, and to users only if the rule permits
 * it.
 */
async function expectRules(
  { owner, member }: Organization,
  rules: Rules,
  give: (parameters: Json) => Promise<{ status: number }>,
) {
  const { ids } = await rulesFor(owner);
  const takes = async (name: string, value: unknown) => (await give({ [name]: { new: value } })).status === 200;
  expect(Object.keys(rules).length).toBeGreaterThan(5);
  for (const [name, rule] of Object.entries(rules)) {
    const taken: string[] = [];
    for (const [group, id] of ids) if (await takes(name, id)) taken.push(group);
    expect(taken.sort(), name).toEqual(allowed(rule, [...ids.keys()]).sort());
    expect(await takes(name, { direct_members: [member.id], direct_subgroups: [] }), name).toBe(
      !rule.require_system_group,
    );
  }
}

describe.concurrent('server_supported_permission_settings', () => {
  test('contains every permission of the organization, its permitted holders and its default', async () => {
    const house = await createOrganization();
    const { state, ids, rules } = await rulesFor(house.owner);
    const names = Object.keys(state).filter((name) => /^realm_(can|create|direct)_.*_group(s)?$/.test(name));
    expect(names.length).toBeGreaterThan(20);
    expect(Object.keys(rules.realm).sort()).toEqual(names.map((name) => name.slice('realm_'.length)).sort());
    for (const [name, { default_group_name, default_for_system_groups }] of Object.entries(rules.realm)) {
      expect([state[`realm_${name}`], default_for_system_groups], name).toEqual([ids.get(default_group_name), null]);
    }
    await expectRules(house, rules.realm, (parameters) => house.owner.rest('PATCH', '/realm', parameters));
  });

  test('contains every permission of a channel', async () => {
    const house = await createOrganization();
    const { owner } = house;
    const { ids, rules } = await rulesFor(owner);
    const { id } = await owner.ok('POST', '/channels/create', { name: 'open', subscribers: [] });
    const { stream } = await owner.ok('GET', `/streams/${id}`);
    expect(
      Object.keys(stream)
        .filter((name) => /^can_.*_group$/.test(name))
        .sort(),
    ).toEqual(Object.keys(rules.stream));
    const creator = { direct_members: [owner.id], direct_subgroups: [] };
    for (const [name, { default_group_name }] of Object.entries(rules.stream)) {
      const first = default_group_name === 'channel_creator' ? creator : ids.get(default_group_name);
      expect(stream[name], name).toEqual(first);
    }
    await expectRules(house, rules.stream, (parameters) => owner.rest('PATCH', `/streams/${id}`, parameters));
  });

  test('contains every permission of a group, and its holders for role groups', async () => {
    const house = await createOrganization();
    const { owner } = house;
    const { roles, ids, rules } = await rulesFor(owner);
    const group = { name: 'crew', description: '', members: [] };
    const { group_id: id } = await owner.ok('POST', '/user_groups/create', group);
    const { user_groups } = await owner.ok('GET', '/user_groups');
    const crew = user_groups.find((one: Json) => one.id === id);
    const creator = { direct_members: [owner.id], direct_subgroups: [] };
    for (const [name, { default_group_name, default_for_system_groups }] of Object.entries(rules.group)) {
      const first = default_group_name === 'group_creator' ? creator : ids.get(default_group_name);
      expect(crew[name], name).toEqual(first);
      expect(new Set(roles.map((role) => role[name]))).toEqual(new Set([ids.get(default_for_system_groups)]));
    }
    await expectRules(house, rules.group, (parameters) => owner.rest('PATCH', `/user_groups/${id}`, parameters));
  });
});

test('clients are informed of the maximum size of a file', async () => {
  const { member } = await createOrganization();
  expect((await member.register({ fetch_event_types: ['realm'] })).max_file_upload_size_mib).toBe(100);
});
