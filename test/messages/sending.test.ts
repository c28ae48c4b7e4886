import { expect, onTestFinished, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { shareInProcess } from '../helpers/in-process.ts';
import type { Parameters as Fields, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { aroundStatements } from '../helpers/statements.ts';
import { channelOf, messagesIn, say, toTopic } from '../helpers/talk.ts';

const send = (person: Person, parameters: Fields) => person.rest('POST', '/messages', parameters);

test.concurrent('accepts channels and users in every current and former format', async () => {
  const { owner, member, guest } = await createOrganization();
  const id = await channelOf(owner, 'general', [owner, member]);
  const heard = await member.receiving();
  for (const [type, to] of [
    ['channel', 'general'],
    ['stream', 'GENERAL'],
    ['stream', '"general"'],
    ['channel', String(id)],
    ['stream', `[${id}]`],
    ['stream', '["general"]'],
    ['direct', `[${member.id}]`],
    ['private', JSON.stringify([member.email, guest.email])],
    ['direct', `${member.email}, ${guest.email}`],
  ] as const) {
    await owner.ok('POST', '/messages', { type, to, topic: 'forms', content: `${type} ${to}` });
  }
  const messages = messagesIn(await heard());
  expect(messages.map(({ message }) => [message.type, message.display_recipient.length ?? 0, message.subject])).toEqual(
    [
      ...Array.from({ length: 6 }, () => ['stream', 'general'.length, 'forms']),
      ['private', 2, ''],
      ['private', 3, ''],
      ['private', 3, ''],
    ],
  );
  // The conversation depends only on the set of recipients, not on the format in which they are sent.
  expect(messages[7].message.recipient_id).toBe(messages[8].message.recipient_id);
});

test.concurrent('many concurrent messages are each sent once, even if some can no longer be sent', async () => {
  const { owner, member } = await createOrganization();
  const open = await channelOf(owner, 'open', [owner, member]);
  const closing = await channelOf(owner, 'closing', [owner, member]);
  const heard = await owner.receiving();
  const say = (person: Person, to: number, content: string) =>
    send(person, { type: 'channel', to, topic: 'rush', content }).then(({ status, body }) => ({
      status,
      body,
      content,
    }));
  const one = (i: number) => say(i % 2 === 0 ? owner : member, i % 5 === 0 ? closing : open, `no. ${i}`);
  const many = Array.from({ length: 40 }, (_, i) => one(i));
  const [answers] = await Promise.all([
    Promise.all(many),
    owner.ok('DELETE', `/streams/${closing}`),
    owner.ok('PATCH', `/users/${member.id}`, { role: 600 }),
  ]);
  const sent = answers.filter(({ status }) => status === 200);
  // Some messages are refused, because the channel is archived and a role changes meanwhile. None of the owner's messages to
  // the other channel may be refused.
  const mustBeSent = (_: unknown, i: number) => i % 2 === 0 && i % 5 !== 0;
  for (const { content, body } of answers.filter(mustBeSent))
    expect([content, body.result]).toEqual([content, 'success']);
  const messages = messagesIn(await heard()).map(({ message }) => [message.id, message.content]);
  const inOrder = sent.map(({ body, content }) => [body.id, content]).sort(([a], [b]) => Number(a) - Number(b));
  expect(messages.filter(([, content]) => String(content).startsWith('no. '))).toEqual(inOrder);
});

test.concurrent('refuses invalid messages with an error code, and sends nothing', async () => {
  const { owner, member, guest, signUp } = await createOrganization();
  const open = await channelOf(owner, 'open', [owner, member]);
  const hidden = await channelOf(owner, 'hidden', [owner], { invite_only: true });
  const announcements = await channelOf(owner, 'announcements', [owner, member], {
    can_send_message_group: { direct_members: [owner.id], direct_subgroups: [] },
  });
  const old = await channelOf(owner, 'old', [owner, member]);
  await owner.ok('DELETE', `/streams/${old}`);
  const named = await channelOf(owner, 'named', [owner, member], { topics_policy: 'disable_empty_topic' });
  const heard = await owner.receiving({ all_public_streams: true });
  const to = (id: number | string, more: Fields = {}) => ({
    type: 'channel',
    to: id,
    topic: 't',
    content: 'c',
    ...more,
  });
  for (const [parameters, expected] of [
    [to(open, { content: '  \n ' }), { code: 'BAD_REQUEST', msg: 'Message must not be empty' }],
    [to(open, { topic: undefined }), { code: 'BAD_REQUEST', msg: 'Missing topic' }],
    [to(open, { topic: 'a\u0007b' }), { code: 'BAD_REQUEST', msg: 'Invalid character in topic, at position 2!' }],
    [to(2_000_000_000), { code: 'STREAM_DOES_NOT_EXIST', stream_id: 2_000_000_000 }],
    [to('nowhere'), { code: 'STREAM_DOES_NOT_EXIST', stream: 'nowhere' }],
    [to(hidden), { code: 'STREAM_DOES_NOT_EXIST', stream_id: hidden }],
    [to(announcements), { code: 'BAD_REQUEST', msg: 'You do not have permission to post in this channel.' }],
    [to(old), { code: 'BAD_REQUEST', msg: "Not authorized to send to channel 'old'" }],
    [to(named, { topic: '(no topic)' }), { code: 'BAD_REQUEST', empty_topic_display_name: 'general chat' }],
    [to('["open", "old"]'), { code: 'BAD_REQUEST', msg: 'Expected exactly one channel' }],
    [to('[["open"]]'), { code: 'BAD_REQUEST', msg: 'Invalid data type for channel' }],
    [
      to(`${'['.repeat(50_000)}${']'.repeat(50_000)}`),
      { code: 'BAD_REQUEST', msg: 'to is nested too deep (limit: 64)' },
    ],
    [to('{}'), { code: 'BAD_REQUEST', msg: 'Invalid data type for channel' }],
    [to(-1), { code: 'STREAM_DOES_NOT_EXIST', stream_id: -1 }],
    [to(2 ** 31), { code: 'STREAM_DOES_NOT_EXIST', stream_id: 2 ** 31 }],
    [to('open\0'), { code: 'STREAM_DOES_NOT_EXIST', stream: 'open\0' }],
    [to(open, { content: 'c\0' }), { code: 'BAD_REQUEST', msg: 'Message must not contain null bytes' }],
    [
      to(open, { local_id: '1', queue_id: 'q\0' }),
      { code: 'BAD_REQUEST', msg: 'queue_id must not contain null bytes' },
    ],
    [
      to(open, { local_id: '1', queue_id: 'q'.repeat(101) }),
      { code: 'BAD_REQUEST', msg: 'queue_id is too long (limit: 100 characters)' },
    ],
    [
      { type: 'direct', to: '[]', content: 'c' },
      { code: 'BAD_REQUEST', msg: 'Message must have recipients!' },
    ],
    [
      { type: 'direct', to: [2_000_000_000], content: 'c' },
      { code: 'BAD_REQUEST', msg: 'Invalid user ID 2000000000' },
    ],
    [
      { type: 'direct', to: [2 ** 40], content: 'c' },
      { code: 'BAD_REQUEST', msg: `Invalid user ID ${2 ** 40}` },
    ],
    [
      { type: 'direct', to: [[owner.id]], content: 'c' },
      { code: 'BAD_REQUEST', msg: 'Invalid data type for recipients' },
    ],
    [
      { type: 'direct', to: Array.from({ length: 501 }, (_, i) => i), content: 'c' },
      { code: 'BAD_REQUEST', msg: 'A conversation can have at most 250 members' },
    ],
    [
      { type: 'direct', to: [owner.id, owner.email], content: 'c' },
      { code: 'BAD_REQUEST', msg: 'Recipient lists may contain emails or user IDs, but not both.' },
    ],
    [
      { type: 'direct', to: 'nobody@example.org', content: 'c' },
      { code: 'BAD_REQUEST', msg: "Invalid email 'nobody@example.org'" },
    ],
    [
      { to: [owner.id], content: 'c' },
      { code: 'REQUEST_VARIABLE_MISSING', var_name: 'type' },
    ],
    [
      { type: 'group', to: [owner.id], content: 'c' },
      { code: 'BAD_REQUEST', msg: 'Invalid type' },
    ],
  ] as const) {
    const { status, body } = await send(member, parameters);
    expect({ status, ...body }, JSON.stringify(parameters)).toMatchObject({
      status: 400,
      result: 'error',
      ...expected,
    });
  }
  // A guest can send messages only to channels to which they are subscribed.
  expect((await send(guest, to(open))).status).toBe(400);
  const stranger = await createOrganization();
  expect((await send(stranger.owner, { type: 'direct', to: [member.id], content: 'c' })).body.msg).toBe(
    `Invalid user ID ${member.id}`,
  );
  await signUp('late');
  expect(messagesIn(await heard())).toEqual([]);
});

test.concurrent('truncates long texts, and removes surrounding whitespace', async () => {
  const { owner } = await createOrganization();
  const id = await channelOf(owner, 'general', [owner]);
  const heard = await owner.receiving({
    client_capabilities: { notification_settings_null: true, empty_topic_name: true },
  });
  await say(owner, id, ` ${'t'.repeat(61)} `, `\n\n  kept${'x'.repeat(10_000)}  \n`);
  await say(owner, id, 'general chat', 'x');
  await say(owner, id, '(no topic)', 'x');
  const [long, ...unnamed] = messagesIn(await heard());
  expect(long.message.subject).toBe(`${'t'.repeat(57)}...`);
  expect(long.message.content).toHaveLength(10_000);
  expect(long.message.content.startsWith('  kept')).toBe(true);
  expect(long.message.content.endsWith('\n[message truncated]')).toBe(true);
  expect(unnamed.map(({ message }) => message.subject)).toEqual(['', '']);
});

test.concurrent('sends each recipient their own flags, and the local id only to the queue of the sender', async () => {
  const { owner, member, guest, moderator } = await createOrganization();
  const id = await channelOf(owner, 'general', [owner, member, guest]);
  const queue = await owner.register({ fetch_event_types: [] });
  const [other, ofMember, ofGuest, ofModerator] = await Promise.all([
    owner.receiving(),
    member.receiving({ apply_markdown: true }),
    guest.receiving(),
    moderator.receiving({ all_public_streams: true }),
  ]);
  const content = `hi @**member|${member.id}** and @**all**`;
  const sent = await owner.ok('POST', '/messages', {
    ...{ type: 'channel', to: id, topic: 'hello', content },
    ...{ queue_id: queue.queue_id, local_id: '17.5', read_by_sender: true },
  });
  expect(sent.automatic_new_visibility_policy).toBe(3);
  const events = await owner.poll(queue.queue_id, queue.last_event_id, { dontBlock: true });
  const [own] = messagesIn(events);
  expect(own).toMatchObject({
    local_message_id: '17.5',
    message: { id: sent.id, content, content_type: 'text/x-markdown' },
  });
  expect(own.flags).toEqual(['read', 'stream_wildcard_mentioned', 'wildcard_mentioned']);
  // The user follows the topic automatically, because they started it.
  expect(events.find(({ type }) => type === 'user_topic')).toMatchObject({ topic_name: 'hello', visibility_policy: 3 });
  const [again] = messagesIn(await other());
  expect(again.local_message_id).toBeUndefined();
  const [mentioned] = messagesIn(await ofMember());
  expect(mentioned.flags).toEqual(['mentioned', 'stream_wildcard_mentioned', 'wildcard_mentioned']);
  expect(mentioned.message).toMatchObject({ content_type: 'text/html', is_me_message: false, sender_id: owner.id });
  expect(messagesIn(await ofGuest())[0].flags).toEqual(['stream_wildcard_mentioned', 'wildcard_mentioned']);
  // The moderator is not subscribed, so no mention applies to them. They can see the message because the channel is public.
  expect(messagesIn(await ofModerator())[0].flags).toEqual([]);
});

test.concurrent('filters the messages of a queue by its narrow, live and on replay', async () => {
  const { owner, member } = await createOrganization();
  const [one, two] = [await channelOf(owner, 'One', [owner, member]), await channelOf(owner, 'two', [owner, member])];
  const narrows: readonly (readonly [Json, readonly string[]])[] = [
    [[['stream', 'one']], ['a', 'b']],
    [
      [
        ['channel', 'one'],
        ['topic', 'Lunch'],
      ],
      ['a'],
    ],
    [[['sender', member.email]], ['c', 'd']],
    [[['is', 'dm']], ['d']],
    [[['is', 'mentioned']], ['c']],
    [[['is', 'unread']], ['a', 'b', 'c', 'd', 'e']],
    // The other names of the empty topic match it, too.
    [[['topic', 'general chat']], ['e']],
    [[['topic', '(no topic)']], ['e']],
    [[['topic', '']], ['e']],
  ];
  const hearings = await Promise.all(narrows.map(([narrow]) => owner.receiving({ narrow })));
  await say(owner, one, 'lunch', 'a');
  await say(owner, one, 'dinner', 'b');
  await member.ok('POST', '/messages', {
    type: 'channel',
    to: two,
    topic: 'lunch',
    content: `c @**owner|${owner.id}**`,
  });
  await member.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'd' });
  await say(owner, two, '', 'e');
  for (const [i, heard] of hearings.entries()) {
    const contents = messagesIn(await heard()).map(({ message }) => message.content[0]);
    expect(contents, JSON.stringify(narrows[i]?.[0])).toEqual(narrows[i]?.[1]);
  }
});

