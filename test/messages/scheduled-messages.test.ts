import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LATENESS_MS } from '../../src/messages/scheduled/lateness.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { type EquivalentOrganization, expectParity } from '../helpers/equivalents.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Parameters as Fields, Method, Person } from '../helpers/person.ts';
import { createOrganization, type Organization, type OrganizationOptions, type RoleName } from '../helpers/server.ts';
import { toTopic } from '../helpers/talk.ts';

const { DATABASE_URL } = process.env;

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const NOBODY = 2_000_000_000;
/** UNIX time in seconds, in the year 2100. */
const LATER = 4_102_444_800;

/** Creates an organization with a public channel, to which its owner, member and bot are subscribed. */
async function house<const P extends Readonly<Record<string, RoleName>>>(people: P, options: OrganizationOptions = {}) {
  const made = await createOrganization(people, options);
  const general = await channelOf(made, 'general');
  return { ...made, general };
}

async function channelOf({ owner, member, bot }: Organization, name: string, more: Fields = {}): Promise<number> {
  const subscribers = [owner.id, member.id, bot.id];
  return (await owner.ok('POST', '/channels/create', { name, subscribers, ...more })).id;
}

/** Schedules a message. @returns The id of the scheduled message. */
async function schedule(person: Person, message: Fields, headers = {}): Promise<number> {
  const parameters = { type: 'channel', topic: 'plans', content: 'hello', ...message };
  return (await person.ok('POST', '/scheduled_messages', parameters, { headers })).scheduled_message_id;
}

const list = async (person: Person): Promise<Json[]> =>
  (await person.ok('GET', '/scheduled_messages')).scheduled_messages;

const sentIn = (events: readonly Json[]) =>
  events.filter(({ type }) => type === 'message').map(({ message }) => message);

