import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

// Tests that the list and the narrow of starred messages agree. When a user loses access to a message, the user's star on it is
// removed.

interface Starred {
  /** The user who starred the message. */
  readonly by: Person;
  readonly id: number;
  /** Makes the user lose access to the message. */
  lose(): Promise<unknown>;
}

/**
 * The organization that all cases share. Each case has users, channels and groups of its own, whose names contain the number
 * `nth`.
 */
interface House extends Pick<Organization, 'owner' | 'member' | 'guest'> {
  readonly nth: number;
}

let place: Organization;
let made = 0;
beforeAll(async () => {
  place = await createOrganization();
});
async function house(): Promise<House> {
  const nth = ++made;
  const member = await place.signUp(`member ${nth}`);
  return { nth, owner: place.owner, member, guest: await place.signUp(`guest ${nth}`, 'guest') };
}

const star = (by: Person, messages: readonly number[]) =>
  by.rest('POST', '/messages/flags', { messages, op: 'add', flag: 'starred' });
const listed = async (by: Person): Promise<number[]> =>
  (await by.register({ fetch_event_types: ['starred_messages'] })).starred_messages;
const narrowed = async (by: Person): Promise<number[]> => {
  const narrow = [{ operator: 'is', operand: 'starred' }];
  const { messages } = await by.ok('GET', '/messages', { anchor: 'newest', num_before: 50, num_after: 0, narrow });
  return messages.map(({ id }: Json) => id);
};
const leave = (by: Person, channel: string) => by.ok('DELETE', '/users/me/subscriptions', { subscriptions: [channel] });
const HIDDEN = { invite_only: true, history_public_to_subscribers: true };
const GUARDED = { invite_only: true, history_public_to_subscribers: false };
const groupNamed = async (by: Person, name: string): Promise<number> =>
  (await by.register({ fetch_event_types: ['realm_user_groups'] })).realm_user_groups.find((g: Json) => g.name === name)
    .id;
const groupOf = async (by: Person, name: string, members: readonly Person[]): Promise<number> =>
  (await by.ok('POST', '/user_groups/create', { name, description: '', members: members.map(({ id }) => id) }))
    .group_id;

const WAYS: Readonly<Record<string, (org: House) => Promise<Starred>>> = {
  'leaves a private channel': async ({ owner, member, nth }) => {
    const channel = await channelOf(owner, `hidden ${nth}`, [owner, member], HIDDEN);
    return { by: member, id: await say(owner, channel, 'a'), lose: () => leave(member, `hidden ${nth}`) };
  },
  'is removed from a private channel': async ({ owner, member, nth }) => {
    const channel = await channelOf(owner, `hidden ${nth}`, [owner, member], HIDDEN);
    const lose = () =>
      owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: [`hidden ${nth}`], principals: [member.id] });
    return { by: member, id: await say(owner, channel, 'a'), lose };
  },
  'leaves a channel with protected history': async ({ owner, member, nth }) => {
    const channel = await channelOf(owner, `guarded ${nth}`, [owner, member], GUARDED);
    return { by: member, id: await say(member, channel, 'a'), lose: () => leave(member, `guarded ${nth}`) };
  },
  'leaves a public channel as a guest': async ({ owner, guest, nth }) => {
    const channel = await channelOf(owner, `open ${nth}`, [owner, guest]);
    return { by: guest, id: await say(owner, channel, 'a'), lose: () => leave(guest, `open ${nth}`) };
  },
  'becomes a guest': async ({ owner, member, nth }) => {
    const channel = await channelOf(owner, `open ${nth}`, [owner]);
    const lose = () => owner.ok('PATCH', `/users/${member.id}`, { role: 600 });
    return { by: member, id: await say(owner, channel, 'a'), lose };
  },
  'is not subscribed when the channel becomes private': async ({ owner, member, nth }) => {
    const channel = await channelOf(owner, `open ${nth}`, [owner]);
    const lose = () => owner.ok('PATCH', `/streams/${channel}`, { is_private: true });
    return { by: member, id: await say(owner, channel, 'a'), lose };
  },
  'joined late when the history becomes protected': async ({ owner, member, nth }) => {
    const channel = await channelOf(owner, `hidden ${nth}`, [owner], HIDDEN);
    const id = await say(owner, channel, 'a');
    await owner.ok('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: `hidden ${nth}` }],
      principals: [member.id],
    });
    const lose = () => owner.ok('PATCH', `/streams/${channel}`, { history_public_to_subscribers: false });
    return { by: member, id, lose };
  },
  'is a guest when the channel is no longer readable without an account': async ({ owner, guest, nth }) => {
    await owner.ok('PATCH', '/realm', { enable_spectator_access: true });
    const channel = await channelOf(owner, `web ${nth}`, [owner], { is_web_public: true });
    const lose = () => owner.ok('PATCH', `/streams/${channel}`, { is_web_public: false });
    return { by: guest, id: await say(owner, channel, 'a'), lose };
  },
  'leaves the group that can read the channel': async ({ owner, member, nth }) => {
    const group = await groupOf(owner, `readers ${nth}`, [member]);
    const channel = await channelOf(owner, `hidden ${nth}`, [owner], { ...HIDDEN, can_subscribe_group: group });
    const lose = () => owner.ok('POST', `/user_groups/${group}/members`, { delete: [member.id] });
    return { by: member, id: await say(owner, channel, 'a'), lose };
  },
  'is in a subgroup that leaves the group that can read the channel': async ({ owner, member, nth }) => {
    const inner = await groupOf(owner, `inner ${nth}`, [member]);
    const group = await groupOf(owner, `readers ${nth}`, []);
    await owner.ok('POST', `/user_groups/${group}/subgroups`, { add: [inner] });
    const channel = await channelOf(owner, `hidden ${nth}`, [owner], { ...HIDDEN, can_add_subscribers_group: group });
    const lose = () => owner.ok('POST', `/user_groups/${group}/subgroups`, { delete: [inner] });
    return { by: member, id: await say(owner, channel, 'a'), lose };
  },
  'is in a group from which the permission is taken': async ({ owner, member, nth }) => {
    const group = await groupOf(owner, `readers ${nth}`, [member]);
    const channel = await channelOf(owner, `hidden ${nth}`, [owner], { ...HIDDEN, can_subscribe_group: group });
    const none = { direct_members: [], direct_subgroups: [] };
    const lose = () => owner.ok('PATCH', `/streams/${channel}`, { can_subscribe_group: { new: none } });
    return { by: member, id: await say(owner, channel, 'a'), lose };
  },
  'is no longer a full member': async ({ owner, member, nth }) => {
    const group = await groupNamed(owner, 'role:fullmembers');
    const channel = await channelOf(owner, `hidden ${nth}`, [owner], { ...HIDDEN, can_subscribe_group: group });
    const lose = () => owner.ok('PATCH', '/realm', { waiting_period_threshold: 10 });
    return { by: member, id: await say(owner, channel, 'a'), lose };
  },
  'loses a message to a private channel': async ({ owner, member, nth }) => {
    const open = await channelOf(owner, `open ${nth}`, [owner, member]);
    const hidden = await channelOf(owner, `hidden ${nth}`, [owner], HIDDEN);
    const id = await say(owner, open, 'a');
    const move = { stream_id: hidden, propagate_mode: 'change_all' };
    return { by: member, id, lose: () => owner.ok('PATCH', `/messages/${id}`, move) };
  },
  'loses a message of a private channel that a group can read to another': async ({ owner, member, nth }) => {
    const group = await groupOf(owner, `readers ${nth}`, [member]);
    const from = await channelOf(owner, `hidden ${nth}`, [owner], { ...HIDDEN, can_subscribe_group: group });
    const to = await channelOf(owner, `more hidden ${nth}`, [owner], HIDDEN);
    const id = await say(owner, from, 'a');
    const move = { stream_id: to, propagate_mode: 'change_one' };
    return { by: member, id, lose: () => owner.ok('PATCH', `/messages/${id}`, move) };
  },
  'never received a message that moves to a protected history': async ({ owner, member, nth }) => {
    const open = await channelOf(owner, `open ${nth}`, [owner]);
    const guarded = await channelOf(owner, `guarded ${nth}`, [owner, member], GUARDED);
    const id = await say(owner, open, 'a');
    const move = { stream_id: guarded, propagate_mode: 'change_one' };
    return { by: member, id, lose: () => owner.ok('PATCH', `/messages/${id}`, move) };
  },
};

