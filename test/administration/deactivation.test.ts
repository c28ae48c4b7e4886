import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Ctx, signedIn } from '../../src/access/context.ts';
import { readerAccess, signIn } from '../../src/access/sign-in.ts';
import { regenerateBotKey } from '../../src/administration/bots/keys.ts';
import { createBot, deactivateBot, updateBot } from '../../src/administration/bots/service.ts';
import { addOrganizationDomain } from '../../src/administration/domains/service.ts';
import { updateUserDefaults } from '../../src/administration/user-defaults/service.ts';
import { updateGroupMembers } from '../../src/administration/user-groups/members.ts';
import { createUserGroup } from '../../src/administration/user-groups/service.ts';
import { updateUser } from '../../src/administration/users/service.ts';
import { updateSettingsOf } from '../../src/administration/users/settings-of-others.ts';
import { createChannel } from '../../src/channels/create.ts';
import { subscribe } from '../../src/channels/subscribe.ts';
import { updateChannel } from '../../src/channels/update.ts';
import { EventStream as LogStream, type StreamSink } from '../../src/events/stream.ts';
import { updateMessage } from '../../src/messages/edits/edit.ts';
import { addReaction } from '../../src/messages/reactions/service.ts';
import { createProfileField } from '../../src/people/profile-fields/fields.ts';
import { runCommand } from '../helpers/control.ts';
import { newDataDir } from '../helpers/data-dir.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import type { EventStream } from '../helpers/events.ts';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import { shareInProcess, startInProcess } from '../helpers/in-process.ts';
import { type Mailbox, openMailbox } from '../helpers/mailbox.ts';
import { basic, Person } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, type Organization, serverOf, startServer } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { DATABASE_URL } = process.env;
const NOBODY = 2_000_000_000;
/** Longest accepted time until a revoked stream or poll ends on any node, in milliseconds. */
const SOON_MS = 5_000;

const userOf = async (viewer: Person, { id }: { id: number }): Promise<Json> =>
  (await viewer.ok('GET', `/users/${id}`)).user;
const isActive = async (viewer: Person, person: { id: number }): Promise<boolean> =>
  (await userOf(viewer, person)).is_active;

/** Creates a bot that is owned by a user. */
async function botOf(owner: Person, name: string): Promise<Person> {
  const shortName = name.toLowerCase().replaceAll(/\W/g, '');
  const made = await owner.ok('POST', '/bots', { full_name: name, short_name: shortName });
  const { email } = await userOf(owner, { id: made.user_id });
  return new Person(owner, { id: made.user_id, name, email, apiKey: made.api_key, role: 400 });
}

/** Returns an array that begins with `type` or `type/op` of an event, followed by the fields that distinguish it. */
const inShort = ({ type, op, person, ...event }: Json) => {
  if (type === 'subscription') return [`${type}/${op}`, event.stream_ids, event.user_ids];
  if (type === 'delete_message') return [type, event.message_ids ?? event.message_id];
  if (type === 'user_group') return [`${type}/${op}`, event.user_ids];
  return [op === undefined ? type : `${type}/${op}`, person];
};

const CAPABLE = {
  client_capabilities: { notification_settings_null: true, archived_channels: true, bulk_message_deletion: true },
};

