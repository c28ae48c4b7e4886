import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';
import { channelOf } from '../helpers/talk.ts';

const { owner, administrator, member, moderator } = await createOrganization();

let made = 0;
const create = async (fields: object = {}): Promise<number> =>
  (await owner.ok('POST', '/channel_folders/create', { name: `folder ${++made}`, description: '', ...fields }))
    .channel_folder_id;
const patch = (id: number, parameters: object, by = administrator) =>
  by.rest('PATCH', `/channel_folders/${id}`, { ...parameters });
const folder = async (wanted: number): Promise<Json> =>
  (await member.ok('GET', '/channel_folders', { include_archived: true })).channel_folders.find(
    ({ id }: Json) => id === wanted,
  );

describe.concurrent('4.4 PATCH /channel_folders/{channel_folder_id}', () => {
  test.for([
    ['name', 'renamed'],
    ['description', 'of *ships*'],
    ['is_archived', true],
  ] as const)('changes %s', async ([name, value]) => {
    const id = await create();
    expect((await patch(id, { [name]: value })).body).toEqual(success());
    expect((await folder(id))[name]).toBe(value);
  });

  test('changes only the given fields', async () => {
    const id = await create({ name: 'left alone', description: 'as it was' });
    await patch(id, { description: 'changed' });
    expect(await folder(id)).toMatchObject({ name: 'left alone', description: 'changed', is_archived: false });
  });

  test('accepts an empty request', async () => {
    expect((await patch(await create(), {})).body).toEqual(success());
  });

  test('archives and unarchives', async () => {
    const id = await create();
    for (const is_archived of [true, false]) {
      await patch(id, { is_archived });
      expect((await folder(id)).is_archived).toBe(is_archived);
    }
  });

  test.for([member, moderator])('is for administrators only, not for a $name', async (by) => {
    expect(await patch(await create(), { name: 'mine' }, by)).toMatchObject(refused('UNAUTHORIZED_PRINCIPAL'));
  });

  test.for(['', ' '])('a name cannot be %j', async (name) => {
    expect(await patch(await create(), { name })).toMatchObject(refused());
  });

  test.for([
    ['name', 'max_channel_folder_name_length'],
    ['description', 'max_channel_folder_description_length'],
  ] as const)('%s is bounded by %s of registration', async ([name, limit]) => {
    const { [limit]: most } = await member.register({ fetch_event_types: ['realm'] });
    const id = await create();
    expect((await patch(id, { [name]: 'x'.repeat(most) })).status).toBe(200);
    expect(await patch(id, { [name]: 'x'.repeat(most + 1) })).toMatchObject(refused());
  });

  test('a description may be empty', async () => {
    const id = await create({ description: 'of ships' });
    expect((await patch(id, { description: '' })).status).toBe(200);
  });

  test.for(['yes', '1', '"true"'])('is_archived cannot be %s', async (is_archived) => {
    expect(await patch(await create(), { is_archived })).toMatchObject(refused());
  });

  test.for([0, 2_000_000_000])('rejects the folder %d with BAD_REQUEST', async (id) => {
    expect(await patch(id, { name: 'nowhere' })).toMatchObject(refused());
  });

  test('rejects a folder of another organization with the error of an unknown one', async () => {
    const other = await createOrganization();
    expect(await patch(await create(), { name: 'theirs' }, other.owner)).toMatchObject(refused());
  });

  test('keeps channels in their folder', async () => {
    const id = await create();
    const channel = await channelOf(owner, 'in a folder', [], { folder_id: id });
    await patch(id, { name: 'another name' });
    expect((await owner.ok('GET', `/streams/${channel}`)).stream.folder_id).toBe(id);
  });
});
