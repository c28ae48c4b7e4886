import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type Parameters, Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization, type Organization, serverOf } from '../helpers/server.ts';
import { topicRef, toTopic } from '../helpers/talk.ts';

// Tests that the `viewerCan…` fields of an object agree with the permission checks of the mutations.

const ROLES = ['owner', 'administrator', 'moderator', 'member', 'guest'] as const;

type Type = 'Channel' | 'Message' | 'Topic' | 'User' | 'UserGroup';

/** Returns the value of a field for a viewer of each role. Null if the viewer does not see the object. */
async function said(people: Organization, type: Type, id: number | string, field: string): Promise<(boolean | null)[]> {
  const query = `{ node(id: "${globalId(type, id)}") { ... on ${type} { ${field} } } }`;
  return Promise.all(ROLES.map(async (role) => (await people[role].query(query)).node?.[field] ?? null));
}

/** Returns for each role whether a mutation succeeds. @param fresh Creates the input of each attempt. */
async function done(people: Organization, name: string, fresh: (person: Person) => Promise<Parameters>) {
  const results: boolean[] = [];
  for (const role of ROLES) {
    const { __typename } = await people[role].tryMutation(name, await fresh(people[role]));
    results.push(__typename.endsWith('Payload'));
  }
  return results;
}

/** Returns the values with null as false. */
const truth = (values: readonly (boolean | null)[]) => values.map((value) => value === true);

const makeGroup = async (person: Person, more: Parameters = {}): Promise<number> => {
  const group = { name: crypto.randomUUID(), description: '', members: [], ...more };
  return (await person.ok('POST', '/user_groups/create', group)).group_id;
};

const makeChannel = async (person: Person, more: Parameters = {}): Promise<number> =>
  (await person.ok('POST', '/channels/create', { name: crypto.randomUUID(), subscribers: [], ...more })).id;

const nameOf = async (person: Person, channel: number): Promise<string> =>
  (await person.ok('GET', `/streams/${channel}`)).stream.name;