describe('DELETE /users/{user_id}', () => {
  test.concurrent('checks the target first, then the viewer, then the remaining owners', async () => {
    const { owner, administrator, moderator, member, guest, bot, anonymous, signUp } = await createOrganization();
    const gone = await signUp('gone');
    await owner.ok('DELETE', `/users/${gone.id}`);
    const foreign = await createOrganization();
    for (const [by, target, expected] of [
      [guest, { id: NOBODY }, { msg: 'No such user', code: 'BAD_REQUEST' }],
      [owner, { id: 0 }, { msg: 'No such user' }],
      [owner, foreign.member, { msg: 'No such user' }],
      [owner, bot, { msg: 'No such user' }],
      [member, gone, { msg: 'User is deactivated', code: 'BAD_REQUEST' }],
      [moderator, member, { msg: 'Insufficient permission', code: 'BAD_REQUEST' }],
      [member, member, { msg: 'Insufficient permission' }],
      [guest, owner, { msg: 'Insufficient permission' }],
      [bot, member, { msg: 'Insufficient permission' }],
      [administrator, owner, { msg: 'Cannot deactivate the only organization owner', code: 'BAD_REQUEST' }],
      [owner, owner, { msg: 'Cannot deactivate the only organization owner', code: 'BAD_REQUEST' }],
    ] as const) {
      const { status, body } = await by.rest('DELETE', `/users/${target.id}`);
      expect({ status, ...body }, `${by.name} ${target.id}`).toMatchObject({ status: 400, ...expected });
    }
    await signUp('second', 'owner');
    const refused = await administrator.rest('DELETE', `/users/${owner.id}`);
    expect(refused.body).toMatchObject({ msg: 'Must be an organization owner', code: 'UNAUTHORIZED_PRINCIPAL' });
    expect((await anonymous.rest('DELETE', `/users/${member.id}`)).status).toBe(401);
    for (const [comment, status] of [
      ['x'.repeat(2001), 400],
      [` ${'x'.repeat(2000)}\n`, 200],
    ] as const) {
      const reply = await owner.rest('DELETE', `/users/${guest.id}`, { deactivation_notification_comment: comment });
      expect(reply.status).toBe(status);
    }
    expect(await isActive(owner, member)).toBe(true);
  });

  test.concurrent('names the parameters that it ignored', async () => {
    const { owner, signUp } = await createOrganization();
    let made = 0;
    await expectIgnoredParameters(owner, 'DELETE', async () => {
      const { id } = await signUp(`somebody ${++made}`);
      return { path: `/users/${id}`, parameters: { actions: {} } };
    });
  });

  test.concurrent('notifies subscribers, also of archived channels, then all users; bots precede their owner', async () => {
    const { owner, member, guest, signUp } = await createOrganization();
    const ann = await signUp('Ann');
    const bot = await botOf(ann, 'Helper');
    const open = await channelOf(owner, 'open', [owner, ann, bot]);
    const hidden = await channelOf(owner, 'hidden', [owner, ann], { invite_only: true });
    const old = await channelOf(owner, 'old', [owner, ann]);
    await owner.ok('DELETE', `/streams/${old}`);
    const events = { ...CAPABLE, event_types: ['subscription', 'realm_user', 'realm_bot', 'user_group'] };
    const heard = [await owner.receiving(events), await member.receiving(events), await guest.receiving(events)];
    await owner.ok('DELETE', `/users/${ann.id}`);
    const isOut = (person: Person) => ['realm_user/update', { user_id: person.id, is_active: false }];
    const left = (channel: number, person: Person) => ['subscription/peer_remove', [channel], [person.id]];
    const [toOwner, toMember, toGuest] = await Promise.all(heard.map(async (hear) => (await hear()).map(inShort)));
    const ofBot = [left(open, bot), isOut(bot)];
    expect(toOwner).toEqual([...ofBot, left(open, ann), left(hidden, ann), left(old, ann), isOut(ann)]);
    expect(toMember).toEqual([...ofBot, left(open, ann), left(old, ann), isOut(ann)]);
    expect(toGuest).toEqual([isOut(bot), isOut(ann)]);
    const { realm_users, realm_non_active_users, streams } = await owner.register();
    expect(realm_users.map(({ user_id }: Json) => user_id)).not.toContain(ann.id);
    expect(realm_non_active_users.map(({ user_id }: Json) => user_id).toSorted()).toEqual([ann.id, bot.id].toSorted());
    expect(streams.find(({ stream_id }: Json) => stream_id === open).subscriber_count).toBe(1);
    expect((await owner.ok('GET', `/streams/${open}/members`)).subscribers).toEqual([owner.id]);
  });

  test.concurrent('prevents direct messages, mentions, subscriptions and status changes for the user', async () => {
    const { owner, member, signUp } = await createOrganization();
    const ann = await signUp('Ann Gone');
    const channel = await channelOf(owner, 'open', [owner, ann]);
    await owner.ok('DELETE', `/users/${ann.id}`);
    const direct = await member.rest('POST', '/messages', { type: 'direct', to: [ann.id], content: 'hello' });
    expect(direct.body.msg).toMatch(/no longer using/);
    const id = await say(owner, channel, 'topic', 'hello @**Ann Gone**');
    const { message } = await owner.ok('GET', `/messages/${id}`);
    expect(message.content).toContain('user-mention silent');
    const subscriptions = { subscriptions: [{ name: 'open' }], principals: [ann.id] };
    expect((await owner.rest('POST', '/users/me/subscriptions', subscriptions)).body.msg).toBe('User is deactivated');
    const status = await owner.rest('POST', `/users/${ann.id}/status`, { status_text: 'away' });
    expect(status.body.msg).toBe('User is deactivated');
  });

  test.concurrent('refuses the API keys of the user and of their bots immediately, in both APIs', async () => {
    const { owner, signUp } = await createOrganization();
    const ann = await signUp('Ann');
    const bot = await botOf(ann, 'Helper');
    await owner.ok('DELETE', `/users/${ann.id}`);
    for (const person of [ann, bot]) {
      const { status, body } = await person.rest('GET', '/users/me');
      expect([status, body.code]).toEqual([401, 'USER_DEACTIVATED']);
      expect((await person.graphql('{ viewer { id } }')).errors?.[0].extensions.code).toBe('USER_DEACTIVATED');
    }
  });

  test.concurrent('deletes the profile: name, avatar, status and fields', async () => {
    const { owner, signUp } = await createOrganization();
    const ann = await signUp('Ann');
    const field = await owner.ok('POST', '/realm/profile_fields', { field_type: 1, name: 'Phone' });
    await ann.ok('PATCH', '/users/me/profile_data', { data: [{ id: field.id, value: '123' }] });
    await ann.ok('POST', '/users/me/status', { status_text: 'busy', emoji_name: 'car' });
    const before = await userOf(owner, ann);
    await owner.ok('DELETE', `/users/${ann.id}`, { actions: { delete_profile: true } });
    const { user } = await owner.ok('GET', `/users/${ann.id}`, { include_custom_profile_fields: true });
    expect(user).toMatchObject({ full_name: 'Deleted user', is_active: false, profile_data: {} });
    expect(user.avatar_version).toBeGreaterThan(before.avatar_version);
    await owner.ok('POST', `/users/${ann.id}/reactivate`);
    expect((await owner.ok('GET', `/users/${ann.id}/status`)).status).toEqual({});
  });

  test.concurrent('deletes the messages of bots, then those of the user, before each is deactivated', async () => {
    const { owner, signUp } = await createOrganization();
    const ann = await signUp('Ann');
    const bot = await botOf(ann, 'Helper');
    const open = await channelOf(owner, 'open', [owner, ann, bot]);
    const hidden = await channelOf(owner, 'hidden', [owner, ann], { invite_only: true });
    const direct = { type: 'direct', to: [owner.id], content: 'psst' };
    const [ofBot, isPublic, isPrivate] = [
      await say(bot, open, 'topic'),
      await say(ann, open, 'topic'),
      await say(ann, hidden, 'topic'),
    ];
    const { id: isDirect } = await ann.ok('POST', '/messages', direct);
    const others = await say(owner, open, 'topic');
    const hear = await owner.receiving({ ...CAPABLE, event_types: ['delete_message', 'realm_user'] });
    const actions = { delete_public_channel_messages: true, delete_direct_messages: true };
    await owner.ok('DELETE', `/users/${ann.id}`, { actions });
    expect((await hear()).map(inShort)).toEqual([
      ['delete_message', [ofBot]],
      ['realm_user/update', { user_id: bot.id, is_active: false }],
      ['delete_message', [isPublic]],
      ['delete_message', [isDirect]],
      ['realm_user/update', { user_id: ann.id, is_active: false }],
    ]);
    for (const id of [isPrivate, others]) expect((await owner.rest('GET', `/messages/${id}`)).status).toBe(200);
  });

  test.concurrent('deletes many messages in parts, until none is left', async () => {
    const { owner, signUp } = await createOrganization();
    const ann = await signUp('Ann');
    const open = await channelOf(owner, 'open', [owner, ann]);
    for (let i = 0; i < 45; i++) await Promise.all(Array.from({ length: 10 }, () => say(ann, open, 'topic')));
    const last = await say(owner, open, 'topic');
    await owner.ok('DELETE', `/users/${ann.id}`, { actions: { delete_public_channel_messages: true } });
    const narrow = { anchor: 'newest', num_before: 1000, num_after: 0, narrow: [['channel', 'open']] };
    const { messages } = await owner.ok('GET', '/messages', narrow);
    const own = messages.filter(({ sender_id }: Json) => sender_id === owner.id || sender_id === ann.id);
    expect(own.map(({ id }: Json) => id)).toEqual([last]);
  });

  test.concurrent('leaves one of two owners who deactivate each other concurrently', async () => {
    for (let round = 0; round < 5; round++) {
      const { owner, second, administrator } = await createOrganization({ second: 'owner' });
      const replies = await Promise.all([
        owner.rest('DELETE', `/users/${second.id}`),
        second.rest('DELETE', `/users/${owner.id}`),
      ]);
      expect(replies.map(({ status }) => status === 200).toSorted()).toEqual([false, true]);
      const active = await Promise.all([owner, second].map((person) => isActive(administrator, person)));
      expect(active.toSorted()).toEqual([false, true]);
    }
  });

  test.concurrent('leaves one of two owners who leave concurrently', async () => {
    const { owner, second } = await createOrganization({ second: 'owner' });
    const replies = await Promise.all([owner, second].map((person) => person.rest('DELETE', '/users/me')));
    const refused = replies.filter(({ status }) => status !== 200).map(({ body }) => body);
    expect(refused).toMatchObject([{ code: 'CANNOT_DEACTIVATE_LAST_USER', is_last_owner: true }]);
  });

  test.concurrent('does the same over GraphQL, with errors by type', async () => {
    const { owner, administrator, member, signUp } = await createOrganization();
    const ann = await signUp('Ann');
    const open = await channelOf(owner, 'open', [owner, ann]);
    const id = await say(ann, open, 'topic');
    const input = { userId: ann.id, erase: { profile: true, publicChannelMessages: true }, notificationComment: '' };
    const { user } = await administrator.mutate('deactivateUser', input, 'user { fullName isActive }');
    expect(user).toEqual({ fullName: 'Deleted user', isActive: false });
    expect((await owner.rest('GET', `/messages/${id}`)).status).toBe(400);
    const refusal = (person: Person, userId: number) => person.tryMutation('deactivateUser', { userId });
    await signUp('second', 'owner');
    expect(await refusal(administrator, owner.id)).toMatchObject({ __typename: 'ForbiddenError' });
    expect(await refusal(member, owner.id)).toMatchObject({ code: 'BAD_REQUEST', message: 'Insufficient permission' });
    const back = await administrator.mutate('reactivateUser', { userId: ann.id }, 'user { isActive }');
    expect(back.user.isActive).toBe(true);
    const { queue_id: queueId } = await member.register({ event_types: ['realm_user'], fetch_event_types: [] });
    await using live = await member.events('... on UserUpdatedEvent { user { databaseId isActive } }', { queueId });
    await owner.mutate('deactivateUser', { userId: ann.id }, 'user { id }');
    expect(await live.next()).toEqual({ user: { databaseId: ann.id, isActive: false } });
  });
});