describe('scheduling', () => {
  test.concurrent('accepts messages for channels and users, and lists them by time', async () => {
    const { owner, member, guest, bot, general } = await house({});
    const heard = await owner.receiving();
    const ids = [
      await schedule(owner, { to: general, scheduled_delivery_timestamp: LATER + 3, content: '\n\nto **all** \n' }),
      await schedule(owner, {
        type: 'stream',
        to: [general],
        topic: ' (no topic) ',
        scheduled_delivery_timestamp: LATER,
      }),
      await schedule(owner, {
        ...{ type: 'private', to: [guest.id, owner.id, member.id, guest.id], topic: 'dropped' },
        scheduled_delivery_timestamp: LATER + 1,
      }),
      await schedule(owner, { type: 'direct', to: owner.id, scheduled_delivery_timestamp: LATER }),
    ];
    const record = { content: 'hello', rendered_content: '<p>hello</p>', failed: false };
    const records = [
      { scheduled_message_id: ids[1], type: 'stream', to: general, topic: '', scheduled_delivery_timestamp: LATER },
      { scheduled_message_id: ids[3], type: 'private', to: [owner.id], scheduled_delivery_timestamp: LATER },
      {
        ...{ scheduled_message_id: ids[2], type: 'private', to: [member.id, guest.id].toSorted((a, b) => a - b) },
        scheduled_delivery_timestamp: LATER + 1,
      },
      {
        ...{ scheduled_message_id: ids[0], type: 'stream', to: general, topic: 'plans' },
        ...{ content: 'to **all**', rendered_content: '<p>to <strong>all</strong></p>' },
        scheduled_delivery_timestamp: LATER + 3,
      },
    ].map((fields) => ({ ...record, ...fields }));
    expect(await list(owner)).toEqual(records);
    expect((await heard()).map(({ op, scheduled_messages }) => [op, scheduled_messages[0].topic])).toEqual([
      ['add', 'plans'],
      // The client does not support the empty topic, so it receives the topic's displayed name.
      ['add', 'general chat'],
      ['add', undefined],
      ['add', undefined],
    ]);
    await schedule(bot, { to: general, scheduled_delivery_timestamp: LATER });
    expect(await list(bot)).toHaveLength(1);
    expect(await list(member)).toEqual([]);
    await expectIgnoredParameters(owner, 'POST', async () => ({
      path: '/scheduled_messages',
      parameters: { type: 'direct', to: [member.id], content: 'x', topic: 'x', scheduled_delivery_timestamp: LATER },
    }));
    await expectIgnoredParameters(owner, 'GET', async () => ({ path: '/scheduled_messages' }));
  });

  test.concurrent('refuses messages that could not be sent, checking the time first', async () => {
    const made = await house({});
    const { owner, member, administrator, general } = made;
    const hidden = await channelOf(made, 'hidden', { invite_only: true });
    const strict = await channelOf(made, 'strict', { topics_policy: 'disable_empty_topic' });
    const loose = await channelOf(made, 'loose', { topics_policy: 'empty_topic_only' });
    const old = await channelOf(made, 'old');
    await owner.ok('DELETE', `/streams/${old}`);
    const foreign = await createOrganization();
    const to = { type: 'channel', to: general, topic: 'plans', content: 'hello', scheduled_delivery_timestamp: LATER };
    const empty = { topic: 'general chat', empty_topic_display_name: 'general chat' };
    for (const [what, expected, person = member] of [
      [{ type: undefined }, { code: 'REQUEST_VARIABLE_MISSING', var_name: 'type' }],
      [{ type: 'group' }, { msg: 'Invalid type' }],
      [{ to: 'general' }, { msg: 'to is not valid JSON' }],
      [{ to: '"general"' }, { msg: 'Invalid data type for channel ID' }],
      [{ to: [general, general] }, { msg: 'Invalid data type for channel ID' }],
      [{ type: 'direct', to: [member.email] }, { msg: 'Invalid data type for recipients' }],
      [{ type: 'direct', to: [] }, { msg: 'Message must have recipients!' }],
      [{ type: 'direct', to: [NOBODY] }, { msg: `Invalid user ID ${NOBODY}` }],
      [{ type: 'direct', to: [foreign.owner.id] }, { msg: `Invalid user ID ${foreign.owner.id}` }],
      [{ content: ' \n' }, { msg: 'Message must not be empty' }],
      [{ content: 'a\0b' }, { msg: 'Message must not contain null bytes' }],
      [{ topic: undefined }, { msg: 'Missing topic' }],
      [{ topic: 'a\nb' }, { msg: 'Invalid character in topic, at position 2!' }],
      [{ to: NOBODY }, { code: 'STREAM_DOES_NOT_EXIST', stream_id: NOBODY }],
      [{ to: hidden }, { msg: "Not authorized to send to channel 'hidden'" }, administrator],
      [{ to: old }, { msg: "Not authorized to send to channel 'old'" }],
      [
        { to: strict, topic: empty.topic },
        {
          msg: 'Sending messages to the general chat is not allowed in this channel.',
          empty_topic_display_name: empty.empty_topic_display_name,
        },
      ],
      [{ to: loose }, { msg: 'Only the general chat topic is allowed in this channel.' }],
      [{ scheduled_delivery_timestamp: undefined }, { var_name: 'scheduled_delivery_timestamp' }],
      [{ scheduled_delivery_timestamp: 'soon' }, { msg: 'scheduled_delivery_timestamp is not valid JSON' }],
      [{ scheduled_delivery_timestamp: 1e12 }, { msg: 'scheduled_delivery_timestamp is too large' }],
      ...[Math.floor(Date.now() / 1000), 0, -1e13].map(
        (scheduled_delivery_timestamp) =>
          [
            { scheduled_delivery_timestamp, to: NOBODY, content: '' },
            { msg: 'Scheduled delivery time must be in the future.' },
          ] as const,
      ),
    ] as readonly (readonly [Fields, Json, Person?])[]) {
      const { status, body } = await person.rest('POST', '/scheduled_messages', { ...to, ...what });
      expect([status, body], JSON.stringify(what)).toEqual([400, expect.objectContaining(expected)]);
    }
    expect([await list(member), await list(administrator)]).toEqual([[], []]);
  });

  test.concurrent('applies the rules for changes in their order', async () => {
    const made = await house({});
    const { owner, member, guest, general } = made;
    const strict = await channelOf(made, 'strict', { topics_policy: 'disable_empty_topic' });
    const id = await schedule(member, { to: general, scheduled_delivery_timestamp: LATER });
    const patch = (fields: Fields, at = id, person = member) =>
      person.rest('PATCH', `/scheduled_messages/${at}`, fields);
    const past = { scheduled_delivery_timestamp: 1 };
    for (const [fields, status, msg, at, person] of [
      [{}, 400, 'Nothing to change'],
      [{ unknown: 1 }, 400, 'Nothing to change'],
      [{ type: 'channel', ...past }, 400, 'Recipient required when updating type of scheduled message.'],
      [
        { type: 'channel', to: general, ...past },
        400,
        'Topic required when updating scheduled message type to channel.',
        NOBODY,
      ],
      [past, 400, 'Scheduled delivery time must be in the future.', NOBODY],
      [{ content: '' }, 404, 'Scheduled message does not exist', NOBODY],
      [{ content: '' }, 404, 'Scheduled message does not exist', id, owner],
      [{ content: ' ' }, 400, 'Message must not be empty'],
      [{ to: [NOBODY] }, 400, `Channel with ID '${NOBODY}' does not exist`],
      [{ to: '"general"' }, 400, 'Invalid data type for channel ID'],
      [{ type: 'direct', to: [NOBODY] }, 400, `Invalid user ID ${NOBODY}`],
      [{ topic: '\u0007' }, 400, 'Invalid character in topic, at position 1!'],
    ] as readonly (readonly [Fields, number, string, number?, Person?])[]) {
      const reply = await patch(fields, at, person);
      expect([reply.status, reply.body.msg], JSON.stringify(fields)).toEqual([status, msg]);
    }
    const heard = await member.receiving();
    const now = async () => (await list(member))[0];
    await patch({ topic: 't'.repeat(61) });
    expect(await now()).toMatchObject({ topic: `${'t'.repeat(57)}...`, content: 'hello' });
    await patch({ content: 'new **words**', scheduled_delivery_timestamp: LATER + 5 });
    expect(await now()).toMatchObject({
      ...{ content: 'new **words**', rendered_content: '<p>new <strong>words</strong></p>', to: general },
      scheduled_delivery_timestamp: LATER + 5,
    });
    await patch({ to: strict });
    expect((await patch({ topic: '' })).body.msg).toBe(
      'Sending messages to the general chat is not allowed in this channel.',
    );
    expect(await now()).toMatchObject({ to: strict, topic: `${'t'.repeat(57)}...` });
    await patch({ type: 'private', to: guest.id });
    expect(await now()).toEqual({
      ...{ scheduled_message_id: id, type: 'private', to: [guest.id], content: 'new **words**', failed: false },
      ...{ rendered_content: '<p>new <strong>words</strong></p>', scheduled_delivery_timestamp: LATER + 5 },
    });
    expect((await patch({ topic: 'means nothing' })).body.result).toBe('success');
    await patch({ type: 'stream', to: [general], topic: '' });
    expect(await now()).toMatchObject({ type: 'stream', to: general, topic: '' });
    const updates = (await heard()).map(({ op, scheduled_message }) => [op, scheduled_message.topic]);
    expect([updates.length, updates.at(-1)]).toEqual([6, ['update', 'general chat']]);
    await expectIgnoredParameters(member, 'PATCH', async () => ({
      path: `/scheduled_messages/${id}`,
      parameters: { content: 'again' },
    }));
  });

  test.concurrent('cancels a scheduled message of the viewer, and no other', async () => {
    const { owner, member, general } = await house({});
    const id = await schedule(member, { to: general, scheduled_delivery_timestamp: LATER });
    const cancel = (person: Person) => person.rest('DELETE', `/scheduled_messages/${id}`);
    const absent = { result: 'error', code: 'BAD_REQUEST', msg: 'Scheduled message does not exist' };
    const refused = await cancel(owner);
    expect([refused.status, refused.body]).toEqual([404, absent]);
    const heard = await member.receiving();
    expect((await cancel(member)).status).toBe(200);
    expect(await heard()).toEqual([{ type: 'scheduled_messages', op: 'remove', scheduled_message_id: id }]);
    expect((await cancel(member)).body).toEqual(absent);
    expect(await list(member)).toEqual([]);
    await expectIgnoredParameters(member, 'DELETE', async () => ({
      path: `/scheduled_messages/${await schedule(member, { to: general, scheduled_delivery_timestamp: LATER })}`,
    }));
  });

  test.concurrent('is the same over GraphQL', async () => {
    const furnish = async (twin: EquivalentOrganization) => {
      const { people } = twin;
      const general = twin.name('channel', await channelOf(people, 'general'), 'general');
      const scheduled = twin.name('scheduled_message', await schedule(people.member, { ...AT, to: general }), 'one');
      return { ...people, general, scheduled };
    };
    type World = Awaited<ReturnType<typeof furnish>>;
    const AT = { scheduled_delivery_timestamp: LATER };
    const toInput = ({ type, to, topic, scheduled_delivery_timestamp: time, read_by_sender, ...rest }: Json) => ({
      ...rest,
      ...(to !== undefined && { to: type === 'channel' ? toTopic(to, topic) : { direct: to } }),
      ...(time !== undefined && { scheduledAt: new Date(time * 1000).toISOString() }),
      ...(read_by_sender !== undefined && { readBySender: read_by_sender }),
    });
    const act =
      (method: Method, mutation: string) =>
      (fields: (world: World) => Fields, code?: string, missing = false) => ({
        rest: (world: World) => {
          const id = missing ? NOBODY : world.scheduled;
          const path = method === 'POST' ? '/scheduled_messages' : `/scheduled_messages/${id}`;
          return world.member.rest(method, path, fields(world));
        },
        graphql: (world: World) => {
          const id = { scheduledMessageId: missing ? NOBODY : world.scheduled };
          return world.member.tryMutation(mutation, { ...(method !== 'POST' && id), ...toInput(fields(world)) });
        },
        ...(code !== undefined && { code }),
      });
    const create = act('POST', 'scheduleMessage');
    const update = act('PATCH', 'updateScheduledMessage');
    const cancel = act('DELETE', 'cancelScheduledMessage');
    const toChannel = ({ general }: World) => ({ type: 'channel', to: general, topic: 'x', content: 'y', ...AT });
    await expectParity(furnish, {
      'for a channel': create(toChannel),
      'for people': create(({ guest }) => ({
        type: 'direct',
        to: [guest.id],
        content: 'y',
        ...AT,
        read_by_sender: true,
      })),
      'for nobody': create(() => ({ type: 'direct', to: [], content: 'y', ...AT }), 'BAD_REQUEST'),
      'in the past': create((world) => ({ ...toChannel(world), scheduled_delivery_timestamp: 1 }), 'BAD_REQUEST'),
      'no content': create((world) => ({ ...toChannel(world), content: ' ' }), 'BAD_REQUEST'),
      'no channel': create((world) => ({ ...toChannel(world), to: NOBODY }), 'STREAM_DOES_NOT_EXIST'),
      'another time and content': update(() => ({ content: 'z', scheduled_delivery_timestamp: LATER + 1 })),
      'other recipients': update(({ guest }) => ({ type: 'direct', to: [guest.id] })),
      nothing: update(() => ({}), 'BAD_REQUEST'),
      'a nonexistent message': update(() => ({ content: 'z' }), 'BAD_REQUEST', true),
      cancelled: cancel(() => ({})),
      'cancelled again': cancel(() => ({}), 'BAD_REQUEST'),
    });
  });

  test.concurrent('sends automatically when the time comes', async () => {
    const { owner, member, general } = await house({});
    await using seen = await owner.events('... on ScheduledMessageRemovedEvent { scheduledMessageId }');
    const heard = await member.receiving();
    const id = await schedule(owner, {
      ...{ to: general, content: 'in time' },
      scheduled_delivery_timestamp: Math.floor(Date.now() / 1000) + 3,
    });
    const globally = globalId('ScheduledMessage', id);
    while ((await seen.next())['scheduledMessageId'] !== globally);
    const [message] = sentIn(await heard());
    expect(message.content).toBe('in time');
    const query = `{ node(id: "${globally}") {
      ... on ScheduledMessage { state failureReason message { databaseId } owner { databaseId } } } }`;
    expect((await owner.query(query)).node).toEqual({
      ...{
        state: 'DELIVERED',
        failureReason: null,
        message: { databaseId: message.id },
        owner: { databaseId: owner.id },
      },
    });
    expect((await member.query(query)).node).toBeNull();
    expect((await owner.query('{ scheduledMessages { edges { node { id } } } }')).scheduledMessages.edges).toEqual([]);
  });

  test('accepts times up to the maximum', async () => {
    const { owner } = await createOrganization();
    const scheduled_delivery_timestamp = 253_402_300_799;
    const message = { type: 'direct', to: [owner.id], content: 'See you', scheduled_delivery_timestamp };
    await owner.ok('POST', '/scheduled_messages', message);
    const { scheduledMessages } = await owner.query('{ scheduledMessages { edges { node { expiresAt } } } }');
    expect(scheduledMessages.edges).toEqual([{ node: { expiresAt: '9999-12-31T23:59:59.000Z' } }]);
  });
});

