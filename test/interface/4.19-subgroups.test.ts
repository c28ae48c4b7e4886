import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';

const { owner, guest, bot, member } = await createOrganization();
let made = 0;
const group = async (more: object = {}): Promise<number> => {
  const parameters = { name: `group ${++made}`, description: '', members: [], ...more };
  return (await owner.ok('POST', '/user_groups/create', parameters)).group_id;
};
const update = (id: number, parameters: object, by = owner) =>
  by.rest('POST', `/user_groups/${id}/subgroups`, { ...parameters });
const subgroupsOf = async (wanted: number): Promise<number[]> => {
  const parameters = { include_deactivated_groups: true };
  const { user_groups } = await member.ok('GET', '/user_groups', parameters);
  return user_groups.find(({ id }: Json) => id === wanted).direct_subgroup_ids;
};

describe.concurrent('4.19 POST /user_groups/{user_group_id}/subgroups', () => {
  test('adds subgroups', async () => {
    const [id, one, two] = [await group(), await group(), await group()];
    expect((await update(id, { add: [one, two] })).body).toEqual(success());
    expect((await subgroupsOf(id)).toSorted()).toEqual([one, two].toSorted());
  });

  test('removes subgroups', async () => {
    const [one, two] = [await group(), await group()];
    const id = await group({ subgroups: [one, two] });
    expect((await update(id, { delete: [one] })).body).toEqual(success());
    expect(await subgroupsOf(id)).toEqual([two]);
  });

  test('adds and removes subgroups in one request', async () => {
    const [one, two] = [await group(), await group()];
    const id = await group({ subgroups: [one] });
    expect((await update(id, { delete: [one], add: [two] })).body).toEqual(success());
    expect(await subgroupsOf(id)).toEqual([two]);
  });

  test.for(['add', 'delete'])('%s must be an array of integers', async (name) => {
    const id = await group();
    for (const value of ['1', '["1"]', 'x']) expect(await update(id, { [name]: value })).toMatchObject(refused());
  });

  test('accepts a deactivated group', async () => {
    const [id, one] = [await group(), await group()];
    await owner.ok('POST', `/user_groups/${id}/deactivate`);
    expect((await update(id, { add: [one] })).body).toEqual(success());
    expect(await subgroupsOf(id)).toEqual([one]);
  });

  test('can be used by bots', async () => {
    const [id, one] = [
      await group({ can_manage_group: { direct_members: [bot.id], direct_subgroups: [] } }),
      await group(),
    ];
    expect((await update(id, { add: [one] }, bot)).body).toEqual(success());
  });

  test('rejects users who cannot manage the group', async () => {
    const [id, one] = [await group(), await group()];
    expect(await update(id, { add: [one] }, guest)).toMatchObject({ status: 400, body: { result: 'error' } });
    expect(await update(id, { add: [one] }, member)).toMatchObject(refused());
  });

  test('rejects an unknown group', async () => {
    expect(await update(2_000_000_000, { add: [await group()] })).toMatchObject(refused());
    expect(await update(await group(), { add: [2_000_000_000] })).toMatchObject(refused());
  });
});