describe('DELETE /users/me', () => {
  test.concurrent('deactivates the viewer and their bots', async () => {
    const { owner, member, guest, bot } = await createOrganization();
    const helper = await botOf(member, 'Helper');
    await member.ok('DELETE', '/users/me');
    for (const person of [member, helper]) expect(await isActive(owner, person)).toBe(false);
    await guest.ok('DELETE', '/users/me');
    expect((await bot.rest('DELETE', '/users/me')).body).toMatchObject({
      ...{ code: 'BAD_REQUEST', msg: 'This endpoint does not accept bot requests.' },
    });
  });

  test.concurrent('refuses the only owner, and the only user', async () => {
    const { owner, administrator, moderator, member, guest } = await createOrganization();
    const entity = { code: 'CANNOT_DEACTIVATE_LAST_USER', is_last_owner: true, entity: 'organization owner' };
    const msg = 'Cannot deactivate the only organization owner.';
    const refused = await owner.rest('DELETE', '/users/me');
    expect({ status: refused.status, ...refused.body }).toMatchObject({ status: 400, msg, ...entity });
    const query = `mutation { deactivateOwnAccount {
      __typename ... on CannotDeactivateLastUserError { code message isLastOwner } } }`;
    expect((await owner.query(query)).deactivateOwnAccount).toEqual({
      ...{ __typename: 'CannotDeactivateLastUserError', code: entity.code, message: msg, isLastOwner: true },
    });
    for (const person of [administrator, moderator, member, guest]) await person.ok('DELETE', '/users/me');
    const last = await owner.rest('DELETE', '/users/me');
    expect(last.body).toMatchObject({ code: entity.code, is_last_owner: false, entity: 'user' });
  });
});

