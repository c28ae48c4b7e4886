import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Parameters as Fields, Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';

const THUMBS_UP = { emoji_name: 'thumbs_up', emoji_code: '1f44d', reaction_type: 'unicode_emoji' };

const react = (person: Person, id: number, emoji: Fields = THUMBS_UP) =>
  person.rest('POST', `/messages/${id}/reactions`, emoji);
const unreact = (person: Person, id: number, emoji: Fields = THUMBS_UP) =>
  person.rest('DELETE', `/messages/${id}/reactions`, emoji);

/** Adds a reaction over GraphQL. @returns The result of the mutation: its payload or an error. */
const add = (person: Person, messageId: number, emoji: Json, selection?: string) =>
  person.tryMutation('addReaction', { messageId, emoji }, selection);
const remove = (person: Person, messageId: number, emoji: Json, selection?: string) =>
  person.tryMutation('removeReaction', { messageId, emoji }, selection);
/** Returns an emoji that is given by its code in GraphQL. */
const coded = (emojiCode: string, reactionType = 'UNICODE_EMOJI') => ({ code: { emojiCode, reactionType } });

const told = (events: readonly Json[]) =>
  events.filter(({ type }) => type === 'reaction').map(({ op, user_id, emoji_name }) => [op, user_id, emoji_name]);

test.concurrent('adds and removes an emoji in both APIs, by its first name, and notifies its recipients', async () => {
  const { owner, administrator, moderator, member, guest } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner, member, guest]);
  const id = await say(moderator, channel, 'topic');
  // The sender and one of the users who react are not subscribed. The bystander is in another organization.
  const bystander = await createOrganization().then(({ owner: stranger }) => stranger);
  const hearings = await Promise.all(
    [owner, administrator, moderator, member, guest, bystander].map((person) => person.receiving()),
  );
  expect(await react(owner, id, { emoji_name: '+1' })).toMatchObject({ status: 200 });
  // If the request contains the code of an emoji that is already on the message, another name of the emoji is accepted.
  expect(await react(administrator, id, { ...THUMBS_UP, emoji_name: 'yes' })).toMatchObject({ status: 200 });
  for (const person of [owner, administrator]) {
    expect((await react(person, id)).body).toMatchObject({ code: 'REACTION_ALREADY_EXISTS' });
    for (const emoji of [{ name: 'thumbs_up' }, coded('1f44d')]) {
      expect(await add(person, id, emoji)).toMatchObject({ code: 'REACTION_ALREADY_EXISTS' });
    }
  }
  const [message] = (await member.ok('GET', '/messages', { message_ids: [id] })).messages;
  expect(message.reactions).toMatchObject(
    [owner, administrator].map((user) => ({ ...THUMBS_UP, emoji_name: '+1', user_id: user.id })),
  );
  const emoji = `message(by: { id: "${globalId('Message', id)}" }) { reactions { emojiName emojiCode reactionType user { databaseId } } }`;
  expect((await guest.query(`{ ${emoji} }`)).message.reactions[1]).toEqual({
    ...{ emojiName: '+1', emojiCode: '1f44d', reactionType: 'UNICODE_EMOJI', user: { databaseId: administrator.id } },
  });
  await react(guest, id, { emoji_name: 'octopus' });
  const groups = async (viewer: Person) =>
    (
      await viewer.query(`{ message(by: { id: "${globalId('Message', id)}" }) { reactionGroups { emojiName emojiCode
      reactionType count viewerHasReacted users { databaseId } } } }`)
    ).message.reactionGroups;
  const thumbs = { emojiName: '+1', emojiCode: '1f44d', reactionType: 'UNICODE_EMOJI', count: 2 };
  const octopus = { emojiName: 'octopus', emojiCode: '1f419', reactionType: 'UNICODE_EMOJI', count: 1 };
  const groupsOf = (viewer: Person) => [
    {
      ...{ ...thumbs, viewerHasReacted: viewer !== guest },
      users: [{ databaseId: owner.id }, { databaseId: administrator.id }],
    },
    { ...octopus, viewerHasReacted: viewer === guest, users: [{ databaseId: guest.id }] },
  ];
  for (const viewer of [owner, guest]) expect(await groups(viewer)).toEqual(groupsOf(viewer));
  await unreact(guest, id, { emoji_name: 'octopus' });
  expect(await unreact(owner, id, { emoji_code: '1f44d' })).toMatchObject({ status: 200 });
  expect(await remove(administrator, id, { name: 'like' })).toEqual({
    __typename: 'RemoveReactionPayload',
  });
  expect((await unreact(owner, id)).body).toMatchObject({ code: 'REACTION_DOES_NOT_EXIST' });
  for (const emoji of [{ name: '+1' }, coded('1f44d')]) {
    expect(await remove(owner, id, emoji)).toMatchObject({ code: 'REACTION_DOES_NOT_EXIST' });
  }
  const [ofOwner, ofAdministrator, ...others] = await Promise.all(hearings.map(async (heard) => told(await heard())));
  const all = [
    ...[owner, administrator].map((user) => ['add', user.id, '+1']),
    ...['add', 'remove'].map((op) => [op, guest.id, 'octopus']),
    ...[owner, administrator].map((user) => ['remove', user.id, '+1']),
  ];
  expect(ofOwner).toEqual(all);
  // The administrator receives all events after their own reaction, until it is removed.
  expect(ofAdministrator).toEqual(all.slice(1));
  expect(others).toEqual([all, all, all, []]);
});