test('ids follow the order of events, also for concurrent senders, and an archived channel gets no message', async () => {
  await using server = await shareInProcess();
  const { owner, member, moderator } = await createOrganization({}, { on: server });
  const id = await channelOf(owner, 'busy', [owner, member, moderator]);
  const secret = await channelOf(owner, 'secret', [owner, member], { invite_only: true });
  const heard = await owner.receiving();
  const many = (person: Person, channel: number) =>
    Promise.all(
      Array.from({ length: 25 }, (_, i) =>
        send(person, { type: 'channel', to: channel, topic: `t${i % 3}`, content: 'x' }),
      ),
    );
  const [, , , ...replies] = await Promise.all([
    many(owner, id),
    many(moderator, id),
    (async () => {
      await new Promise((resolve) => setTimeout(resolve, 40));
      await owner.ok('DELETE', `/streams/${id}`);
      await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['secret'], principals: [member.id] });
    })(),
    many(member, id),
    many(member, secret),
  ]);
  const events = (await heard()).filter(
    ({ type, op }) => type === 'message' || type === 'stream' || op === 'peer_remove',
  );
  const ids = messagesIn(events).map(({ message }) => message.id);
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  const archived = events.findIndex(({ type }) => type === 'stream');
  expect(messagesIn(events.slice(archived)).filter(({ message }) => message.stream_id === id)).toEqual([]);
  const left = events.findIndex(({ op }) => op === 'peer_remove');
  expect(messagesIn(events.slice(left)).filter(({ message }) => message.stream_id === secret)).toEqual([]);
  // All acknowledged messages were sent, and no refused ones.
  const sent = replies
    .flat()
    .filter(({ status }) => status === 200)
    .map(({ body }) => body.id);
  const ofMember = messagesIn(events).filter(({ message }) => message.sender_id === member.id);
  expect(sent.toSorted((a, b) => a - b)).toEqual(ofMember.map(({ message }) => message.id));
  const codes = replies.flat().map(({ status, body }) => (status === 200 ? 'sent' : body.code));
  // The only errors are those for the archived channel and for the channel that the sender can no longer see.
  expect(['sent', 'BAD_REQUEST', 'STREAM_DOES_NOT_EXIST']).toEqual(expect.arrayContaining([...new Set(codes)]));
});