/** Returns the user with their current API key, read with an operator command. */
async function withCurrentKey(person: Person, { subdomain }: Organization): Promise<Person> {
  const at = { org: subdomain, user: String(person.id) };
  const { api_key: apiKey } = (await runCommand(serverOf().dataDir, 'key show', at)) as { api_key: string };
  const { url, host, id, name, email, role } = person;
  return new Person({ url, host }, { id, name, email, apiKey, role });
}

describe('POST /users/{user_id}/reactivate', () => {
  test.concurrent("restores the user's subscriptions and groups, and notifies all users in order", async () => {
    const { owner, member, signUp, organization } = await createOrganization();
    const ann = await signUp('Ann');
    const open = await channelOf(owner, 'open', [owner, ann]);
    const old = await channelOf(owner, 'old', [owner, ann]);
    await owner.ok('DELETE', `/streams/${old}`);
    const group = await owner.ok('POST', '/user_groups/create', { name: 'crew', description: '', members: [ann.id] });
    await ann.ok('POST', '/users/me/status', { status_text: 'busy' });
    await owner.ok('DELETE', `/users/${ann.id}`);
    const hear = await member.receiving({ ...CAPABLE, event_types: ['subscription', 'realm_user', 'user_group'] });
    await owner.ok('POST', `/users/${ann.id}/reactivate`);
    const events = await hear();
    expect(events.slice(0, 3).map(inShort)).toEqual([
      ['realm_user/update', { user_id: ann.id, is_active: true }],
      ['subscription/peer_add', [open], [ann.id]],
      // Deactivation also ended Ann's subscription to the archived channel. Reactivation restores it.
      ['subscription/peer_add', [old], [ann.id]],
    ]);
    const groups = events.slice(3);
    expect(groups.length).toBeGreaterThan(1);
    for (const event of groups) expect(inShort(event)).toEqual(['user_group/add_members', [ann.id]]);
    expect(groups.map(({ group_id }) => group_id)).toContain(group.group_id);
    // The previous API key stays invalid, because a leaked key can be the reason for the deactivation.
    expect(await ann.rest('GET', '/users/me')).toMatchObject({ status: 401, body: { code: 'INVALID_API_KEY' } });
    const back = await withCurrentKey(ann, organization);
    expect((await back.ok('GET', '/users/me')).is_active).toBe(true);
    expect((await back.ok('GET', '/users/me/subscriptions')).subscriptions.map((s: Json) => s.name)).toEqual(['open']);
    expect((await member.register()).user_status[ann.id]).toEqual({ status_text: 'busy' });
    // Reactivating an active user changes nothing.
    await owner.ok('POST', `/users/${ann.id}/reactivate`);
    expect(await hear()).toEqual(events);
    await back.ok('GET', '/users/me');
  });

  test.concurrent('gives users and bots a new API key, over both APIs, and for every scheme and transport', async () => {
    const { owner, member, organization } = await createOrganization();
    const bot = await botOf(owner, 'Helper');
    for (const who of [member, bot]) {
      for (const reactivated of [
        () => owner.ok('POST', `/users/${who.id}/reactivate`),
        () => owner.mutate('reactivateUser', { userId: who.id }, 'user { isActive }'),
      ]) {
        const before = await withCurrentKey(who, organization);
        await owner.ok('DELETE', who === bot ? `/bots/${who.id}` : `/users/${who.id}`);
        expect((await before.rest('GET', '/users/me')).body.code).toBe('USER_DEACTIVATED');
        await reactivated();
        for (const old of [before, before.as(`Bearer ${before.apiKey}`)]) {
          expect((await old.graphql('{ viewer { databaseId } }')).errors?.[0].extensions.code).toMatch(
            /INVALID_API_KEY/,
          );
        }
        expect((await before.rest('POST', '/drafts', { drafts: [] })).status).toBe(401);
        expect((await (await withCurrentKey(who, organization)).ok('GET', '/users/me')).user_id).toBe(who.id);
      }
    }
  });

  test.concurrent('restores a user made over the API who never signed in; they stay a stub until they do', async () => {
    const { owner, member, anonymous, organization } = await createOrganization();
    const [username, right] = ['new@example.com', 'can_create_users'];
    await runCommand(serverOf().dataDir, 'user grant', { org: organization.subdomain, user: owner.email, right });
    const password = 'correct horse';
    const { user_id } = await owner.ok('POST', '/users', { email: username, password, full_name: 'New' });
    const seen = async () => {
      const { user } = await member.ok('GET', `/users/${user_id}`);
      return [user.is_active, user.is_imported_stub];
    };
    await owner.ok('DELETE', `/users/${user_id}`);
    expect(await seen()).toEqual([false, true]);
    await owner.ok('POST', `/users/${user_id}/reactivate`);
    expect(await seen()).toEqual([true, true]);
    await anonymous.ok('POST', '/fetch_api_key', { username, password });
    expect(await seen()).toEqual([true, false]);
  });

  test.concurrent('restores a placeholder whose first login has made it an account', async () => {
    const { owner, anonymous, organization } = await createOrganization();
    const [username, password] = ['later@example.com', 'correct horse'];
    const account = { org: organization.subdomain, name: 'Later', email: username, password, placeholder: true };
    const { user_id } = await runCommand(serverOf().dataDir, 'user create', account);
    expect((await owner.ok('GET', `/users/${user_id}`)).user.is_imported_stub).toBe(true);
    await anonymous.ok('POST', '/fetch_api_key', { username, password });
    await owner.ok('DELETE', `/users/${user_id}`);
    await owner.ok('POST', `/users/${user_id}/reactivate`);
  });

  test.concurrent('is for administrators, and refuses placeholders and users whose name is taken', async () => {
    const { owner, administrator, member, bot, signUp, organization } = await createOrganization();
    const account = { org: organization.subdomain, name: 'Stub', email: 'stub@example.com', placeholder: true };
    const stub = await runCommand(serverOf().dataDir, 'user create', account);
    await owner.ok('DELETE', `/users/${stub.user_id}`);
    const ann = await signUp('Ann');
    await owner.ok('DELETE', `/users/${ann.id}`);
    const refusal = async (person: Person, id: number) =>
      (await person.rest('POST', `/users/${id}/reactivate`)).body.msg;
    expect(await refusal(administrator, NOBODY)).toBe('No such user');
    expect(await refusal(member, ann.id)).toBe('Insufficient permission');
    expect(await refusal(bot, ann.id)).toBe('Insufficient permission');
    expect(await refusal(owner, stub.user_id)).toBe(
      'Cannot activate a placeholder account; ask the user to sign up, instead.',
    );
    await owner.ok('PATCH', '/realm', { require_unique_names: true });
    await owner.ok('PATCH', `/users/${member.id}`, { full_name: 'Ann' });
    expect(await refusal(owner, ann.id)).toBe('Unique names required in this organization.');
    await owner.ok('PATCH', `/users/${member.id}`, { full_name: 'Somebody else' });
    await administrator.ok('POST', `/users/${ann.id}/reactivate`);
  });

  test.concurrent('transfers a bot whose owner is deactivated to the viewer', async () => {
    const { owner, administrator, member } = await createOrganization();
    const bot = await botOf(member, 'Helper');
    await owner.ok('DELETE', `/users/${member.id}`);
    const hear = await owner.receiving({ event_types: ['realm_user', 'realm_bot'] });
    await administrator.ok('POST', `/users/${bot.id}/reactivate`);
    expect((await hear()).map(inShort)).toEqual([
      ['realm_user/update', { user_id: bot.id, is_active: true }],
      ['realm_user/update', { user_id: bot.id, bot_owner_id: administrator.id }],
    ]);
    expect((await userOf(owner, bot)).bot_owner_id).toBe(administrator.id);
  });

  test.concurrent('lets only owners reactivate a bot with the role of an owner', async () => {
    const { owner, administrator, member } = await createOrganization();
    const bot = await botOf(member, 'Helper');
    await owner.ok('PATCH', `/bots/${bot.id}`, { role: 100 });
    await administrator.ok('DELETE', `/users/${member.id}`);
    const { status, body } = await administrator.rest('POST', `/users/${bot.id}/reactivate`);
    expect([status, body.code, body.msg]).toEqual([400, 'UNAUTHORIZED_PRINCIPAL', 'Must be an organization owner']);
    const refusal = await administrator.tryMutation('reactivateUser', { userId: bot.id });
    expect(refusal).toMatchObject({ __typename: 'ForbiddenError' });
    expect(await isActive(owner, bot)).toBe(false);
    await owner.ok('POST', `/users/${bot.id}/reactivate`);
    expect((await userOf(owner, bot)).bot_owner_id).toBe(owner.id);
  });

  test.concurrent('refuses a bot whose name is now taken', async () => {
    const { owner, member } = await createOrganization();
    const bot = await botOf(member, 'Helper');
    await member.ok('DELETE', `/bots/${bot.id}`);
    const renamed = await botOf(member, 'Another');
    await member.ok('PATCH', `/bots/${renamed.id}`, { full_name: 'Helper' });
    expect((await owner.rest('POST', `/users/${bot.id}/reactivate`)).body.msg).toBe(
      'There is already an active bot named "Helper" in this organization. To reactivate this bot, you must rename or ' +
        'deactivate the other one first.',
    );
  });
});