describe('a user group states whether the viewer can', () => {
  test.concurrent('manage it', async () => {
    const people = await createOrganization();
    const group = await makeGroup(people.moderator);
    expect(truth(await said(people, 'UserGroup', group, 'viewerCanManage'))).toEqual(
      await done(people, 'updateUserGroup', async () => ({ userGroupId: group, description: crypto.randomUUID() })),
    );
    expect(await said(people, 'UserGroup', group, 'viewerCanManage')).toContain(false);
  });

  test.concurrent.for([['nobody'], ['the guest and the member']])('join and leave it, if %s can', async ([whom]) => {
    const people = await createOrganization();
    const { owner, member, guest } = people;
    const more =
      whom === 'nobody' ? {} : { can_join_group: { direct_members: [member.id, guest.id], direct_subgroups: [] } };
    const group = await makeGroup(owner, more);
    const may = truth(await said(people, 'UserGroup', group, 'viewerCanJoin'));
    expect(may).toEqual(
      await done(people, 'updateUserGroupMembers', async ({ id }) => ({ userGroupId: group, addMemberIds: [id] })),
    );
    expect(may).toEqual([true, false, false, whom !== 'nobody', false]);
    // Members of the group cannot join it again. They can leave it, except for guests.
    expect((await said(people, 'UserGroup', group, 'viewerCanJoin')).slice(0, 4)).toEqual([false, false, false, false]);
    const mayLeave = truth(await said(people, 'UserGroup', group, 'viewerCanLeave'));
    expect(mayLeave).toEqual(may);
    expect(mayLeave).toEqual(
      await done(people, 'updateUserGroupMembers', async ({ id }) => ({ userGroupId: group, removeMemberIds: [id] })),
    );
  });

  test.concurrent('add and remove others, if the member and the guest can', async () => {
    const people = await createOrganization();
    const { owner, member, guest } = people;
    const theirs = { direct_members: [member.id, guest.id], direct_subgroups: [] };
    const group = await makeGroup(owner, { can_add_members_group: theirs, can_remove_members_group: theirs });
    const others = async () => {
      const { user_id } = await owner.ok('POST', '/bots', {
        full_name: crypto.randomUUID(),
        short_name: crypto.randomUUID(),
      });
      return user_id as number;
    };
    const mayAdd = truth(await said(people, 'UserGroup', group, 'viewerCanAddMembers'));
    const mayRemove = truth(await said(people, 'UserGroup', group, 'viewerCanRemoveMembers'));
    expect(mayAdd).toEqual(
      await done(people, 'updateUserGroupMembers', async () => ({
        userGroupId: group,
        addMemberIds: [await others()],
      })),
    );
    const leaving = async () => {
      const id = await others();
      await owner.ok('POST', `/user_groups/${group}/members`, { add: [id] });
      return { userGroupId: group, removeMemberIds: [id] };
    };
    expect(mayRemove).toEqual(await done(people, 'updateUserGroupMembers', leaving));
    const more = async () => ({ userGroupId: group, addSubgroupIds: [await makeGroup(owner)] });
    expect(mayAdd).toEqual(await done(people, 'updateUserGroupMembers', more));
    expect(mayAdd.slice(2)).toEqual([false, true, false]);
  });

  test.concurrent('mention it', async () => {
    const people = await createOrganization();
    const { owner, member } = people;
    const name = crypto.randomUUID();
    const group = await makeGroup(owner, {
      ...{ name, can_mention_group: { direct_members: [member.id], direct_subgroups: [] } },
    });
    const channel = await makeChannel(owner, { subscribers: ROLES.map((role) => people[role].id) });
    const may = await said(people, 'UserGroup', group, 'viewerCanMention');
    const mentioning = async () => ({ to: toTopic(channel, 'a'), content: `@*${name}*` });
    expect(truth(may)).toEqual(await done(people, 'sendMessage', mentioning));
    expect(may.slice(0, 4)).toEqual([false, false, false, true]);
  });
});

describe('a channel states whether the viewer can', () => {
  test.concurrent.for([
    ['a public one', {}],
    ['a private one', { invite_only: true }],
  ] as const)('administer, subscribe to, and add subscribers to %s', async ([, more]) => {
    const people = await createOrganization();
    const { owner, moderator, member } = people;
    const channel = await makeChannel(moderator, { ...more, subscribers: [member.id] });
    const [administer, subscribe, add] = await Promise.all(
      ['viewerCanAdminister', 'viewerCanSubscribe', 'viewerCanAddSubscribers'].map(async (field) =>
        truth(await said(people, 'Channel', channel, field)),
      ),
    );
    expect(administer).toEqual(
      await done(people, 'updateChannel', async () => ({ channelId: channel, description: crypto.randomUUID() })),
    );
    expect(add).toEqual(
      await done(people, 'subscribe', async () => ({
        channels: [{ channel: { id: globalId('Channel', channel) } }],
        userIds: [member.id],
      })),
    );
    expect(subscribe).toEqual(
      await done(people, 'subscribe', async () => ({ channels: [{ channel: { id: globalId('Channel', channel) } }] })),
    );
    expect([administer, subscribe, add].map((answers) => new Set(answers).size)).toEqual([2, 2, 2]);
    expect(
      await owner.query(`{ channel(by: { id: "${globalId('Channel', channel)}" }) { viewerCanAdminister } }`),
    ).toEqual({
      channel: { viewerCanAdminister: true },
    });
  });
});