test.concurrent('refuses invalid emoji, with the same code in both APIs', async () => {
  const { owner } = await createOrganization();
  const id = await say(owner, await channelOf(owner, 'general', [owner]), 'topic');
  for (const [emoji, msg] of [
    [{ emoji_name: 'no_such_emoji' }, "Emoji 'no_such_emoji' does not exist"],
    [{ emoji_name: 'constructor' }, "Emoji 'constructor' does not exist"],
    [{ ...THUMBS_UP, emoji_name: 'heart' }, 'Invalid emoji name.'],
    [{ ...THUMBS_UP, emoji_code: '1f44d0' }, 'Invalid emoji code.'],
    [{ ...THUMBS_UP, emoji_code: '1f44d\ud800' }, 'Invalid emoji code.'],
    [{ ...THUMBS_UP, reaction_type: 'service_extra_emoji' }, 'Invalid emoji code.'],
    [{ ...THUMBS_UP, reaction_type: 'realm_emoji' }, 'Invalid custom emoji.'],
    [{ emoji_name: 'thumbs_up', reaction_type: 'realm_emoji' }, 'Invalid custom emoji.'],
  ] as const) {
    expect(await react(owner, id, emoji), msg).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST', msg } });
  }
  for (const [emoji, kind, path] of [
    [{ name: 'no_such_emoji' }, 'NotFoundError', 'name'],
    [coded('1f44d0'), 'ValidationError', 'code'],
    [coded('team_chats', 'SERVICE_EXTRA_EMOJI'), 'ValidationError', 'code'],
    [coded('0', 'REALM_EMOJI'), 'NotFoundError', 'code'],
  ] as const) {
    const refused = { __typename: kind, code: 'BAD_REQUEST', path: expect.arrayContaining(['input', 'emoji', path]) };
    const { addReaction } = await owner.query(
      `mutation ($input: AddReactionInput!) { addReaction(input: $input) { __typename ... on ServiceError { code path } } }`,
      { input: { messageId: id, emoji } },
    );
    expect(addReaction).toEqual(refused);
  }
  expect(await react(owner, id, { ...THUMBS_UP, reaction_type: 'sticker' })).toMatchObject({
    body: { code: 'BAD_REQUEST', msg: 'Invalid emoji type.' },
  });
  expect(await react(owner, id, { emoji_code: '1f44d' })).toMatchObject({
    body: { code: 'REQUEST_VARIABLE_MISSING', var_name: 'emoji_name' },
  });
  const msg = 'At least one of the following arguments must be present: emoji_name, emoji_code';
  expect((await unreact(owner, id, {})).body).toMatchObject({ code: 'BAD_REQUEST', msg });
});

test.concurrent('adds an emoji of the message by its code, also if the emoji table lacks the code', async () => {
  await using service = await startOnDatabaseOfRun();
  const { owner, member } = await createOrganization({}, { on: service });
  const id = await say(owner, await channelOf(owner, 'general', [owner, member]), 'topic');
  await react(owner, id);
  const data = { emojiName: 'from_elsewhere', emojiCode: '1f44d0' };
  await service.app.db.reaction.updateMany({ where: { messageId: BigInt(id) }, data });
  expect(await add(member, id, coded('1f44d0'), 'reaction { emojiName emojiCode }')).toEqual({
    __typename: 'AddReactionPayload',
    reaction: data,
  });
  expect(await add(member, id, coded('1f44d0', 'SERVICE_EXTRA_EMOJI'))).toMatchObject({
    __typename: 'ValidationError',
  });
  expect(await remove(member, id, coded('1f44d0'))).toEqual({ __typename: 'RemoveReactionPayload' });
});