test('finds a sent message after a lost reply of the database, and sends none twice', async () => {
  await using server = await shareInProcess();
  const { owner } = await createOrganization({}, { on: server });
  const id = await channelOf(owner, 'general', [owner]);
  await say(owner, id, 'topic', 'first');
  const heard = await owner.receiving();
  let losses = 2;
  // The connection breaks twice: first after the statement has run, then before it has run.
  const mend = aroundStatements(server.app, async (run, sql) => {
    if (losses === 0 || !sql.includes('write_messages')) return run();
    if (losses-- === 2) await run();
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  });
  onTestFinished(mend);
  const sent = await say(owner, id, 'topic', 'second');
  expect(losses).toBe(0);
  const messages = messagesIn(await heard());
  expect(messages.map(({ message }) => [message.id, message.content])).toEqual([[sent, 'second']]);
});

test('retries after a conflict with the current sender, whose image is shown as each recipient can see it', async () => {
  await using server = await shareInProcess();
  const { owner, member, moderator } = await createOrganization({}, { on: server });
  const id = await channelOf(owner, 'general', [owner, moderator]);
  for (const person of [member, moderator]) await say(person, id, 'topic', 'first');
  const { db } = server.app;
  /** Sends a message. Runs `meanwhile` after the message was checked and before the statement that sends it. */
  const sendingLate = async (person: Person, meanwhile: () => Promise<unknown>) => {
    let happened = false;
    const mend = aroundStatements(server.app, async (run, sql) => {
      if (sql.includes('write_messages')) {
        happened = true;
        // Runs `meanwhile` only once.
        mend();
        await meanwhile();
      }
      return run();
    });
    const { status, body } = await send(person, { type: 'channel', to: id, topic: 'topic', content: 'second' });
    expect(happened).toBe(true);
    return [status, body.code, body.msg];
  };
  const heard = await owner.receiving();
  expect(await sendingLate(moderator, () => owner.ok('PATCH', `/users/${moderator.id}`, { role: 600 }))).toEqual([
    ...[200, undefined, ''],
  ]);
  expect(await sendingLate(member, () => owner.ok('PATCH', `/users/${member.id}`, { role: 600 }))).toEqual([
    ...[400, 'STREAM_DOES_NOT_EXIST', `Channel with ID '${id}' does not exist`],
  ]);
  await owner.ok('PATCH', `/users/${member.id}`, { role: 400 });
  expect(
    await sendingLate(member, () => db.user.updateMany({ where: { id: member.id }, data: { isActive: false } })),
  ).toEqual([401, 'USER_DEACTIVATED', 'Account is deactivated']);
  expect(messagesIn(await heard()).map(({ message }) => message.sender_id)).toEqual([moderator.id]);
});