describe('a channel states whether the viewer can unsubscribe others', () => {
  test.concurrent.for([
    ['a public one', {}, [true, true, true, false, false]],
    ['a private one', { invite_only: true }, [true, true, true, false, false]],
    ['one whose members remove others', 'members', [true, true, true, true, false]],
  ] as const)('from %s', async ([, options, expected]) => {
    const people = await createOrganization({ ada: 'member' });
    const { owner, moderator, member, guest, ada } = people as Organization & { ada: Person };
    const named = { direct_members: [member.id, guest.id], direct_subgroups: [] };
    const more = options === 'members' ? { can_remove_subscribers_group: named } : options;
    const channel = await makeChannel(moderator, { ...more, subscribers: [member.id, guest.id] });
    const may = await said(people, 'Channel', channel, 'viewerCanRemoveSubscribers');
    const removing = async () => {
      const subscriptions = [{ name: await nameOf(owner, channel) }];
      await member.ok('POST', '/users/me/subscriptions', { subscriptions, principals: [ada.id] });
      return { channels: [{ id: globalId('Channel', channel) }], userIds: [ada.id] };
    };
    expect(truth(may)).toEqual(await done(people, 'unsubscribe', removing));
    expect(may).toEqual(expected);
  });
});

describe('a channel states whether the viewer can post', () => {
  test.concurrent.for([
    ['a public one', {}],
    ['one where moderators send', { can_send_message_group: 'moderators' }],
    ['one where moderators start topics', { can_create_topic_group: 'moderators' }],
    ['one that all are subscribed to', { subscribed: true }],
    ['a private one', { invite_only: true }],
    ['one without topics', { topics_policy: 'empty_topic_only', subscribed: true }],
    ['one in the archive', { archived: true, subscribed: true }],
  ] as const)('in %s', async ([, options]) => {
    const people = await createOrganization();
    const { owner, member } = people;
    const { subscribed = false, archived = false, ...settings } = { ...options } as Record<string, unknown>;
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const moderators = realm_user_groups.find(({ name }: { name: string }) => name === 'role:moderators').id;
    const more = Object.entries(settings).map(([name, value]) => [name, value === 'moderators' ? moderators : value]);
    const subscribers = subscribed === true ? ROLES.map((role) => people[role].id) : [owner.id, member.id];
    const channel = await makeChannel(owner, { ...Object.fromEntries(more), subscribers });
    const topic = settings['topics_policy'] === undefined ? 'there' : '';
    await owner.ok('POST', '/messages', { type: 'channel', to: channel, topic, content: 'x' });
    if (archived === true) await owner.ok('DELETE', `/streams/${channel}`);
    const [post, create] = await Promise.all(
      ['viewerCanPost', 'viewerCanCreateTopic'].map(async (field) =>
        truth(await said(people, 'Channel', channel, field)),
      ),
    );
    expect(post).toEqual(
      await done(people, 'sendMessage', async () => ({ to: toTopic(channel, topic), content: 'x' })),
    );
    expect(create).toEqual(
      await done(people, 'sendMessage', async () => ({ to: toTopic(channel, crypto.randomUUID()), content: 'x' })),
    );
  });

  test.concurrent('in one to which the owner of the viewer, a bot, is subscribed', async () => {
    const { owner, member } = await createOrganization();
    const { user_id } = await member.ok('POST', '/bots', { full_name: 'Own bot', short_name: 'own' });
    const { api_key } = await member.ok('GET', `/bots/${user_id}/api_key`);
    const { user } = await member.ok('GET', `/users/${user_id}`);
    const account = { id: user_id, name: 'Own bot', email: user.email, apiKey: api_key, role: 400 };
    const bot = new Person(member, account);
    // The bot can see these channels, but not read them. Its owner is subscribed to one of them.
    const seen = {
      invite_only: true,
      can_administer_channel_group: { direct_members: [user_id], direct_subgroups: [] },
    };
    const channels = [
      await makeChannel(owner, { ...seen, subscribers: [member.id] }),
      await makeChannel(owner, { ...seen, subscribers: [owner.id] }),
      // The bot has the permissions of its owner as well.
      await makeChannel(owner, { can_send_message_group: { direct_members: [member.id], direct_subgroups: [] } }),
      await makeChannel(owner, { can_send_message_group: { direct_members: [owner.id], direct_subgroups: [] } }),
    ];
    const said: boolean[] = [];
    const sent: boolean[] = [];
    for (const channelId of channels) {
      const query = `{ channel(by: { id: "${globalId('Channel', channelId)}" }) { viewerCanPost } }`;
      said.push((await bot.query(query)).channel.viewerCanPost);
      const { __typename } = await bot.tryMutation('sendMessage', { to: toTopic(channelId, 'a'), content: 'x' });
      sent.push(__typename === 'SendMessagePayload');
    }
    expect([said, sent]).toEqual([
      [true, false, true, false],
      [true, false, true, false],
    ]);
  });
});