test('requests that started before their user was deactivated or lost a role or group are refused', async () => {
  await using service = await shareInProcess();
  const people = await createOrganization({ second: 'owner', ann: 'member' }, { on: service });
  const { owner, second, administrator, moderator, member, ann } = people;
  const bot = await botOf(owner, 'Helper');
  const began = async (person: Person): Promise<Ctx> => {
    const authorization = basic(person.email, person.apiKey);
    return signedIn(await signIn(service.app, { host: person.host, authorization, userAgent: 'test' }));
  };
  const crew = { name: 'crew', description: '', members: [ann.id] };
  const { group_id: groupId } = await owner.ok('POST', '/user_groups/create', crew);
  const hidden = await channelOf(owner, 'hidden', [], { invite_only: true, can_subscribe_group: groupId });
  const said = await say(member, await channelOf(owner, 'open', [member]), 'topic');
  const [gone, guest, demoted] = [await began(member), await began(moderator), await began(second)];
  const outside = await began(ann);
  await owner.ok('DELETE', `/users/${member.id}`);
  await owner.ok('PATCH', `/users/${moderator.id}`, { role: 600 });
  await owner.ok('PATCH', `/users/${second.id}`, { role: 400 });
  await owner.ok('POST', `/user_groups/${groupId}/members`, { delete: [ann.id] });
  const group = { name: 'new', description: '', memberIds: [], subgroupIds: [], permissions: {} };
  const ghost = { fullName: 'Ghost', shortName: 'ghost' };
  const edit = {
    content: 'other',
    propagateMode: 'change_one',
    notifiesOldTopic: false,
    notifiesNewTopic: false,
  } as const;
  for (const [act, refusal] of [
    [() => createBot(gone, ghost), 'Account is deactivated'],
    [() => createUserGroup(gone, group), 'Account is deactivated'],
    [() => updateGroupMembers(gone, groupId, { add: [member.id] }), 'Account is deactivated'],
    [() => createChannel(gone, { name: 'new', subscriberIds: [] }), 'Account is deactivated'],
    [() => createBot(guest, ghost), 'Insufficient permission'],
    [() => createUserGroup(guest, group), 'Must be an organization member'],
    [() => subscribe(outside, [{ id: hidden }]), 'Invalid channel ID'],
    [() => updateChannel(demoted, hidden, { description: 'mine' }), 'Invalid channel ID'],
    [() => updateUser(demoted, administrator.id, { role: 100 }), 'Must be an organization administrator'],
    [() => updateBot(demoted, bot.id, { role: 100 }), 'Insufficient permission'],
    [() => deactivateBot(demoted, bot.id), 'Insufficient permission'],
    [() => regenerateBotKey(demoted, bot.id), 'Insufficient permission'],
    [() => updateMessage(gone, said, edit), 'Account is deactivated'],
    [() => addReaction(gone, said, { name: 'smile' }), 'Account is deactivated'],
    [() => createProfileField(demoted, 1, { name: 'Label' }), 'Must be an organization administrator'],
    [() => updateUserDefaults(demoted, { enter_sends: true }), 'Must be an organization administrator'],
    [
      () => updateSettingsOf(demoted, { userIds: [ann.id] }, { enter_sends: true }),
      'Must be an organization administrator',
    ],
    [
      () => addOrganizationDomain(demoted, { domain: 'x.example', allowSubdomains: false }),
      'Must be an organization owner',
    ],
  ] as const) {
    await expect(act(), String(act)).rejects.toThrow(refusal);
  }
  expect((await owner.ok('GET', '/users')).members.map(({ full_name }: Json) => full_name)).not.toContain('Ghost');
});

