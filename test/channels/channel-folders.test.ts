import { describe, expect, test } from 'vitest';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

const INVALID_ID = { status: 400, body: { result: 'error', code: 'BAD_REQUEST', msg: 'Invalid channel folder ID' } };
const NOT_ADMINISTRATOR = {
  status: 400,
  body: { result: 'error', code: 'UNAUTHORIZED_PRINCIPAL', msg: 'Must be an organization administrator' },
};

async function create(person: Person, name: string, description = ''): Promise<number> {
  return (await person.ok('POST', '/channel_folders/create', { name, description })).channel_folder_id;
}

async function list(person: Person, parameters: object = {}) {
  return (await person.ok('GET', '/channel_folders', { ...parameters })).channel_folders;
}

const namesOf = async (person: Person) => (await list(person)).map(({ name }: { name: string }) => name);

/** Returns one user of each role below administrator. */
const others = ({ moderator, member, guest }: Organization) => [moderator, member, guest];

describe('POST /channel_folders/create', () => {
  test.concurrent('creates a folder at the end of the list, with its description as HTML', async () => {
    const { owner, administrator, guest } = await createOrganization();
    const first = await create(owner, 'Teams');
    const second = await create(administrator, '  Projects ', 'All **projects**');
    expect(await list(guest)).toEqual([
      {
        ...{ id: first, name: 'Teams', description: '', rendered_description: '', is_archived: false },
        ...{ order: expect.any(Number), date_created: expect.any(Number), creator_id: owner.id },
      },
      {
        ...{ id: second, name: 'Projects', is_archived: false, creator_id: administrator.id },
        ...{ description: 'All **projects**', rendered_description: '<p>All <strong>projects</strong></p>' },
        ...{ order: expect.any(Number), date_created: expect.any(Number) },
      },
    ]);
  });

  test.concurrent('is for administrators, including their bots', async () => {
    const organised = await createOrganization();
    for (const person of others(organised)) {
      const reply = await person.rest('POST', '/channel_folders/create', { name: 'Mine', description: '' });
      expect(reply, person.name).toMatchObject(NOT_ADMINISTRATOR);
    }
    expect(await list(organised.owner)).toEqual([]);
  });

  test.concurrent.for<[string, object, string]>([
    ['a blank name', { name: ' ' }, "Channel folder name can't be empty."],
    ['a name that is too long', { name: 'n'.repeat(61) }, 'name is too long (limit: 60 characters)'],
    ['a name that cannot be printed', { name: 'a\nb' }, 'Invalid character in channel folder name, at position 2.'],
    ['a null byte in the name', { name: 'a\0b' }, ''],
    ['a name in use, in whatever case', { name: 'TEAMS' }, 'Channel folder name already in use'],
    [
      'a description that is too long',
      { description: 'd'.repeat(1025) },
      'description is too long (limit: 1024 characters)',
    ],
    ['a null byte in the description', { description: '\0' }, 'description must not contain null bytes'],
  ])('refuses %s, and so does PATCH', async ([, fields, msg]) => {
    const { administrator } = await createOrganization();
    await create(administrator, 'Teams');
    const id = await create(administrator, 'Projects');
    const folder = { name: 'More', description: '', ...fields };
    const created = await administrator.rest('POST', '/channel_folders/create', folder);
    const changed = await administrator.rest('PATCH', `/channel_folders/${id}`, { ...fields });
    for (const { status, body } of [created, changed]) {
      expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
      if (msg !== '') expect(body.msg).toBe(msg);
    }
    expect(await namesOf(administrator)).toEqual(['Teams', 'Projects']);
  });

  test.concurrent.for([['name'], ['description']])('requires %s', async ([name]) => {
    const { owner } = await createOrganization();
    const parameters = { name: 'Teams', description: '', [name as string]: undefined };
    const { status, body } = await owner.rest('POST', '/channel_folders/create', parameters);
    expect([status, body.code, body.var_name]).toEqual([400, 'REQUEST_VARIABLE_MISSING', name]);
  });

  test.concurrent('gives a name to only one of two concurrent requests', async () => {
    const { owner, administrator } = await createOrganization();
    const replies = await Promise.all(
      [owner, administrator].map((person) =>
        person.rest('POST', '/channel_folders/create', { name: 'Teams', description: '' }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect(await namesOf(owner)).toEqual(['Teams']);
  });
});

describe('PATCH /channel_folders/{channel_folder_id}', () => {
  test.concurrent('changes name, description and archived state, with one event for each and its dependent values', async () => {
    const { administrator, guest } = await createOrganization();
    const id = await create(administrator, 'Teams');
    const heard = await guest.receiving();
    const changes = { name: ' Groups ', description: '*All*', is_archived: true };
    await administrator.ok('PATCH', `/channel_folders/${id}`, changes);
    expect(await list(guest)).toEqual([]);
    const [folder] = await list(guest, { include_archived: true });
    expect(folder).toMatchObject({ id, name: 'Groups', description: '*All*', is_archived: true });
    const events = await heard();
    expect(Object.assign({}, ...events.map(({ data }) => data))).toEqual({
      ...{ name: 'Groups', description: '*All*', rendered_description: folder.rendered_description, is_archived: true },
    });
    for (const event of events)
      expect(event).toMatchObject({ type: 'channel_folder', op: 'update', channel_folder_id: id });
    await administrator.ok('PATCH', `/channel_folders/${id}`, { is_archived: false });
    expect(await namesOf(guest)).toEqual(['Groups']);
  });

  test.concurrent('sends no events for unchanged values', async () => {
    const { owner } = await createOrganization();
    const id = await create(owner, 'Teams', 'All of them');
    const heard = await owner.receiving();
    const same = { name: 'Teams', description: 'All of them', is_archived: false };
    await owner.ok('PATCH', `/channel_folders/${id}`, same);
    await owner.ok('PATCH', `/channel_folders/${id}`);
    expect(await heard()).toEqual([]);
  });

  test.concurrent('changes the case of a name', async () => {
    const { owner } = await createOrganization();
    const id = await create(owner, 'teams');
    await owner.ok('PATCH', `/channel_folders/${id}`, { name: 'Teams' });
    expect(await namesOf(owner)).toEqual(['Teams']);
  });

  test.concurrent('refuses to archive a folder with channels, including archived ones', async () => {
    const { owner } = await createOrganization();
    const folder_id = await create(owner, 'Teams');
    const { id } = await owner.ok('POST', '/channels/create', { name: 'general', subscribers: [], folder_id });
    const msg = 'You need to remove all the channels from this folder to archive it.';
    const archive = () => owner.rest('PATCH', `/channel_folders/${folder_id}`, { is_archived: true });
    expect(await archive()).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', msg } });
    await owner.ok('DELETE', `/streams/${id}`);
    expect((await archive()).body.msg).toBe(msg);
    await owner.ok('PATCH', `/streams/${id}`, { folder_id: null });
    expect((await archive()).status).toBe(200);
  });

  test.concurrent('is for administrators', async () => {
    const organised = await createOrganization();
    const id = await create(organised.owner, 'Teams');
    for (const person of others(organised)) {
      expect(await person.rest('PATCH', `/channel_folders/${id}`, { name: 'Mine' })).toMatchObject(NOT_ADMINISTRATOR);
    }
    expect(await namesOf(organised.owner)).toEqual(['Teams']);
  });

  test.concurrent('refuses unknown folders and folders of another organization', async () => {
    const [{ owner }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const foreign = await create(other.owner, 'Theirs');
    for (const id of [foreign, 2_000_000_000, 2 ** 31, 10 ** 20]) {
      expect(await owner.rest('PATCH', `/channel_folders/${id}`, { name: 'Mine' })).toMatchObject(INVALID_ID);
    }
    expect(await namesOf(other.owner)).toEqual(['Theirs']);
  });
});

describe('PATCH /channel_folders', () => {
  test.concurrent('reorders the folders, and sends the new order', async () => {
    const { administrator, member } = await createOrganization();
    const ids = [await create(administrator, 'A'), await create(administrator, 'B'), await create(administrator, 'C')];
    const heard = await member.receiving();
    const order = [ids[2], ids[0], ids[1]];
    await administrator.ok('PATCH', '/channel_folders', { order });
    const folders = await list(member);
    expect(folders.map((folder: { id: number; order: number }) => [folder.id, folder.order])).toEqual(
      order.map((id, place) => [id, place]),
    );
    expect(await heard()).toEqual([{ type: 'channel_folder', op: 'reorder', order }]);
  });

  test.concurrent('requires every folder exactly once, including archived ones', async () => {
    const [{ owner }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const [a, b] = [await create(owner, 'A'), await create(owner, 'B')];
    const foreign = await create(other.owner, 'Theirs');
    await owner.ok('PATCH', `/channel_folders/${b}`, { is_archived: true });
    for (const order of [[a], [], [b, a, foreign], [b, a, a], [b, a, 2_000_000_000]]) {
      const { status, body } = await owner.rest('PATCH', '/channel_folders', { order });
      expect([status, body.code, body.msg], JSON.stringify(order)).toEqual([
        400,
        'BAD_REQUEST',
        'Invalid order mapping.',
      ]);
    }
    await owner.ok('PATCH', '/channel_folders', { order: [b, a] });
  });

  test.concurrent('is for administrators, and requires its parameter', async () => {
    const organised = await createOrganization();
    for (const person of others(organised)) {
      expect(await person.rest('PATCH', '/channel_folders', { order: [] })).toMatchObject(NOT_ADMINISTRATOR);
    }
    const { body } = await organised.owner.rest('PATCH', '/channel_folders');
    expect([body.code, body.var_name]).toEqual(['REQUEST_VARIABLE_MISSING', 'order']);
  });
});

test.concurrent('folder events reach every user of the organization, and no user of another one', async () => {
  const [organised, other] = await Promise.all([createOrganization(), createOrganization()]);
  const everybody = [organised.owner, organised.moderator, organised.guest, organised.bot];
  const heard = await Promise.all([...everybody, other.owner].map((person) => person.receiving()));
  const id = await create(organised.administrator, 'Teams');
  const [folder] = await list(organised.owner);
  const events = await Promise.all(heard.map((hear) => hear()));
  const added = { type: 'channel_folder', op: 'add', channel_folder: folder };
  expect(folder.id).toBe(id);
  expect(events).toEqual([...everybody.map(() => [added]), []]);
});

test.concurrent('every folder endpoint names the parameters that it ignored', async () => {
  const { owner } = await createOrganization();
  const id = await create(owner, 'Teams');
  let made = 0;
  const parameters = () => ({ name: `Folder ${++made}`, description: '' });
  await expectIgnoredParameters(owner, 'POST', async () => ({
    path: '/channel_folders/create',
    parameters: parameters(),
  }));
  await expectIgnoredParameters(owner, 'GET', async () => ({ path: '/channel_folders' }));
  await expectIgnoredParameters(owner, 'PATCH', async () => ({ path: `/channel_folders/${id}` }), 'channel_folder_id');
  const order = (await list(owner)).map((folder: { id: number }) => folder.id);
  await expectIgnoredParameters(owner, 'PATCH', async () => ({ path: '/channel_folders', parameters: { order } }));
});