describe('a message states whether the viewer can', () => {
  const ALL_SUBSCRIBED = (people: Organization) => ({ subscribers: ROLES.map((role) => people[role].id) });
  const say = async (by: Person, channel: number, topic = 'a'): Promise<number> =>
    (await by.ok('POST', '/messages', { type: 'channel', to: channel, topic, content: 'x' })).id;

  test.concurrent('edit it, which only its sender can', async () => {
    const people = await createOrganization();
    const { owner, member } = people;
    const channel = await makeChannel(owner, ALL_SUBSCRIBED(people));
    const id = await say(member, channel);
    const edit = async () => ({ messageId: id, content: crypto.randomUUID() });
    const may = truth(await said(people, 'Message', id, 'viewerCanEdit'));
    expect(may).toEqual([false, false, false, true, false]);
    expect(may).toEqual(await done(people, 'editMessage', edit));
    await owner.ok('PATCH', '/realm', { allow_message_editing: false });
    expect(await said(people, 'Message', id, 'viewerCanEdit')).not.toContain(true);
    expect(await done(people, 'editMessage', edit)).not.toContain(true);
  });

  test.concurrent.for([
    ['their own', 'member'],
    ["somebody else's", 'administrator'],
  ] as const)('delete %s', async ([, author]) => {
    const people = await createOrganization();
    const { owner, member } = people;
    const channel = await makeChannel(owner, {
      ...{
        ...ALL_SUBSCRIBED(people),
        can_delete_own_message_group: { direct_members: [member.id], direct_subgroups: [] },
      },
    });
    const id = await say(people[author], channel);
    const may = truth(await said(people, 'Message', id, 'viewerCanDelete'));
    expect(may).toEqual(
      await done(people, 'deleteMessage', async () => ({ messageId: await say(people[author], channel) })),
    );
    expect(new Set(may).size).toBe(2);
    await owner.ok('DELETE', `/streams/${channel}`);
    expect(await said(people, 'Message', id, 'viewerCanDelete')).not.toContain(true);
  });

  test.concurrent('move it', async () => {
    const people = await createOrganization();
    const { owner, member, guest } = people;
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const moderators = realm_user_groups.find(({ name }: { name: string }) => name === 'role:moderators').id;
    await owner.ok('PATCH', '/realm', {
      can_move_messages_between_topics_group: { new: moderators },
      can_move_messages_between_channels_group: { new: moderators },
    });
    const channel = await makeChannel(owner, ALL_SUBSCRIBED(people));
    const id = await say(member, channel);
    const may = truth(await said(people, 'Message', id, 'viewerCanMove'));
    expect(may).toEqual([true, true, true, false, false]);
    expect(may).toEqual(
      await done(people, 'moveMessages', async () => ({ messageId: id, to: topicRef(channel, crypto.randomUUID()) })),
    );
    const direct = (await owner.ok('POST', '/messages', { type: 'direct', to: [guest.id], content: 'x' })).id;
    expect(await said(people, 'Message', direct, 'viewerCanMove')).toEqual([false, null, null, null, false]);
  });

  test.concurrent.for([
    ['a public channel', false],
    ['an archived channel', true],
  ] as const)('react to it, in %s', async ([, archived]) => {
    const people = await createOrganization();
    const { owner, member, moderator } = people;
    const channel = await makeChannel(owner, { subscribers: [owner.id, member.id] });
    const id = await say(member, channel);
    if (archived) await owner.ok('DELETE', `/streams/${channel}`);
    const may = await said(people, 'Message', id, 'viewerCanReact');
    const reacting = async () => ({ messageId: id, emoji: { name: 'tada' } });
    expect(truth(may)).toEqual(await done(people, 'addReaction', reacting));
    expect(may).toEqual(archived ? [false, false, false, false, null] : [true, true, true, true, null]);
    const direct = (await owner.ok('POST', '/messages', { type: 'direct', to: [moderator.id], content: 'x' })).id;
    const mayDirect = await said(people, 'Message', direct, 'viewerCanReact');
    expect(mayDirect).toEqual([true, null, true, null, null]);
    const inConversation = async () => ({ messageId: direct, emoji: { name: 'tada' } });
    expect(truth(mayDirect)).toEqual(await done(people, 'addReaction', inConversation));
  });

  test.concurrent('mark its topic as resolved', async () => {
    const people = await createOrganization();
    const { owner, member } = people;
    const channel = await makeChannel(owner, ALL_SUBSCRIBED(people));
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const moderators = realm_user_groups.find(({ name }: { name: string }) => name === 'role:moderators').id;
    await owner.ok('PATCH', '/realm', { can_resolve_topics_group: { new: moderators } });
    const id = await say(member, channel);
    const query = `{ node(id: "${globalId('Message', id)}") { ... on Message { topic { name viewerCanResolve } } } }`;
    const topics = await Promise.all(ROLES.map(async (role) => (await people[role].query(query)).node.topic));
    const may = topics.map(({ viewerCanResolve }) => viewerCanResolve);
    expect(may).toEqual([true, true, true, false, false]);
    const resolving = async () => {
      const messageId = await say(member, channel, crypto.randomUUID());
      const { topic } = (await owner.query(query.replace(globalId('Message', id), globalId('Message', messageId))))
        .node;
      return { messageId, to: topicRef(channel, `✔ ${topic.name}`), propagateMode: 'CHANGE_ALL' };
    };
    expect(may).toEqual(await done(people, 'moveMessages', resolving));
    await owner.ok('DELETE', `/streams/${channel}`);
    expect((await owner.query(query)).node.topic.viewerCanResolve).toBe(false);
  });
});

