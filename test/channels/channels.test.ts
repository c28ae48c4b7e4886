import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const refusal = (code: string, msg: string, status = 400) => ({ status, body: { result: 'error', code, msg } });
const bad = (msg: string) => refusal('BAD_REQUEST', msg);
const INVALID_ID = bad('Invalid channel ID');
const NOT_ADMINISTERING = bad('You do not have permission to administer this channel.');

async function create(person: Person, name: string, fields: object = {}): Promise<number> {
  return (await person.ok('POST', '/channels/create', { name, subscribers: [], ...fields })).id;
}

const get = async (person: Person, id: number): Promise<Json> => (await person.ok('GET', `/streams/${id}`)).stream;

async function namesIn(person: Person, parameters: object = {}): Promise<string[]> {
  const { streams } = await person.ok('GET', '/streams', { ...parameters });
  return streams.map(({ name }: { name: string }) => name);
}

describe('POST /channels/create', () => {
  test.concurrent('creates a public channel with default settings, and subscribes the given users', async () => {
    const { member, guest } = await createOrganization();
    const before = Math.floor(Date.now() / 1000);
    const id = await create(member, '  General ', { subscribers: [member.id, guest.id], description: 'For\nall' });
    const channel = await get(guest, id);
    expect(channel).toMatchObject({
      ...{ stream_id: id, name: 'General', description: 'For all', rendered_description: '<p>For all</p>' },
      ...{ creator_id: member.id, invite_only: false, is_web_public: false, history_public_to_subscribers: true },
      ...{ is_archived: false, is_announcement_only: false, stream_post_policy: 1, message_retention_days: null },
      ...{ topics_policy: 'inherit', first_message_id: null, folder_id: null, is_recently_active: true },
      ...{ stream_weekly_traffic: null, subscriber_count: 2 },
      can_administer_channel_group: { direct_members: [member.id], direct_subgroups: [] },
      can_send_message_group: expect.any(Number),
    });
    expect(channel.date_created).toBeGreaterThanOrEqual(before);
    const groups = Object.keys(channel).filter((name) => /^can_.*_group$/.test(name));
    expect(groups).toHaveLength(11);
  });

  test.concurrent('creates a private channel, whose history is protected unless it is shared', async () => {
    const { member } = await createOrganization();
    const subscribers = [member.id];
    const hidden = await create(member, 'hidden', { subscribers, invite_only: true });
    const shared = { subscribers, invite_only: true, history_public_to_subscribers: true };
    expect(await get(member, hidden)).toMatchObject({ invite_only: true, history_public_to_subscribers: false });
    expect((await get(member, await create(member, 'shared', shared))).history_public_to_subscribers).toBe(true);
  });

  test.concurrent('adds the channel to a folder and to the default channels', async () => {
    const { administrator, member, guest } = await createOrganization();
    const folder = { name: 'Teams', description: '' };
    const { channel_folder_id: folder_id } = await administrator.ok('POST', '/channel_folders/create', folder);
    const heard = await member.receiving();
    const id = await create(administrator, 'general', { folder_id, is_default_stream: true });
    expect((await get(member, id)).folder_id).toBe(folder_id);
    const [created, defaults] = await heard();
    expect(created).toMatchObject({ type: 'stream', op: 'create', streams: [{ stream_id: id }] });
    expect(defaults).toEqual({ type: 'default_streams', default_streams: [id] });
    expect((await member.register()).realm_default_streams).toEqual([id]);
    expect((await guest.register()).realm_default_streams).toEqual([]);
  });

  test.concurrent('grants the given permissions to the given users and groups', async () => {
    const { owner, member } = await createOrganization();
    const { realm_can_manage_all_groups: owners } = await owner.register({ fetch_event_types: ['realm'] });
    const id = await create(member, 'news', {
      can_send_message_group: owners,
      can_subscribe_group: { direct_members: [member.id, owner.id, member.id], direct_subgroups: [] },
      can_add_subscribers_group: { direct_members: [], direct_subgroups: [owners] },
    });
    const both = [owner.id, member.id].sort((a, b) => a - b);
    expect(await get(owner, id)).toMatchObject({
      can_send_message_group: owners,
      can_subscribe_group: { direct_members: both, direct_subgroups: [] },
      can_add_subscribers_group: owners,
    });
  });

  test.concurrent('marks an announcement channel for old clients', async () => {
    const { administrator } = await createOrganization();
    const { realm_can_delete_any_message_group: administrators } = await administrator.register();
    const id = await create(administrator, 'news', { can_send_message_group: administrators });
    expect(await get(administrator, id)).toMatchObject({ stream_post_policy: 2, is_announcement_only: true });
  });

  test.concurrent('refuses a name in use, in any case, also by an archived channel', async () => {
    const { owner, member } = await createOrganization();
    const id = await create(owner, 'General');
    const taken = (channel_name: string) => ({
      status: 409,
      body: { result: 'error', code: 'CHANNEL_ALREADY_EXISTS', channel_name },
    });
    const again = () => member.rest('POST', '/channels/create', { name: 'general', subscribers: [] });
    expect(await again()).toMatchObject(taken('general'));
    await owner.ok('DELETE', `/streams/${id}`);
    expect(await again()).toMatchObject(taken('general'));
  });

  test.concurrent('gives a name to only one of two concurrent requests', async () => {
    const { owner, member } = await createOrganization();
    const replies = await Promise.all(
      [owner, member].map((person) => person.rest('POST', '/channels/create', { name: 'general', subscribers: [] })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  test.concurrent('refuses guests, and web-public channels while they are disabled', async () => {
    const { owner, guest } = await createOrganization();
    const general = { name: 'general', subscribers: [] };
    const byGuest = await guest.rest('POST', '/channels/create', general);
    expect(byGuest).toMatchObject(refusal('UNAUTHORIZED_PRINCIPAL', 'Must be an organization member'));
    const web = await owner.rest('POST', '/channels/create', { ...general, is_web_public: true });
    expect(web).toMatchObject(bad('Web-public channels are not enabled.'));
    expect(await namesIn(owner)).toEqual([]);
  });

  test.concurrent.for<[string, object, object]>([
    ['a blank name', { name: ' ' }, bad("Channel name can't be empty.")],
    ['a name that is too long', { name: 'n'.repeat(61) }, bad('Channel name too long (limit: 60 characters).')],
    ['a name that cannot be printed', { name: 'a\u0007' }, bad('Invalid character in channel name, at position 2.')],
    [
      'a description that is too long',
      { description: 'd'.repeat(1025) },
      bad('description is too long (limit: 1024 characters)'),
    ],
    ['a null byte in the description', { description: 'a\0b' }, bad('description must not contain null bytes')],
    ['a subscriber who is not there', { subscribers: [2_000_000_000] }, bad('No such user')],
    ['a subscriber of no id', { subscribers: [2 ** 40] }, bad('No such user')],
    ['subscribers that are no list', { subscribers: '1' }, bad('subscribers is not a list')],
    ['a folder that is not there', { folder_id: 2_000_000_000 }, bad('Invalid channel folder ID')],
    [
      'a private default channel',
      { invite_only: true, is_default_stream: true },
      bad('A default channel cannot be private.'),
    ],
    ['a topics policy there is not', { topics_policy: 'any' }, bad('Invalid topics_policy')],
    [
      'a permission for a group that is not there',
      { can_send_message_group: 2_000_000_000 },
      bad('Invalid user group'),
    ],
    [
      'protected history with topics only some may start',
      { invite_only: true, can_create_topic_group: { direct_members: [], direct_subgroups: [] } },
      {
        status: 400,
        body: { code: 'BAD_REQUEST', parameters: 'history_public_to_subscribers, can_create_topic_group' },
      },
    ],
  ])('refuses %s', async ([, fields, expected]) => {
    const { owner } = await createOrganization();
    const heard = await owner.receiving();
    const reply = await owner.rest('POST', '/channels/create', { name: 'general', subscribers: [], ...fields });
    expect(reply).toMatchObject(expected);
    expect(await heard()).toEqual([]);
  });

  test.concurrent('refuses guests as holders of permissions that give access to a channel', async () => {
    const { owner } = await createOrganization();
    const { realm_direct_message_permission_group: everyone } = await owner.register();
    for (const name of ['can_add_subscribers_group', 'can_administer_channel_group', 'can_subscribe_group']) {
      const parameters = { name: 'general', subscribers: [], [name]: everyone };
      const msg = `'${name}' setting cannot be set to 'role:everyone' group.`;
      expect(await owner.rest('POST', '/channels/create', parameters)).toMatchObject(bad(msg));
    }
  });

  test.concurrent('lets only owners set a retention, and only administrators set default channels', async () => {
    const { owner, administrator, member } = await createOrganization();
    const retention = { name: 'kept', subscribers: [], message_retention_days: 7 };
    const refused = await administrator.rest('POST', '/channels/create', retention);
    expect(refused).toMatchObject(refusal('UNAUTHORIZED_PRINCIPAL', 'Must be an organization owner'));
    const { id } = await owner.ok('POST', '/channels/create', retention);
    expect((await get(owner, id)).message_retention_days).toBe(7);
    const forEver = await create(owner, 'for ever', { message_retention_days: '"unlimited"' });
    expect((await get(owner, forEver)).message_retention_days).toBe(-1);
    const asDefault = await member.rest('POST', '/channels/create', {
      name: 'x',
      subscribers: [],
      is_default_stream: true,
    });
    expect(asDefault).toMatchObject(bad('You do not have permission to change default channels.'));
  });

  test.concurrent.for([['name'], ['subscribers']])('requires %s', async ([name = '']) => {
    const { owner } = await createOrganization();
    const { body } = await owner.rest('POST', '/channels/create', { name: 'a', subscribers: [], [name]: undefined });
    expect([body.code, body.var_name]).toEqual(['REQUEST_VARIABLE_MISSING', name]);
  });
});

describe('GET /streams', () => {
  test.concurrent('lists the channels that the viewer can see by name, filtered by the parameters', async () => {
    const { owner, administrator, member, guest } = await createOrganization();
    await create(member, 'zoo', { subscribers: [guest.id] });
    await create(member, 'attic', { invite_only: true, subscribers: [member.id] });
    const old = await create(member, 'old', { subscribers: [member.id] });
    await create(member, 'bar', { subscribers: [] });
    await member.ok('DELETE', `/streams/${old}`);
    expect(await namesIn(member)).toEqual(['attic', 'bar', 'zoo']);
    expect(await namesIn(owner)).toEqual(['bar', 'zoo']);
    expect(await namesIn(guest)).toEqual(['zoo']);
    expect(await namesIn(member, { include_subscribed: false })).toEqual(['bar', 'zoo']);
    expect(await namesIn(member, { include_public: false })).toEqual(['attic']);
    expect(await namesIn(member, { exclude_archived: false })).toEqual(['attic', 'bar', 'old', 'zoo']);
    expect(await namesIn(administrator, { include_all: true })).toEqual(['attic', 'bar', 'zoo']);
    expect(await namesIn(administrator, { include_all_active: true })).toEqual(['attic', 'bar', 'zoo']);
    const both = { include_all: true, include_all_active: true };
    expect((await administrator.rest('GET', '/streams', both)).body).toMatchObject({ code: 'REQUEST_CONFUSING_VAR' });
  });

  test.concurrent('shows which channels are default channels on request', async () => {
    const { owner, member } = await createOrganization();
    await create(owner, 'a', { is_default_stream: true });
    await create(owner, 'b');
    const { streams } = await member.ok('GET', '/streams', { include_default: true });
    expect(streams.map(({ is_default }: { is_default: boolean }) => is_default)).toEqual([true, false]);
    expect((await member.ok('GET', '/streams')).streams[0]).not.toHaveProperty('is_default');
  });

  test.concurrent("lists the channels of a bot's owner on request of the bot", async () => {
    const { owner, bot } = await createOrganization();
    await create(owner, 'with the owner', { subscribers: [owner.id] });
    await create(owner, 'without');
    expect(await namesIn(bot, { include_public: false })).toEqual([]);
    const ofOwner = { include_public: false, include_owner_subscribed: true };
    expect(await namesIn(bot, ofOwner)).toEqual(['with the owner']);
  });
});

describe('GET /streams/{stream_id}', () => {
  test.concurrent('shows a channel to users who can see it, and an unknown channel to others', async () => {
    const [{ owner, moderator, member, guest, bot }, other] = await Promise.all([
      createOrganization(),
      createOrganization(),
    ]);
    const open = await create(owner, 'open');
    const hidden = await create(member, 'hidden', { invite_only: true, subscribers: [member.id, guest.id] });
    for (const person of [owner, moderator, bot]) expect((await get(person, open)).name).toBe('open');
    for (const person of [owner, member, guest]) expect((await get(person, hidden)).name).toBe('hidden');
    for (const [person, id] of [
      [moderator, hidden],
      [bot, hidden],
      [guest, open],
      [other.owner, open],
    ] as const) {
      expect(await person.rest('GET', `/streams/${id}`)).toMatchObject(INVALID_ID);
    }
    for (const id of [0, 2_000_000_000, 2 ** 31, 10 ** 20]) {
      expect(await owner.rest('GET', `/streams/${id}`)).toMatchObject(INVALID_ID);
    }
  });
});

describe('GET /get_stream_id', () => {
  test.concurrent('finds a channel that the viewer can see by its name, in any case', async () => {
    const [{ owner, member, moderator }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const id = await create(member, 'General');
    await create(member, 'hidden', { invite_only: true, subscribers: [member.id] });
    await create(other.owner, 'theirs');
    expect(await owner.ok('GET', '/get_stream_id', { stream: 'general' })).toMatchObject({ stream_id: id });
    for (const stream of ['nothing', 'hidden', 'theirs', '']) {
      const reply = await moderator.rest('GET', '/get_stream_id', { stream });
      expect(reply).toMatchObject(bad(`Invalid channel name '${stream}'`));
    }
    const { body } = await owner.rest('GET', '/get_stream_id');
    expect([body.code, body.var_name]).toEqual(['REQUEST_VARIABLE_MISSING', 'stream']);
  });
});

describe('GET /streams/{stream_id}/members', () => {
  test.concurrent('lists the subscribers to users who can see the channel', async () => {
    const { owner, administrator, moderator, member, guest } = await createOrganization();
    const id = await create(member, 'hidden', { invite_only: true, subscribers: [guest.id, member.id] });
    for (const person of [owner, administrator, member, guest]) {
      const { subscribers } = await person.ok('GET', `/streams/${id}/members`);
      expect(subscribers).toEqual([member.id, guest.id].sort((a, b) => a - b));
    }
    expect(await moderator.rest('GET', `/streams/${id}/members`)).toMatchObject(INVALID_ID);
    expect(await owner.rest('GET', '/streams/2000000000/members')).toMatchObject(INVALID_ID);
  });
});

describe('/default_streams', () => {
  test.concurrent('adds a channel to the default channels and removes it, and notifies all users except guests', async () => {
    const { administrator, member, guest } = await createOrganization();
    const id = await create(member, 'general', { subscribers: [guest.id] });
    const heard = await Promise.all([member.receiving(), guest.receiving()]);
    await administrator.ok('POST', '/default_streams', { stream_id: id });
    await administrator.ok('POST', '/default_streams', { stream_id: id });
    await administrator.ok('DELETE', '/default_streams', { stream_id: id });
    const event = (default_streams: number[]) => ({ type: 'default_streams', default_streams });
    expect(await Promise.all(heard.map((hear) => hear()))).toEqual([[event([id]), event([])], []]);
  });

  test.concurrent('is for administrators, and for public channels that they can see', async () => {
    const { owner, moderator, member, guest } = await createOrganization();
    const id = await create(member, 'general');
    const hidden = await create(member, 'hidden', { invite_only: true });
    for (const person of [moderator, member, guest]) {
      for (const method of ['POST', 'DELETE'] as const) {
        const reply = await person.rest(method, '/default_streams', { stream_id: id });
        expect(reply).toMatchObject(bad('You do not have permission to change default channels.'));
      }
    }
    const shut = await owner.rest('POST', '/default_streams', { stream_id: hidden });
    expect(shut).toMatchObject(bad('A default channel cannot be private.'));
    expect(await owner.rest('POST', '/default_streams', { stream_id: 2_000_000_000 })).toMatchObject(INVALID_ID);
    expect((await owner.rest('POST', '/default_streams')).body.code).toBe('REQUEST_VARIABLE_MISSING');
  });
});

describe('PATCH /streams/{stream_id}', () => {
  test.concurrent('changes name, description and folder of a channel, each with its own event', async () => {
    const { administrator, member } = await createOrganization();
    const folder = { name: 'Teams', description: '' };
    const { channel_folder_id: folder_id } = await administrator.ok('POST', '/channel_folders/create', folder);
    const id = await create(member, 'general');
    const heard = await member.receiving();
    const changes = { new_name: ' All ', description: 'For *all*', folder_id, topics_policy: 'disable_empty_topic' };
    await administrator.ok('PATCH', `/streams/${id}`, changes);
    const { rendered_description, ...channel } = await get(member, id);
    expect(channel).toMatchObject({
      name: 'All',
      description: 'For *all*',
      folder_id,
      topics_policy: 'disable_empty_topic',
    });
    const update = { type: 'stream', op: 'update', stream_id: id, name: expect.any(String) };
    const events = await heard();
    expect(events).toHaveLength(4);
    for (const change of [
      { property: 'name', value: 'All' },
      { property: 'description', value: 'For *all*', rendered_description },
      { property: 'folder_id', value: folder_id },
      { property: 'topics_policy', value: 'disable_empty_topic' },
    ]) {
      expect(events).toContainEqual({ ...update, ...change });
    }
    await administrator.ok('PATCH', `/streams/${id}`, { folder_id: null });
    expect((await get(member, id)).folder_id).toBeNull();
  });

  test.concurrent('makes a public channel private and public again', async () => {
    const { member, moderator, administrator } = await createOrganization();
    const id = await create(member, 'general', { subscribers: [member.id] });
    const heard = await Promise.all([member, moderator].map((person) => person.receiving()));
    await member.ok('PATCH', `/streams/${id}`, { is_private: true });
    expect(await get(member, id)).toMatchObject({ invite_only: true, history_public_to_subscribers: false });
    expect(await moderator.rest('GET', `/streams/${id}`)).toMatchObject(INVALID_ID);
    // An administrator can see the private channel, but not its content.
    const open = await administrator.rest('PATCH', `/streams/${id}`, { is_private: false });
    expect(open).toMatchObject(bad('Channel content access is required.'));
    await member.ok('PATCH', `/streams/${id}`, { is_private: false });
    expect(await get(moderator, id)).toMatchObject({ invite_only: false, history_public_to_subscribers: true });
    const [byMember, byModerator] = await Promise.all(heard.map((hear) => hear()));
    const update = {
      type: 'stream',
      op: 'update',
      stream_id: id,
      name: 'general',
      property: 'invite_only',
      is_web_public: false,
    };
    expect(byMember).toEqual([
      { ...update, value: true, history_public_to_subscribers: false },
      { ...update, value: false, history_public_to_subscribers: true },
    ]);
    expect(byModerator).toMatchObject([
      { type: 'stream', op: 'delete', stream_ids: [id], streams: [{ stream_id: id }] },
      { type: 'stream', op: 'create', streams: [{ stream_id: id, invite_only: false }] },
    ]);
  });

  test.concurrent('sets permissions, optionally only if they have an expected value', async () => {
    const { owner, member } = await createOrganization();
    const { realm_can_manage_all_groups: owners, realm_direct_message_permission_group: everyone } =
      await owner.register();
    const id = await create(member, 'general', { subscribers: [member.id] });
    const change = (value: object) => owner.rest('PATCH', `/streams/${id}`, { can_send_message_group: value });
    const heard = await member.receiving();
    expect((await change({ new: owners, old: everyone })).status).toBe(200);
    expect((await get(member, id)).can_send_message_group).toBe(owners);
    expect(await heard()).toContainEqual(
      expect.objectContaining({ op: 'update', property: 'can_send_message_group', value: owners }),
    );
    const late = await change({ new: everyone, old: everyone });
    expect(late).toMatchObject({ status: 400, body: { code: 'EXPECTATION_MISMATCH', field_name: 'old' } });
    const quiet = await member.receiving();
    expect((await change({ new: owners })).status).toBe(200);
    expect(await quiet()).toEqual([]);
  });

  test.concurrent('sends no event if the values are those that the channel has', async () => {
    const { member } = await createOrganization();
    const id = await create(member, 'general', { subscribers: [member.id] });
    const { name, description, topics_policy, folder_id } = await get(member, id);
    const heard = await member.receiving();
    await member.ok('PATCH', `/streams/${id}`, { description, topics_policy, folder_id });
    expect(await heard()).toEqual([]);
    expect(await get(member, id)).toMatchObject({ name, description, topics_policy, folder_id });
  });

  test.concurrent('adds a channel to the default channels and removes it', async () => {
    const { administrator, member } = await createOrganization();
    const id = await create(administrator, 'general');
    const hidden = await create(administrator, 'hidden', { invite_only: true });
    const heard = await member.receiving();
    await administrator.ok('PATCH', `/streams/${id}`, { is_default_stream: true });
    await administrator.ok('PATCH', `/streams/${id}`, { is_default_stream: false });
    const event = (default_streams: number[]) => ({ type: 'default_streams', default_streams });
    expect(await heard()).toEqual([event([id]), event([])]);
    const refused = await administrator.rest('PATCH', `/streams/${hidden}`, { is_default_stream: true });
    expect(refused).toMatchObject(bad('A default channel cannot be private.'));
  });

  test.concurrent('is for administrators and for users who can administer the channel', async () => {
    const { owner, moderator, member, guest } = await createOrganization();
    const id = await create(member, 'general', { subscribers: [guest.id] });
    const rename = (person: Person, new_name: string) => person.rest('PATCH', `/streams/${id}`, { new_name });
    for (const person of [moderator, guest]) expect(await rename(person, 'mine')).toMatchObject(NOT_ADMINISTERING);
    expect((await rename(member, 'by its creator')).status).toBe(200);
    expect((await rename(owner, 'by the owner')).status).toBe(200);
    const give = { can_administer_channel_group: { new: { direct_members: [moderator.id], direct_subgroups: [] } } };
    await owner.ok('PATCH', `/streams/${id}`, give);
    expect((await rename(moderator, 'by who may')).status).toBe(200);
    expect(await rename(member, 'not any more')).toMatchObject(NOT_ADMINISTERING);
  });

  test.concurrent.for<[string, object, object]>([
    ['the name it has', { new_name: 'general' }, bad('Channel already has that name.')],
    ['a name in use', { new_name: 'OTHER' }, bad('Channel name already in use.')],
    ['a blank name', { new_name: ' ' }, bad("Channel name can't be empty.")],
    ['public without shared history', { history_public_to_subscribers: false }, bad('Invalid parameters')],
    ['web-public and private', { is_web_public: true, is_private: true }, bad('Invalid parameters')],
    ['web-public where that is not enabled', { is_web_public: true }, bad('Web-public channels are not enabled.')],
    ['archiving', { is_archived: true }, bad('To archive a channel, use DELETE /streams/{stream_id}')],
    ['unarchiving what is not archived', { is_archived: false }, bad('Channel is not currently archived')],
    ['a folder that is not there', { folder_id: 2_000_000_000 }, bad('Invalid channel folder ID')],
    ['a permission without its new value', { can_send_message_group: { old: 1 } }, { status: 400 }],
    ['a good change beside a bad one', { new_name: 'fine', topics_policy: 'any' }, bad('Invalid topics_policy')],
  ])('refuses %s', async ([, fields, expected]) => {
    const { owner } = await createOrganization();
    const id = await create(owner, 'general');
    await create(owner, 'other');
    const heard = await owner.receiving();
    expect(await owner.rest('PATCH', `/streams/${id}`, { ...fields })).toMatchObject(expected);
    expect((await get(owner, id)).name).toBe('general');
    expect(await heard()).toEqual([]);
  });

  test.concurrent('changes the case of a name', async () => {
    const { owner } = await createOrganization();
    const id = await create(owner, 'general');
    await owner.ok('PATCH', `/streams/${id}`, { new_name: 'GENERAL' });
    expect((await get(owner, id)).name).toBe('GENERAL');
  });

  test.concurrent('lets only owners change the retention', async () => {
    const { owner, administrator } = await createOrganization();
    const id = await create(administrator, 'general');
    const change = { message_retention_days: 30 };
    const refused = await administrator.rest('PATCH', `/streams/${id}`, change);
    expect(refused).toMatchObject(refusal('UNAUTHORIZED_PRINCIPAL', 'Must be an organization owner'));
    const heard = await administrator.receiving();
    await owner.ok('PATCH', `/streams/${id}`, change);
    await owner.ok('PATCH', `/streams/${id}`, { message_retention_days: '"realm_default"' });
    expect((await heard()).map(({ property, value }) => [property, value])).toEqual([
      ['message_retention_days', 30],
      ['message_retention_days', null],
    ]);
  });

  test.concurrent('refuses unknown channels and channels of another organization', async () => {
    const [{ owner, moderator, member }, other] = await Promise.all([createOrganization(), createOrganization()]);
    const [foreign, hidden] = [await create(other.owner, 'x'), await create(member, 'y', { invite_only: true })];
    for (const [person, id] of [
      [owner, foreign],
      [owner, 2_000_000_000],
      [owner, 2 ** 31],
      [moderator, hidden],
    ] as const) {
      for (const [method, parameters] of [
        ['PATCH', { new_name: 'mine' }],
        ['DELETE', {}],
      ] as const) {
        expect(await person.rest(method, `/streams/${id}`, parameters)).toMatchObject(INVALID_ID);
      }
    }
  });
});

describe('DELETE /streams/{stream_id}', () => {
  test.concurrent('archives the channel, with events by client capability, and PATCH restores it', async () => {
    const { administrator, member, moderator } = await createOrganization();
    const id = await create(member, 'general', { subscribers: [member.id], is_default_stream: undefined });
    const modern = { client_capabilities: { notification_settings_null: true, archived_channels: true } };
    const heard = await Promise.all([
      member.receiving(modern),
      member.receiving(),
      moderator.receiving(modern),
      moderator.receiving(),
    ]);
    await administrator.ok('DELETE', `/streams/${id}`);
    expect((await get(member, id)).is_archived).toBe(true);
    await administrator.ok('PATCH', `/streams/${id}`, { is_archived: false });
    const kinds = (await Promise.all(heard.map((hear) => hear()))).map((events) =>
      events.map(({ type, op, property, value }) =>
        [type, op, property, value].filter((part) => part !== undefined).join(' '),
      ),
    );
    const known = ['stream update is_archived true', 'stream update is_archived false'];
    expect(kinds).toEqual([
      known,
      ['stream delete', 'stream create', 'subscription add'],
      known,
      ['stream delete', 'stream create'],
    ]);
  });

  test.concurrent('removes the channel from the default channels, and is refused for an archived one', async () => {
    const { owner, member } = await createOrganization();
    const id = await create(owner, 'general', { is_default_stream: true });
    await owner.ok('DELETE', `/streams/${id}`);
    expect((await member.register()).realm_default_streams).toEqual([]);
    expect(await owner.rest('DELETE', `/streams/${id}`)).toMatchObject(bad('Channel is already archived'));
  });

  test.concurrent('is for administrators and for users who can administer the channel', async () => {
    const { moderator, guest, member } = await createOrganization();
    const id = await create(member, 'general', { subscribers: [guest.id] });
    for (const person of [moderator, guest]) {
      expect(await person.rest('DELETE', `/streams/${id}`)).toMatchObject(NOT_ADMINISTERING);
    }
    await member.ok('DELETE', `/streams/${id}`);
  });
});

test.concurrent('channel events reach only users who can see the channel', async () => {
  const { owner, moderator, member, guest } = await createOrganization();
  const people = [owner, moderator, member, guest];
  const heard = await Promise.all(people.map((person) => person.receiving({ event_types: ['stream'] })));
  await create(member, 'open');
  await create(member, 'hidden', { invite_only: true, subscribers: [member.id] });
  const names = (await Promise.all(heard.map((hear) => hear()))).map((events) =>
    events.flatMap(({ streams }) => streams.map(({ name }: { name: string }) => name)),
  );
  expect(names).toEqual([['open', 'hidden'], ['open'], ['open', 'hidden'], []]);
});

test.concurrent('every channel endpoint names the parameters that it ignored', async () => {
  const { owner } = await createOrganization();
  let made = 0;
  const one = async () => ({ path: `/streams/${await create(owner, `channel ${++made}`)}` });
  await expectIgnoredParameters(owner, 'GET', async () => ({ path: '/streams' }));
  await expectIgnoredParameters(owner, 'GET', one, 'stream_id');
  const members = async () => ({ path: `${(await one()).path}/members` });
  await expectIgnoredParameters(owner, 'GET', members, 'stream_id');
  const byName = async () => ({ path: '/get_stream_id', parameters: { stream: 'channel 1' } });
  await expectIgnoredParameters(owner, 'GET', byName);
  const asDefault = async () => ({
    path: '/default_streams',
    parameters: { stream_id: await create(owner, `channel ${++made}`) },
  });
  for (const method of ['POST', 'DELETE'] as const) await expectIgnoredParameters(owner, method, asDefault);
  await expectIgnoredParameters(owner, 'PATCH', one, 'stream_id');
  await expectIgnoredParameters(owner, 'DELETE', one, 'stream_id');
  await expectIgnoredParameters(owner, 'POST', async () => ({
    path: '/channels/create',
    parameters: { name: `channel ${++made}`, subscribers: [] },
  }));
});