describe('the mail', () => {
  let mailbox: Mailbox;
  beforeAll(async () => {
    mailbox = await openMailbox();
  });
  afterAll(() => mailbox[Symbol.asyncDispose]());

  test('is sent to the user, with a comment if one is given, and to no user without the parameter', async () => {
    await using service = await startInProcess({ env: { SMTP_URL: mailbox.url } });
    const { owner, signUp, organization } = await createOrganization({}, { on: service });
    const people = [await signUp('Ann'), await signUp('Bob'), await signUp('Eve')] as const;
    const [ann, bob, eve] = people;
    await owner.ok('DELETE', `/users/${ann.id}`, { deactivation_notification_comment: '  Thank you, Ann! ' });
    await owner.ok('DELETE', `/users/${bob.id}`, { deactivation_notification_comment: '' });
    await owner.ok('DELETE', `/users/${eve.id}`);
    await service.mail.sendDue();
    expect(mailbox.mails.map(({ to }) => to)).toEqual([[ann.email], [bob.email]]);
    const [toAnn, toBob] = mailbox.mails.map(({ raw }) => raw.replaceAll('\r\n', '\n'));
    expect(toAnn).toContain(`Subject: Your account at ${organization.name}`);
    expect(toAnn).toMatch(/\n\nThank you, Ann!\n/);
    expect(toBob).not.toContain('comment');
  });

  test('survives a restart of the service', async () => {
    const dataDir = newDataDir();
    const embedded = { DATABASE_URL: undefined, SMTP_URL: undefined };
    const before = mailbox.mails.length;
    {
      await using first = await startServer({ dataDir, env: embedded });
      const { owner, member } = await createOrganization({}, { on: first });
      await owner.ok('DELETE', `/users/${member.id}`, { deactivation_notification_comment: '' });
      await expect.poll(() => first.log(), { timeout: 10_000 }).toContain('SMTP_URL is not set');
      await first.stop();
      expect(first.log().match(/SMTP_URL is not set/g)).toHaveLength(1);
    }
    await using _second = await startServer({ dataDir, env: { ...embedded, SMTP_URL: mailbox.url } });
    await expect.poll(() => mailbox.mails.length, { timeout: 10_000 }).toBe(before + 1);
  });
});