describe('a topic states whether the viewer can', () => {
  const say = async (by: Person, channel: number, topic: string): Promise<number> =>
    (await by.ok('POST', '/messages', { type: 'channel', to: channel, topic, content: 'x' })).id;
  const topicSaid = (people: Organization, channel: number, field: string) =>
    said(people, 'Topic', `${channel}:a`, field);

  test.concurrent.for([
    ['a public channel', {}],
    ['a private channel', { invite_only: true }],
  ] as const)('delete it, in %s', async ([, more]) => {
    const people = await createOrganization();
    const { owner, moderator, member, guest } = people;
    const subscribers = [owner, moderator, member, guest].map(({ id }) => id);
    const channel = await makeChannel(owner, { ...more, subscribers });
    await say(member, channel, 'a');
    const may = await topicSaid(people, channel, 'viewerCanDelete');
    const isPublic = !('invite_only' in more);
    expect(may).toEqual([true, isPublic ? true : null, false, false, false]);
    const deleting = async () => {
      const topic = crypto.randomUUID();
      await say(member, channel, topic);
      return toTopic(channel, topic);
    };
    expect(truth(may)).toEqual(await done(people, 'deleteTopic', deleting));
    await owner.ok('DELETE', `/streams/${channel}`);
    expect(await topicSaid(people, channel, 'viewerCanDelete')).not.toContain(true);
    expect(await done(people, 'deleteTopic', async () => toTopic(channel, 'a'))).not.toContain(true);
  });

  test.concurrent('move it', async () => {
    const people = await createOrganization();
    const { owner, member } = people;
    const channel = await makeChannel(owner, { subscribers: ROLES.map((role) => people[role].id) });
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const moderators = realm_user_groups.find(({ name }: { name: string }) => name === 'role:moderators').id;
    await owner.ok('PATCH', '/realm', {
      can_move_messages_between_topics_group: { new: moderators },
      can_move_messages_between_channels_group: { new: moderators },
    });
    await say(member, channel, 'a');
    const may = await topicSaid(people, channel, 'viewerCanMove');
    const moving = async () => ({
      messageId: await say(member, channel, crypto.randomUUID()),
      ...{ to: topicRef(channel, crypto.randomUUID()), propagateMode: 'CHANGE_ALL' },
    });
    expect(may).toEqual(await done(people, 'moveMessages', moving));
    expect(may).toEqual([true, true, true, false, false]);
    await owner.ok('DELETE', `/streams/${channel}`);
    expect(await topicSaid(people, channel, 'viewerCanMove')).not.toContain(true);
  });

  test.concurrent('do nothing of this, if all its messages were moved away', async () => {
    const { owner } = await createOrganization();
    const channel = await makeChannel(owner, { subscribers: [owner.id] });
    const messageId = await say(owner, channel, 'a');
    await owner.mutate('moveMessages', { messageId, to: topicRef(channel, 'b') }, '__typename');
    const { topic } = await owner.query(
      `{ topic(by: { id: "${globalId('Topic', `${channel}:a`)}" }) { name viewerCanDelete viewerCanMove viewerCanResolve } }`,
    );
    expect(topic).toEqual({ name: 'a', viewerCanDelete: false, viewerCanMove: false, viewerCanResolve: false });
  });
});