test.concurrent('takes an emoji by name or code, and returns the reaction and the message from both mutations', async () => {
  const { owner, member } = await createOrganization();
  await owner.ok('POST', '/realm/emoji/ducky', { file: PNG });
  const [{ id: ducky }] = Object.values((await owner.ok('GET', '/realm/emoji')).emoji) as [Json];
  const id = await say(owner, await channelOf(owner, 'general', [owner, member]), 'topic');
  const selection = `reaction { id emojiName emojiCode reactionType user { databaseId } }
    changedMessage { databaseId reactions { id } reactionGroups { count } }`;
  for (const [emoji, emojiName, emojiCode, reactionType] of [
    [coded('1f44d'), 'thumbs_up', '1f44d', 'UNICODE_EMOJI'],
    [{ name: 'like' }, 'like', '1f44d', 'UNICODE_EMOJI'],
    [coded('team_chat', 'SERVICE_EXTRA_EMOJI'), 'team_chat', 'team_chat', 'SERVICE_EXTRA_EMOJI'],
    [coded(ducky, 'REALM_EMOJI'), 'ducky', ducky, 'REALM_EMOJI'],
    [{ name: 'ducky' }, 'ducky', ducky, 'REALM_EMOJI'],
  ] as const) {
    const added = await add(member, id, emoji, selection);
    const reaction = { id: expect.any(String), emojiName, emojiCode, reactionType, user: { databaseId: member.id } };
    expect(added).toEqual({
      ...{ __typename: 'AddReactionPayload', reaction },
      changedMessage: { databaseId: id, reactions: [{ id: added.reaction.id }], reactionGroups: [{ count: 1 }] },
    });
    expect(await remove(member, id, emoji, selection)).toEqual({
      ...{ __typename: 'RemoveReactionPayload', reaction: added.reaction },
      changedMessage: { databaseId: id, reactions: [], reactionGroups: [] },
    });
  }
});

test.concurrent('is for readers of the message, who alone are notified; an archived channel accepts none', async () => {
  const { owner, administrator, moderator, member, guest, signUp } = await createOrganization();
  const open = await say(owner, await channelOf(owner, 'open', [owner]), 'topic');
  const hidden = await say(owner, await channelOf(owner, 'hidden', [owner, member], { invite_only: true }), 'topic');
  const guarded = await channelOf(owner, 'guarded', [owner, member], {
    ...{ invite_only: true, history_public_to_subscribers: false },
  });
  const early = await say(owner, guarded, 'topic');
  await owner.ok('POST', '/users/me/subscriptions', {
    subscriptions: [{ name: 'guarded' }],
    principals: [moderator.id],
  });
  const late = await say(owner, guarded, 'topic');
  const direct = await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content: 'hello' });
  const archive = await channelOf(owner, 'archive', [owner, member]);
  const old = await say(owner, archive, 'topic');
  await owner.ok('DELETE', `/streams/${archive}`);
  const refused = { body: { code: 'BAD_REQUEST', msg: 'Invalid message(s)' } };
  for (const [person, id] of [
    ...[open, hidden, direct.id].map((id) => [guest, id] as const),
    // The role of an administrator does not give access to these messages either.
    ...[hidden, early, direct.id].map((id) => [administrator, id] as const),
    ...[early, old, 0, 2 ** 31, Number.MAX_SAFE_INTEGER].map((id) => [moderator, id] as const),
  ]) {
    expect(await react(person, id), `${person.name} ${id}`).toMatchObject(refused);
    expect(await unreact(person, id)).toMatchObject(refused);
  }
  const people = [owner, administrator, moderator, member, guest];
  const hearings = await Promise.all(
    people.map((person) => person.receiving({ all_public_streams: person !== guest })),
  );
  for (const id of [hidden, early, late, direct.id]) await react(member, id);
  await react(moderator, open);
  await signUp('late');
  const ids = await Promise.all(
    hearings.map(async (heard) =>
      (await heard()).flatMap(({ type, message_id }) => (type === 'reaction' ? [message_id] : [])),
    ),
  );
  expect(ids).toEqual([[hidden, early, late, direct.id, open], [], [late, open], [hidden, early, late, direct.id], []]);
});

test.concurrent('counts as participation in a topic, for users who follow such topics', async () => {
  const { owner, member, bot } = await createOrganization();
  const id = await say(owner, await channelOf(owner, 'general', [owner, member, bot]), 'Lunch');
  const heard = await member.receiving({ event_types: ['user_topic'] });
  await react(member, id);
  await member.ok('PATCH', '/settings', { automatically_follow_topics_policy: 1 });
  await react(member, id, { emoji_name: 'octopus' });
  await react(member, id, { emoji_name: 'heart' });
  expect(await heard()).toMatchObject([{ topic_name: 'Lunch', visibility_policy: 3 }]);
});