test.concurrent("does not count the service's own bot as a user", async () => {
  const { owner, member, guest, other } = await createOrganization({ other: 'guest' });
  const state = await owner.register();
  const bot = state.cross_realm_bots[0].user_id;
  const id = await channelOf(owner, 'general', [owner]);
  const noSuchUser = { status: 400, body: { msg: 'No such user' } };
  expect(
    await owner.rest('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'general' }], principals: [bot] }),
  ).toMatchObject(noSuchUser);
  expect(await owner.rest('POST', '/channels/create', { name: 'more', subscribers: [bot] })).toMatchObject(noSuchUser);
  expect(await owner.rest('PATCH', `/users/${bot}`, { role: 100, full_name: 'Eve' })).toMatchObject(noSuchUser);
  const permission = { can_send_message_group: { new: { direct_members: [bot], direct_subgroups: [] } } };
  expect((await owner.rest('PATCH', `/streams/${id}`, permission)).body.msg).toBe(`Invalid user ID: ${bot}`);
  const { members } = await owner.ok('GET', '/users');
  const { users } = await owner.query('{ users(first: 100) { edges { node { databaseId } } } }');
  const listed = [members.map(({ user_id }: Json) => user_id), users.edges.map(({ node }: Json) => node.databaseId)];
  for (const ids of listed) expect(ids).not.toContain(bot);
  // Users can reply to the bot. The permission for direct messages must be held by at least one recipient, and the bot does not
  // count as one.
  await member.ok('POST', '/messages', { type: 'direct', to: [bot], content: 'thank you' });
  await owner.ok('PATCH', '/realm', {
    direct_message_permission_group: { new: state.realm_can_add_subscribers_group },
  });
  for (const to of [[other.id], [other.id, bot], [bot]]) {
    expect((await send(guest, { type: 'direct', to, content: 'hello' })).body.msg).toBe(
      'This conversation does not include any users who can authorize it.',
    );
  }
  expect((await send(guest, { type: 'direct', to: [other.id, member.id], content: 'hello' })).status).toBe(200);
});

test('an unsent message that would have followed its topic is not reported as partially done', async () => {
  await using server = await shareInProcess();
  const { app } = server;
  const { owner, member, organization } = await createOrganization({}, { on: server });
  const id = await channelOf(owner, 'general', [owner, member]);
  // The message starts a topic, which the sender then follows.
  const { promise: enough, resolve: end } = Promise.withResolvers<void>();
  const line = Array.from({ length: 300 }, () => app.database.permits.run(organization.id, () => enough));
  const answers = Promise.allSettled(line);
  const sent = await member.graphql(
    'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { __typename } }',
    { input: { to: toTopic(id, 'new'), content: 'hello' } },
  );
  end();
  await answers;
  expect(sent.errors?.[0].message).toBe('The service is unavailable; nothing was changed, please try again');
  await member.mutate('sendMessage', { to: toTopic(id, 'new'), content: 'hello' }, '__typename');
});