/** The tests share a clock, so they run one after another. */
describe('delivery', () => {
  let clock = Date.parse('2026-11-20T10:00:00Z');
  let service: InProcess;

  beforeAll(async () => {
    service = await startInProcess({
      now: () => {
        clock += slowMs;
        return new Date(clock);
      },
    });
  });
  afterAll(() => service[Symbol.asyncDispose]());
  let slowMs = 0;

  const inSeconds = (seconds: number) => ({ scheduled_delivery_timestamp: Math.floor(clock / 1000) + seconds });
  /** Advances the clock, and sends all scheduled messages that are then due. */
  async function pass(ms: number): Promise<void> {
    clock += ms;
    await service.deliveries.deliverDue();
  }
  const here = <const P extends Readonly<Record<string, RoleName>>>(people: P) => house(people, { on: service });
  const rowOf = (id: number) => service.app.db.scheduledMessage.findFirstOrThrow({ where: { id } });
  /** Returns the messages of the notification bot that the events contain. */
  const noticesIn = (events: readonly Json[]) =>
    sentIn(events).filter(({ sender_full_name }) => sender_full_name === 'Notification Bot');

  test("sends at the time and not before, as the owner, with the owner's client and permissions", async () => {
    const { owner, member, general } = await here({});
    const [own, others] = [await owner.receiving(), await member.receiving()];
    const id = await schedule(owner, { ...inSeconds(60), to: general }, { 'user-agent': 'ServiceMobile/1.0' });
    await schedule(owner, { ...inSeconds(60), type: 'direct', to: owner.id }, { 'user-agent': 'ServiceMobile/1.0' });
    await schedule(owner, { ...inSeconds(61), to: general, read_by_sender: true }, { 'user-agent': 'script/1' });
    await schedule(owner, { ...inSeconds(61), to: general }, { 'user-agent': 'script/1' });
    await pass(59_999);
    expect(sentIn(await others())).toEqual([]);
    await pass(1);
    await pass(1_000);
    const events = await own();
    expect(events.map(({ type, op }) => [type, op])).toEqual([
      ...Array.from({ length: 4 }, () => ['scheduled_messages', 'add']),
      ['message', undefined],
      // The sender automatically follows the new topic, so this event follows the message.
      ['user_topic', undefined],
      ['scheduled_messages', 'remove'],
      ['message', undefined],
      ['scheduled_messages', 'remove'],
      ...Array.from({ length: 2 }, () => [
        ['message', undefined],
        ['scheduled_messages', 'remove'],
      ]).flat(),
    ]);
    expect(
      events.filter(({ type }) => type === 'message').map(({ message, flags }) => [message.client, flags]),
    ).toEqual([
      [expect.stringContaining('ServiceMobile'), ['read']],
      [expect.stringContaining('ServiceMobile'), []],
      [expect.stringContaining('script'), ['read']],
      [expect.stringContaining('script'), []],
    ]);
    const [message] = sentIn(await others());
    expect(message).toMatchObject({
      ...{ sender_id: owner.id, stream_id: general, subject: 'plans', content: 'hello' },
      timestamp: Math.floor(clock / 1000) - 1,
    });
    expect(await rowOf(id)).toMatchObject({ state: 'delivered', deliveredMessageId: BigInt(message.id) });
    expect(await list(owner)).toEqual([]);
    // While the row still exists, the error says that the message was sent. Later it says that the id is unknown.
    for (const [method, fields] of [
      ['PATCH', { content: 'x' }],
      ['DELETE', {}],
    ] as const) {
      const { status, body } = await owner.rest(method, `/scheduled_messages/${id}`, fields);
      expect([status, body.msg]).toEqual([400, 'Scheduled message was already sent']);
    }
    await pass(31 * DAY);
    expect((await owner.rest('PATCH', `/scheduled_messages/${id}`, { content: 'x' })).status).toBe(404);
  });

  test('sends by time and then by id, each message once', async () => {
    const { owner, member, bot, general } = await here({});
    const heard = await member.receiving();
    for (const [i, seconds] of [30, 10, 20, 10, 30, 10].entries()) {
      const person = i % 2 === 0 ? owner : bot;
      await schedule(person, { ...inSeconds(seconds), to: general, content: `${seconds}, number ${i}` });
    }
    await Promise.all([pass(MINUTE), pass(0), pass(0)]);
    expect(sentIn(await heard()).map(({ content }) => content)).toEqual([
      ...['10, number 1', '10, number 3', '10, number 5', '20, number 2', '30, number 0', '30, number 4'],
    ]);
  });

  test('checks permissions again at delivery; reports a failure to the owner, and sends at a new time', async () => {
    const made = await here({ ann: 'member', bob: 'member' });
    const { owner, ann, bob, general } = made;
    const hidden = await channelOf(made, 'hidden', { invite_only: true });
    const old = await channelOf(made, 'old');
    const join = (name: string) =>
      owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name }], principals: [ann.id] });
    await join('hidden');
    const ids = [
      await schedule(ann, { ...inSeconds(10), to: hidden }),
      await schedule(ann, { ...inSeconds(11), to: old }),
      await schedule(ann, { ...inSeconds(12), type: 'direct', to: [bob.id] }),
      await schedule(ann, { ...inSeconds(13), to: general, topic: '' }),
      await schedule(ann, { ...inSeconds(14), to: general, content: 'may be sent' }),
    ];
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['hidden'], principals: [ann.id] });
    await owner.ok('DELETE', `/streams/${old}`);
    await service.app.db.user.updateMany({ where: { id: bob.id }, data: { isActive: false } });
    await owner.ok('PATCH', `/streams/${general}`, { topics_policy: 'disable_empty_topic' });
    const [heard, others] = [await ann.receiving(), await owner.receiving()];
    await pass(MINUTE);
    const reasons = [
      `Channel with ID '${hidden}' does not exist`,
      "Not authorized to send to channel 'old'",
      `'${bob.email}' is no longer using this service.`,
      'Sending messages to the general chat is not allowed in this channel.',
    ];
    const rows = await Promise.all(ids.slice(0, 4).map(rowOf));
    expect(rows.map(({ state, failureMessage }) => [state, failureMessage])).toEqual(
      reasons.map((reason) => ['failed', reason]),
    );
    const events = await heard();
    const updates = events.filter(({ op }) => op === 'update').map(({ scheduled_message }) => scheduled_message);
    expect(updates).toEqual(
      (await list(ann)).map((record) => (record.topic === '' ? { ...record, topic: 'general chat' } : record)),
    );
    expect(updates.map((record) => [record.scheduled_message_id, record.failed])).toEqual(
      ids.slice(0, 4).map((id) => [id, true]),
    );
    const notices = noticesIn(events);
    expect(notices.map(({ content }, i) => content.includes(`\n${reasons[i]}\n`))).toEqual([true, true, true, true]);
    expect(notices[0].content).toContain('(#scheduled)');
    expect(sentIn(await others()).map(({ content }) => content)).toEqual(['may be sent']);
    // A failed message is not retried. It can be edited only if the request also sets a new time.
    await join('hidden');
    await pass(MINUTE);
    const [id] = ids;
    const edit = (fields: Fields) => ann.rest('PATCH', `/scheduled_messages/${id}`, fields);
    expect((await edit({ content: 'again' })).body.msg).toBe('Scheduled delivery time must be in the future.');
    expect((await edit(inSeconds(10))).status).toBe(200);
    expect(await rowOf(id ?? 0)).toMatchObject({ state: 'scheduled', failureMessage: null });
    await pass(MINUTE);
    expect(await rowOf(id ?? 0)).toMatchObject({ state: 'delivered' });
    await ann.ok('DELETE', `/scheduled_messages/${ids[1]}`);
    expect((await list(ann)).map(({ scheduled_message_id }) => scheduled_message_id)).toEqual(ids.slice(2, 4));
  });

  test('uses the state of the owner and of mentioned users at delivery', async () => {
    const { owner, member, guest, general } = await here({ ann: 'member' });
    const { realm_can_delete_any_message_group: administrators } = await owner.register({
      fetch_event_types: ['realm'],
    });
    await owner.ok('PATCH', `/streams/${general}`, { can_send_message_group: { new: administrators } });
    const heard = await guest.receiving({ apply_markdown: true });
    await owner.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'general' }], principals: [guest.id], send_new_subscription_messages: false },
    });
    await owner.ok('PATCH', `/users/${member.id}`, { role: 200 });
    await schedule(member, { ...inSeconds(10), to: general, content: `@**|${guest.id}**` });
    await schedule(owner, { ...inSeconds(10), to: general, content: `@**|${guest.id}**` });
    await owner.ok('PATCH', `/users/${member.id}`, { role: 400 });
    await owner.ok('PATCH', `/users/${guest.id}`, { full_name: 'Somebody Else' });
    await pass(MINUTE);
    expect((await list(member))[0]).toMatchObject({ failed: true });
    const sent = (await heard()).filter(({ type }) => type === 'message');
    expect(sent).toMatchObject([
      { flags: ['mentioned'], message: { content: expect.stringContaining('Somebody Else') } },
    ]);
  });

  test('fails messages that are more than ten minutes late', async () => {
    const { owner, general } = await here({});
    const ids = [
      await schedule(owner, { ...inSeconds(60), to: general }),
      await schedule(owner, { ...inSeconds(61), to: general }),
    ];
    const heard = await owner.receiving({ idle_queue_timeout: 86_400 });
    await pass(MINUTE + 10 * MINUTE + 1);
    expect((await Promise.all(ids.map(rowOf))).map(({ state, failureMessage }) => [state, failureMessage])).toEqual([
      ['failed', 'Message could not be sent at the scheduled time.'],
      ['delivered', null],
    ]);
    expect(noticesIn(await heard())).toHaveLength(1);
  });

  test('sends many messages of one owner in order, each once, even if some of them fail', async () => {
    const { owner, general } = await here({});
    const heard = await owner.receiving();
    const contents = Array.from({ length: 40 }, (_, i) => `number ${i}`);
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'for a while' }] });
    const { stream_id: gone } = await owner.ok('GET', '/get_stream_id', { stream: 'for a while' });
    for (const [i, content] of contents.entries()) {
      await schedule(owner, { ...inSeconds(60), to: i === 20 ? gone : general, content });
    }
    await owner.ok('DELETE', `/streams/${gone}`);
    await pass(MINUTE);
    const sent = sentIn(await heard()).map(({ content }) => content);
    expect(sent.filter((content) => contents.includes(content))).toEqual(contents.toSpliced(20, 1));
    expect(await list(owner)).toMatchObject([{ content: 'number 20', failed: true }]);
  });

  test('does not count a message as late that waits only for previous ones', async () => {
    const { owner, general } = await here({});
    for (let i = 0; i < 60; i++) await schedule(owner, { ...inSeconds(60), to: general, content: `slow ${i}` });
    const heard = await owner.receiving({ idle_queue_timeout: 86_400 });
    // Each read of the clock advances it by 10 s, so the last messages are sent more than ten minutes after the first.
    slowMs = 10_000;
    await pass(MINUTE);
    slowMs = 0;
    expect(sentIn(await heard()).map(({ content }) => content)).toEqual(
      Array.from({ length: 60 }, (_, i) => `slow ${i}`),
    );
  });

  test('sends no messages of deactivated users or organizations, without notices', async () => {
    const { owner, ann, general, organization } = await here({ ann: 'member' });
    const ids = [
      await schedule(ann, { ...inSeconds(10), to: general }),
      await schedule(owner, { ...inSeconds(20), to: general }),
    ];
    const { db } = service.app;
    const messages = () => db.message.count({ where: { organizationId: organization.id } });
    const before = await messages();
    await db.user.updateMany({ where: { id: ann.id }, data: { isActive: false } });
    await pass(15_000);
    await db.organization.update({ where: { id: organization.id }, data: { deactivatedAt: new Date(clock) } });
    await pass(15_000);
    expect((await Promise.all(ids.map(rowOf))).map(({ state, failureMessage }) => [state, failureMessage])).toEqual([
      ['failed', 'Account is deactivated'],
      ['failed', 'This organization has been deactivated'],
    ]);
    expect(await messages()).toBe(before);
  });

  describe('if the database refuses', () => {
    /** Makes the database refuse inserts and updates of rows that contain a word. @param code SQLSTATE of the error. */
    const trip = (table: string, column: string, word: string, code: string) =>
      service.app.database.runScript(`
        CREATE OR REPLACE FUNCTION trip() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN RAISE EXCEPTION 'tripped' USING ERRCODE = '${code}'; END $$;
        CREATE TRIGGER trip BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW
          WHEN (NEW.${column} LIKE '%${word}%') EXECUTE FUNCTION trip();`);
    const untrip = () =>
      service.app.database.runScript(`
        DROP TRIGGER IF EXISTS trip ON message; DROP TRIGGER IF EXISTS trip ON scheduled_message`);
    afterEach(untrip);

    test('for an unexpected reason, the message fails, and others are not delayed', async () => {
      const { owner, member, general } = await here({});
      const heard = await owner.receiving();
      const id = await schedule(owner, { ...inSeconds(10), to: general, content: 'poison' });
      await schedule(owner, { ...inSeconds(20), to: general, content: 'healthy' });
      await schedule(member, { ...inSeconds(20), to: general, content: 'healthy' });
      await trip('message', 'content', 'poison', 'P0001');
      await pass(20_000);
      expect(sentIn(await heard()).map(({ content }) => content)).toEqual(['healthy', 'healthy']);
      await pass(2_000);
      expect(await rowOf(id)).toMatchObject({ state: 'failed', failureMessage: 'Internal server error' });
      expect(noticesIn(await heard()).at(-1).content).toContain('Internal server error');
    });

    test('to store the failure, too, other messages are still sent', async () => {
      const { owner, general } = await here({});
      const heard = await owner.receiving();
      const id = await schedule(owner, { ...inSeconds(10), to: general, content: 'poison' });
      await trip('scheduled_message', 'content', 'poison', 'P0001');
      await pass(11_000);
      await pass(2_000);
      await schedule(owner, { ...inSeconds(10), to: general, content: 'healthy' });
      await pass(10_000);
      expect(sentIn(await heard()).map(({ content }) => content)).toEqual(['healthy']);
      expect(await rowOf(id)).toMatchObject({ state: 'scheduled' });
      await untrip();
      await pass(2 * MINUTE);
      expect(await rowOf(id)).toMatchObject({ state: 'delivered' });
    });

    test('because it is unavailable, the message is sent a little later', async () => {
      const { owner, member, general } = await here({});
      const heard = await member.receiving();
      const id = await schedule(owner, { ...inSeconds(10), to: general, content: 'in a hurry' });
      await schedule(member, { ...inSeconds(11), to: general, content: 'not held up' });
      await trip('message', 'content', 'hurry', '55P03');
      for (let i = 0; i < 4; i++) await pass(20_000);
      expect(await rowOf(id)).toMatchObject({ state: 'scheduled' });
      await untrip();
      await pass(2_000);
      expect(sentIn(await heard()).map(({ content }) => content)).toEqual(['not held up', 'in a hurry']);
    });
  });
});

/** Skipped on the embedded database, whose clock is that of its only process. */
test.skipIf(DATABASE_URL === undefined)('a node whose clock is ahead of the database sends nothing early', async () => {
  await using database = await createMigratedDatabase(DATABASE_URL ?? '');
  let aheadMs = 0;
  await using service = await startInProcess({
    env: { DATABASE_URL: database.url, SECRET_KEY: 'x'.repeat(32) },
    now: () => new Date(Date.now() + aheadMs),
  });
  const { owner, general } = await house({}, { on: service });
  const soon = { scheduled_delivery_timestamp: Math.floor(Date.now() / 1000) + 300 };
  await schedule(owner, { to: general, ...soon });
  aheadMs = 2 * LATENESS_MS;
  await service.deliveries.deliverDue();
  expect(await list(owner)).toMatchObject([{ ...soon, failed: false }]);
});