test.concurrent('contains the user like a fetched message, with the address that others can see', async () => {
  const { owner, member, guest } = await createOrganization();
  const channel = await channelOf(owner, 'general', [owner, member, guest]);
  const id = await say(owner, channel, 'topic');
  const reactionOf = async () => (await guest.ok('GET', `/messages/${id}`)).message.reactions[0];
  const heard = await guest.receiving();
  await react(member, id);
  const open = await reactionOf();
  expect(open.user).toEqual({ id: member.id, email: member.email, full_name: member.name });
  await unreact(member, id);
  await member.ok('PATCH', '/settings', { email_address_visibility: 3, full_name: 'Another Name' });
  await react(member, id);
  const hidden = await reactionOf();
  expect(hidden.user).toEqual({ id: member.id, email: expect.stringMatching(/^user\d+@/), full_name: 'Another Name' });
  const told = { type: 'reaction', message_id: id };
  expect((await heard()).filter(({ type }) => type === 'reaction')).toEqual([
    { ...told, op: 'add', ...open },
    { ...told, op: 'remove', ...open },
    { ...told, op: 'add', ...hidden },
  ]);
});

test.concurrent('accepts the emoji names of clients, and codes with and without U+FE0F as equal, in both APIs', async () => {
  const { owner, member, guest } = await createOrganization();
  const id = await say(owner, await channelOf(owner, 'general', [owner, member, guest]), 'topic');
  const reaction_type = 'unicode_emoji';
  for (const [emoji_name, emoji_code] of [
    ['smile', '1f642'],
    ['big_smile', '1f604'],
    ['calendar', '1f4c5'],
    ['heart', '2764-fe0f'],
    ['rainbow_flag', '1f3f3-fe0f-200d-1f308'],
  ] as const) {
    const emoji = { emoji_name, emoji_code, reaction_type };
    const stored = { ...emoji, emoji_code: emoji_code.replaceAll('-fe0f', '') };
    const heard = await guest.receiving({ event_types: ['reaction', 'user_status'] });
    expect((await react(owner, id, emoji)).body).toMatchObject({ result: 'success' });
    expect((await react(owner, id, stored)).body.code).toBe('REACTION_ALREADY_EXISTS');
    expect(await add(member, id, coded(emoji_code))).toEqual({ __typename: 'AddReactionPayload' });
    expect((await unreact(owner, id, { emoji_code, reaction_type })).body).toMatchObject({ result: 'success' });
    // A status stores the emoji under the name that was sent, and with the code without U+FE0F.
    await member.ok('POST', '/users/me/status', { ...emoji });
    expect((await owner.ok('GET', `/users/${member.id}/status`)).status).toEqual(stored);
    const told = (await heard()).map(({ type, emoji_name, emoji_code }) => ({ type, emoji_name, emoji_code }));
    const { reaction_type: _, ...named } = stored;
    expect(told).toEqual(['reaction', 'reaction', 'reaction', 'user_status'].map((type) => ({ type, ...named })));
  }
  // If the emoji is not on the message yet, the name of another emoji and an unknown name are refused.
  const other = await say(owner, 'general', 'topic');
  expect((await react(owner, other, { emoji_name: 'smile', emoji_code: '1f604', reaction_type })).body.msg).toBe(
    'Invalid emoji name.',
  );
  expect((await react(owner, other, { emoji_name: 'no_such_name' })).body.msg).toBe(
    "Emoji 'no_such_name' does not exist",
  );
});

test.concurrent('events in GraphQL contain all current reactions, as the message shows them', async () => {
  const { owner, member, signUp } = await createOrganization();
  const people = [owner, member, ...(await Promise.all(Array.from({ length: 10 }, (_, i) => signUp(`Person ${i}`))))];
  const channel = await channelOf(owner, 'general', people);
  const id = await say(owner, channel, 'topic');
  for (const person of people.slice(0, 11)) await react(person, id);
  await react(owner, id, { emoji_name: 'octopus' });
  const last = people.at(-1) as Person;
  const shown = `id reactions { emojiName emojiCode reactionType user { databaseId } }
    reactionGroups { emojiName emojiCode reactionType count viewerHasReacted users { databaseId } }`;
  for (const [change, name, count] of [
    [react, 'ReactionAddedEvent', 12],
    [unreact, 'ReactionRemovedEvent', 11],
  ] as const) {
    for (const viewer of [last, member]) {
      const { queue_id: queueId } = await viewer.register({ event_types: ['reaction'] });
      await change(last, id);
      await using events = await viewer.events(`... on ${name} { message { ${shown} } }`, { queueId });
      const { message } = await events.next();
      const now = await viewer.query(`{ message(by: { id: "${globalId('Message', id)}" }) { ${shown} } }`);
      expect(message).toEqual(now.message);
      expect(message.reactionGroups[0]).toMatchObject({
        ...{ count, viewerHasReacted: viewer === member || change === react },
        users: people.slice(0, 10).map(({ id: databaseId }) => ({ databaseId })),
      });
      // Removes the reaction, or adds it again, for the next viewer.
      if (viewer === last) await (change === react ? unreact : react)(last, id);
    }
  }
});