/** Opens a long poll and streams over every transport as a user, at one node. */
async function openEverything(person: Person) {
  // The queue has other event types. Otherwise the connections could receive the events about the deactivation before they end.
  const { queue_id, last_event_id } = await person.register({ event_types: ['drafts'], fetch_event_types: [] });
  const poll = person.rest('GET', '/events', { queue_id, last_event_id });
  const socket = await person.events('position');
  const sse = await person.events('position', { transport: 'sse' });
  return { poll, streams: [socket, sse] as EventStream[] };
}

/** Waits until all connections have ended. @returns Duration of the wait, in milliseconds. */
async function endOf({ poll, streams }: Awaited<ReturnType<typeof openEverything>>): Promise<number> {
  const startedAt = performance.now();
  await Promise.all([poll, ...streams.map(({ ended }) => ended)]);
  return performance.now() - startedAt;
}

test('ends all connections of the user and their bots within seconds', async () => {
  const { owner, member } = await createOrganization();
  const bot = await botOf(member, 'Helper');
  const open = [await openEverything(member), await openEverything(bot)];
  await owner.ok('DELETE', `/users/${member.id}`);
  for (const each of open) expect(await endOf(each)).toBeLessThan(SOON_MS);
  // Ignores heartbeats, which a slow connection can receive.
  const real = ({ type }: Json) => type !== 'heartbeat';
  for (const { poll } of open) expect(((await poll).body.events ?? []).filter(real)).toEqual([]);
  for (const person of [member, bot]) expect((await person.rest('GET', '/events')).body.code).toBe('USER_DEACTIVATED');
});