describe('a user with a starred message', () => {
  test.for(Object.entries(WAYS))('who %s loses the star and is notified', async ([, prepare]) => {
    const org = await house();
    const { by, id, lose } = await prepare(org);
    const kept = await say(by, await channelOf(org.owner, `kept ${org.nth}`, [org.owner, by]), 'stays');
    expect((await star(by, [id, kept])).status).toBe(200);
    const hear = await by.receiving({ event_types: ['update_message_flags'] });
    await lose();
    const removed = { type: 'update_message_flags', op: 'remove', flag: 'starred', messages: [id] };
    expect(await hear()).toEqual([expect.objectContaining(removed)]);
    expect(await listed(by)).toEqual([kept]);
    expect(await narrowed(by)).toEqual([kept]);
    // The star does not return when the user regains access. The user cannot star the message while it is not readable.
    expect((await star(by, [id])).body).toMatchObject({ result: 'error', msg: 'Invalid message(s)' });
    expect(await listed(by)).toEqual([kept]);
  });

  test('keeps it while they can still read the message', async () => {
    const { owner, member, nth } = await house();
    await owner.ok('PATCH', '/realm', { waiting_period_threshold: 0 });
    const open = await channelOf(owner, `open ${nth}`, [owner, member]);
    const hidden = await channelOf(owner, `hidden ${nth}`, [owner, member], HIDDEN);
    const guarded = await channelOf(owner, `guarded ${nth}`, [owner, member], GUARDED);
    const { id: direct } = await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content: 'hi' });
    const ids = [await say(owner, open, 'a'), await say(owner, hidden, 'a'), await say(owner, guarded, 'a'), direct];
    await star(member, ids);
    const hear = await member.receiving({ event_types: ['update_message_flags'] });
    await leave(member, `open ${nth}`);
    await owner.ok('PATCH', `/streams/${hidden}`, { history_public_to_subscribers: false });
    await owner.ok('DELETE', `/streams/${guarded}`);
    await owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
    await owner.ok('PATCH', '/realm', { waiting_period_threshold: 10 });
    expect(await hear()).toEqual([]);
    expect((await listed(member)).toSorted()).toEqual(ids.toSorted());
    expect((await narrowed(member)).toSorted()).toEqual(ids.toSorted());
  });
});