describe('a user states whether the viewer can', () => {
  test.concurrent('edit them', async () => {
    const people = await createOrganization();
    const { id } = people.bot;
    const may = truth(await said(people, 'User', id, 'viewerCanEdit'));
    const edit = async () => ({ userId: id, fullName: crypto.randomUUID() });
    expect(may).toEqual(await done(people, 'updateUser', edit));
    expect(may).toEqual([true, true, false, false, false]);
  });

  test.concurrent('deactivate them, for a member, an owner and the only owner', async () => {
    const people = await createOrganization({ ada: 'member', chief: 'owner' });
    const { owner, ada, chief } = people as Organization & { ada: Person; chief: Person };
    const check = async (who: Person, expected: readonly boolean[]) => {
      expect(truth(await said(people, 'User', who.id, 'viewerCanDeactivate'))).toEqual(expected);
      const active = async () => {
        const { node } = await owner.query(`{ node(id: "${globalId('User', who.id)}") { ... on User { isActive } } }`);
        if (!node.isActive) await owner.mutate('reactivateUser', { userId: who.id }, 'user { isActive }');
        return { userId: who.id };
      };
      expect(await done(people, 'deactivateUser', active)).toEqual(expected);
    };
    await check(ada, [true, true, false, false, false]);
    await check(chief, [true, false, false, false, false]);
    await owner.mutate('deactivateUser', { userId: chief.id }, 'user { isActive }');
    expect(await said(people, 'User', chief.id, 'viewerCanDeactivate')).not.toContain(true);
    await check(owner, [false, false, false, false, false]);
  });

  describe('send a direct message to them', () => {
    const check = async (people: Organization, to: Person, expected: readonly boolean[]) => {
      const may = await said(people, 'User', to.id, 'viewerCanDirectMessage');
      expect(may).toEqual(expected);
      const sending = async () => ({ to: { direct: [globalId('User', to.id)] }, content: 'x' });
      expect(await done(people, 'sendMessage', sending)).toEqual(expected);
    };
    const groupsOf = async (owner: Person): Promise<(name: string) => number> => {
      const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
      return (name) => realm_user_groups.find((group: { name: string }) => group.name === `role:${name}`).id;
    };

    test.concurrent('if all can, and they are active', async () => {
      const people = await createOrganization({ ada: 'member' });
      const { owner, member, ada } = people as Organization & { ada: Person };
      await check(people, member, [true, true, true, true, true]);
      await owner.mutate('deactivateUser', { userId: ada.id }, 'user { isActive }');
      await check(people, ada, [false, false, false, false, false]);
    });

    test.concurrent('if one of both authorizes it', async () => {
      const people = await createOrganization({ ada: 'member' });
      const { owner, administrator, ada } = people as Organization & { ada: Person };
      const group = await groupsOf(owner);
      await owner.ok('PATCH', '/realm', { direct_message_permission_group: { new: group('moderators') } });
      await check(people, administrator, [true, true, true, true, true]);
      await check(people, ada, [true, true, true, false, false]);
      await owner.ok('PATCH', '/realm', { direct_message_permission_group: { new: group('nobody') } });
      // Only notes to self are permitted.
      await check(people, administrator, [false, true, false, false, false]);
      const query = `{ node(id: "${globalId('User', ada.id)}") { ... on User { viewerCanDirectMessage } } }`;
      expect(await people.bot.query(query)).toEqual({ node: { viewerCanDirectMessage: true } });
      const sent = { to: { direct: [globalId('User', ada.id)] }, content: 'x' };
      expect((await people.bot.tryMutation('sendMessage', sent)).__typename).toBe('SendMessagePayload');
    });

    test.concurrent('if they can begin the conversation, or it exists', async () => {
      const people = await createOrganization({ ada: 'member' });
      const { owner, guest, ada } = people as Organization & { ada: Person };
      await guest.ok('POST', '/messages', { type: 'direct', to: [ada.id], content: 'x' });
      const group = await groupsOf(owner);
      await owner.ok('PATCH', '/realm', { direct_message_initiator_group: { new: group('administrators') } });
      await check(people, ada, [true, true, false, false, true]);
    });
  });
});