test.for(['deactivated', 'given another key'])(
  'a user who is %s receives no later events, even if a node reads both together',
  async (what) => {
    await using service = await startInProcess();
    const { owner, member, organization } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'news', [member, owner]);
    await using stream = await member.events('... on MessageSentEvent { message { content } }');
    await using own = await member.events('... on MessageSentEvent { message { content sender { bot { id } } } }');
    const { queue_id, last_event_id } = await member.register({ event_types: ['message'] });
    const poll = member.rest('GET', '/events', { queue_id, last_event_id });
    await expect.poll(() => service.app.hub.readerCount).toBe(3);
    // Simulates a commit by another node whose notification arrives late at this node.
    service.app.hub.publish = () => {};
    await say(owner, channel, 'before', 'before');
    if (what === 'deactivated') await owner.ok('DELETE', `/users/${member.id}`);
    else await member.ok('POST', '/users/me/api_key/regenerate');
    await say(owner, channel, 'after', 'after');
    const window = await service.app.hub.tail(organization.id);
    await window.fill();
    expect((await poll).body.events ?? []).not.toContainEqual(
      expect.objectContaining({ message: expect.objectContaining({ content: 'after' }) }),
    );
    for (const each of [stream, own]) {
      const heard: string[] = [];
      const collect = async (): Promise<void> => {
        for (;;) heard.push((await each.next()).message?.content);
      };
      await expect(collect()).rejects.toThrow('the stream ended');
      expect(heard).not.toContain('after');
    }
  },
);

test('a user who gets another key while a stream opens receives no later events', async () => {
  await using service = await startInProcess();
  const { owner, member } = await createOrganization({}, { on: service });
  const channel = await channelOf(owner, 'news', [member, owner]);
  const { queue_id: queueId } = await member.register({ event_types: ['message'] });
  const { queues } = service.app;
  const open = queues.open.bind(queues);
  queues.open = async (...asked) => {
    const queue = await open(...asked);
    await member.ok('POST', '/users/me/api_key/regenerate');
    await say(owner, channel, 'after');
    return queue;
  };
  await using stream = await member.events('position', { queueId });
  await expect(stream.next()).rejects.toThrow('the stream ended');
});

test('a user who gets another key while their client does not read receives no later events', async () => {
  await using service = await startInProcess();
  const { app } = service;
  const { owner, member } = await createOrganization({}, { on: service });
  const channel = await channelOf(owner, 'news', [member, owner]);
  const { queue_id: queueId } = await member.register({ event_types: ['message'] });
  await say(owner, channel, 'before');
  const authorization = basic(member.email, member.apiKey);
  const ctx = signedIn(await signIn(app, { host: member.host, authorization, userAgent: 'test' }));
  const queue = await app.queues.open(ctx, queueId, { claim: true });
  const sent: Json[] = [];
  const ended = Promise.withResolvers<unknown>();
  const read = Promise.withResolvers<void>();
  const sink: StreamSink = {
    isReady: () => true,
    prepare: async (pieces) => pieces.length,
    send: (pieces) => void sent.push(...pieces.map(({ event }) => event['message'])),
    writable: () => read.promise,
    end: ended.resolve,
  };
  const stream = new LogStream(app, queue, { known: queue.acked, sink, access: readerAccess(ctx) });
  const started = stream.start();
  await expect.poll(() => sent).toHaveLength(1);
  // No client waits for new events, so the in-memory log tail is dropped after some minutes.
  const later = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 600_000);
  await expect.poll(() => app.hub.tailCount).toBe(0);
  later.mockRestore();
  await member.ok('POST', '/users/me/api_key/regenerate');
  await say(owner, channel, 'after');
  await sleep(1_100);
  read.resolve();
  await started;
  expect(await ended.promise).toBe('revoked');
  expect(sent).toMatchObject([{ subject: 'before' }]);
});

/** Skipped on the embedded database, which only one process can open. */
test.skipIf(DATABASE_URL === undefined)('ends connections on other nodes as well', async () => {
  await using database = await createMigratedDatabase(DATABASE_URL ?? '');
  const env = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex') };
  const nodes: [ServerProcess, ServerProcess] = [await startServer({ env }), await startServer({ env })];
  await using _first = nodes[0];
  await using second = nodes[1];
  const { owner, member, organization } = await createOrganization({}, { on: nodes[0] });
  const bot = await botOf(member, 'Helper');
  const host = `${organization.subdomain}.localhost:${second.port}`;
  const there = [member, bot].map((person) => new Person({ url: second.url, host }, person));
  const open = await Promise.all(there.map(openEverything));
  await owner.ok('DELETE', `/users/${member.id}`);
  for (const each of open) expect(await endOf(each)).toBeLessThan(SOON_MS);
  for (const person of there) expect((await person.rest('GET', '/users/me')).body.code).toBe('USER_DEACTIVATED');
});