describe('the organization states whether the viewer can', () => {
  const fresh = () => crypto.randomUUID();
  const says = async (people: Organization, field: string): Promise<boolean[]> =>
    Promise.all(
      ROLES.map(async (role) => (await people[role].query(`{ organization { ${field} } }`)).organization[field]),
    );
  /** Checks that the field and the mutation agree on which roles have the permission. */
  const expectBoth = async (people: Organization, { field, by, input }: Case, who: readonly boolean[]) => {
    expect(await says(people, field)).toEqual(who);
    expect(await done(people, by, async () => input())).toEqual(who);
  };
  interface Case {
    readonly field: string;
    readonly by: string;
    readonly input: () => Parameters;
  }
  const NOBODY = [false, false, false, false, false];
  const OWNERS = [true, false, false, false, false];
  const ADMINISTRATORS = [true, true, false, false, false];
  const MEMBERS = [true, true, true, true, false];
  const retention = () => 30 + Math.floor(Math.random() * 1e6);

  test.concurrent.for<Case & { who: boolean[] }>([
    { field: 'viewerCanEdit', by: 'updateOrganization', input: () => ({ name: fresh() }), who: ADMINISTRATORS },
    {
      ...{ field: 'viewerCanEditOwnerSettings', by: 'updateOrganization', who: OWNERS },
      input: () => ({ messageRetentionDays: retention() }),
    },
    {
      ...{ field: 'viewerCanEditUserDefaults', by: 'updateUserSettingsDefaults', who: ADMINISTRATORS },
      input: () => ({ settings: { enterSends: true } }),
    },
    {
      ...{ field: 'viewerCanManageDomains', by: 'addOrganizationDomain', who: OWNERS },
      input: () => ({ domain: `${fresh()}.example`, allowSubdomains: false }),
    },
    {
      ...{ field: 'viewerCanManageProfileFields', by: 'createCustomProfileField', who: ADMINISTRATORS },
      input: () => ({ type: 'SHORT_TEXT', name: fresh() }),
    },
    {
      ...{ field: 'viewerCanManageChannelFolders', by: 'createChannelFolder', who: ADMINISTRATORS },
      input: () => ({ name: fresh(), description: '' }),
    },
    {
      ...{ field: 'viewerCanChooseDefaultChannels', by: 'createChannel', who: ADMINISTRATORS },
      input: () => ({ name: fresh(), isDefault: true }),
    },
  ])('act by their role: $field', async ({ who, ...one }) => {
    await expectBoth(await createOrganization(), one, who);
  });

  test.concurrent.for<Case & { permission: string }>([
    {
      ...{ field: 'viewerCanCreateBots', by: 'createBot', permission: 'can_create_bots_group' },
      input: () => ({ fullName: fresh(), shortName: fresh() }),
    },
    {
      ...{ field: 'viewerCanCreateUserGroups', by: 'createUserGroup', permission: 'can_create_groups' },
      input: () => ({ name: fresh(), description: '', memberIds: [] }),
    },
    {
      ...{ field: 'viewerCanCreatePublicChannels', by: 'createChannel' },
      ...{ input: () => ({ name: fresh() }), permission: 'can_create_public_channel_group' },
    },
    {
      ...{ field: 'viewerCanCreatePrivateChannels', by: 'createChannel' },
      ...{ input: () => ({ name: fresh(), privacy: 'PRIVATE' }), permission: 'can_create_private_channel_group' },
    },
    {
      ...{ field: 'viewerCanAddCustomEmoji', by: 'addCustomEmoji', permission: 'can_add_custom_emoji_group' },
      input: () => ({ name: fresh(), image: PNG }),
    },
  ])('act with a permission: $field', async ({ permission, ...one }) => {
    const people = await createOrganization();
    const { owner, moderator, guest } = people;
    await expectBoth(people, one, MEMBERS);
    // A guest does not have the permission even if it names them. It also cannot be given to everyone.
    const named = { direct_members: [moderator.id, guest.id], direct_subgroups: [] };
    await owner.ok('PATCH', '/realm', { [permission]: { new: named } });
    await expectBoth(people, one, [false, false, true, false, false]);
    const { realm_user_groups } = await owner.register({ fetch_event_types: ['realm_user_groups'] });
    const everyone = realm_user_groups.find(({ name }: { name: string }) => name === 'role:everyone').id;
    expect((await owner.rest('PATCH', '/realm', { [permission]: { new: everyone } })).status).toBe(400);
  });

  test.concurrent('create web-public channels, if the organization has any', async () => {
    const people = await createOrganization();
    const input = () => ({ name: fresh(), privacy: 'WEB_PUBLIC' });
    const one = { field: 'viewerCanCreateWebPublicChannels', by: 'createChannel', input };
    await expectBoth(people, one, NOBODY);
    await people.owner.ok('PATCH', '/realm', { enable_spectator_access: true });
    await expectBoth(people, one, OWNERS);
  });

  test.concurrent('create users, which also requires a permission of the account', async () => {
    const people = await createOrganization();
    const { organization, administrator, member } = people;
    const input = () => ({ email: `${fresh()}@new.example`, fullName: fresh(), password: fresh() });
    const one = { field: 'viewerCanCreateUsers', by: 'createUser', input };
    // The user who created the organization has this permission.
    await expectBoth(people, one, OWNERS);
    for (const { email: user } of [administrator, member]) {
      await runCommand(serverOf().dataDir, 'user grant', {
        org: organization.subdomain,
        user,
        right: 'can_create_users',
      });
    }
    await expectBoth(people, one, ADMINISTRATORS);
  });

  test.concurrent('create bots, which bots cannot', async () => {
    const { bot } = await createOrganization();
    expect(await bot.query('{ organization { viewerCanCreateBots viewerCanCreateUserGroups } }')).toEqual({
      organization: { viewerCanCreateBots: false, viewerCanCreateUserGroups: true },
    });
    const { __typename } = await bot.tryMutation('createBot', { fullName: fresh(), shortName: fresh() });
    expect(__typename).toBe('ForbiddenError');
  });
});
