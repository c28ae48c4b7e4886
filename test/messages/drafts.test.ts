import { describe, expect, test } from 'vitest';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

const note = { type: '', to: [], topic: '', content: 'note to self' };

/** Saves one draft. @returns Its id. */
async function save(person: Person, draft: object = {}): Promise<number> {
  const { ids } = await person.ok('POST', '/drafts', { drafts: [{ ...note, ...draft }] });
  return ids[0];
}

const list = async (person: Person) => (await person.ok('GET', '/drafts')).drafts;

describe('POST /drafts', () => {
  test.concurrent('saves drafts of every kind, in the given order', async () => {
    const { member, guest, channel } = await withChannel();
    const before = Math.floor(Date.now() / 1000);
    const { ids } = await member.ok('POST', '/drafts', {
      drafts: [
        { type: 'stream', to: [channel], topic: 'greetings', content: 'to a channel', timestamp: 1_000_000 },
        { type: 'private', to: [guest.id, member.id], topic: 'dropped', content: 'to people' },
        { type: '', to: [1, 2, 3], topic: 'dropped', content: 'to nobody' },
      ],
    });
    const drafts = await list(member);
    expect(drafts.map(({ timestamp: _, ...draft }: { timestamp: number }) => draft)).toEqual([
      { id: ids[0], type: 'stream', to: [channel], topic: 'greetings', content: 'to a channel' },
      { id: ids[1], type: 'private', to: [guest.id, member.id], topic: '', content: 'to people' },
      { id: ids[2], type: '', to: [], topic: '', content: 'to nobody' },
    ]);
    expect(drafts[0].timestamp).toBe(1_000_000);
    expect(drafts[1].timestamp).toBeGreaterThanOrEqual(before);
  });

  test.concurrent('accepts a timestamp with a fraction, and returns whole seconds', async () => {
    const { member } = await createOrganization();
    await save(member, { timestamp: 1_700_000_000.75 });
    await save(member, { timestamp: null });
    expect((await list(member))[0].timestamp).toBe(1_700_000_000);
  });

  test.concurrent('truncates long texts, and reads names of the empty topic as no topic', async () => {
    const { member, channel } = await withChannel();
    const draft = { type: 'stream', to: [channel] };
    await save(member, { ...draft, timestamp: 1, topic: 't'.repeat(61), content: 'c'.repeat(10_001) });
    await save(member, { ...draft, timestamp: 2, topic: '(no topic)' });
    await save(member, { ...draft, timestamp: 3, topic: 'general chat' });
    const [long, ...unnamed] = await list(member);
    expect(long.topic).toBe(`${'t'.repeat(57)}...`);
    expect(long.content).toHaveLength(10_000);
    expect(long.content.endsWith('c\n[message truncated]')).toBe(true);
    expect(unnamed.map(({ topic }: { topic: string }) => topic)).toEqual(['', '']);
  });

  test.concurrent('saves nothing and sends no events for an empty or missing list', async () => {
    const { member } = await createOrganization();
    const heard = await member.receiving();
    for (const parameters of [{ drafts: [] }, {}]) {
      expect(await member.ok('POST', '/drafts', parameters)).toEqual({ result: 'success', msg: '', ids: [] });
    }
    expect(await heard()).toEqual([]);
  });

  test.concurrent('saves none if one is invalid', async () => {
    const { member, guest } = await createOrganization();
    const heard = await member.receiving();
    const drafts = [note, { ...note, type: 'private', to: [guest.id, 2_000_000_000] }];
    const { status, body } = await member.rest('POST', '/drafts', { drafts });
    expect([status, body]).toEqual([400, { result: 'error', code: 'BAD_REQUEST', msg: 'Invalid user ID 2000000000' }]);
    expect(await list(member)).toEqual([]);
    expect(await heard()).toEqual([]);
  });

  test.concurrent.for<[string, unknown, string]>([
    ['no list', note, 'drafts is not a list'],
    ['no JSON', 'drafts', 'drafts is not valid JSON'],
    ['a draft that is no object', [1], 'drafts[0] is not a dict'],
    ['a draft without content', [{ type: '', to: [], topic: '' }], 'drafts[0]["content"] field is missing'],
    ['an unknown key', [{ ...note, colour: 'red' }], 'Argument "colour" at drafts[0] is unexpected'],
    ['a prototype for a key', '[{"type":"","to":[],"topic":"","content":"x","__proto__":{"a":1}}]', ''],
    ['an unknown type', [{ ...note, type: 'channel' }], 'Invalid drafts[0]["type"]'],
    ['addressees that are texts', [{ ...note, to: ['1'] }], 'drafts[0]["to"][0] is not an integer'],
    ['blank content', [note, { ...note, content: ' \n' }], 'drafts[1]["content"] cannot be blank'],
    ['a null byte in the content', [{ ...note, content: 'a\0b' }], 'Message must not contain null bytes'],
    ['a negative timestamp', [{ ...note, timestamp: -1 }], 'Timestamp must not be negative.'],
    ['a timestamp beyond all calendars', [{ ...note, timestamp: 1e15 }], 'drafts[0]["timestamp"] is too large'],
    [
      'two channels',
      [{ ...note, type: 'stream', to: [1, 2] }],
      'Must specify exactly 1 channel ID for channel messages',
    ],
    ['no channel', [{ ...note, type: 'stream' }], 'Must specify exactly 1 channel ID for channel messages'],
    ['a channel that is not there', [{ ...note, type: 'stream', to: [2_000_000_000] }], 'Invalid channel ID'],
    ['a channel of no id', [{ ...note, type: 'stream', to: [2 ** 40] }], 'Invalid channel ID'],
    [
      'a null byte in the topic',
      [{ ...note, type: 'stream', to: [1], topic: '\0' }],
      'Topic must not contain null bytes',
    ],
  ])('refuses %s', async ([, drafts, msg]) => {
    const { member } = await createOrganization();
    const { status, body } = await member.rest('POST', '/drafts', { drafts });
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    if (msg !== '') expect(body.msg).toBe(msg);
    expect(await list(member)).toEqual([]);
  });

  test.concurrent('refuses channels and users of another organization as if they did not exist', async () => {
    const [{ member }, other] = await Promise.all([createOrganization(), withChannel()]);
    const stream = await member.rest('POST', '/drafts', { drafts: [{ ...note, type: 'stream', to: [other.channel] }] });
    expect(stream.body.msg).toBe('Invalid channel ID');
    const to = [other.member.id];
    const people = await member.rest('POST', '/drafts', { drafts: [{ ...note, type: 'private', to }] });
    expect(people.body.msg).toBe(`Invalid user ID ${other.member.id}`);
  });

  test.concurrent('lets a guest address only channels that the guest can read', async () => {
    const { member, guest, channel } = await withChannel();
    const drafts = [{ ...note, type: 'stream', to: [channel] }];
    expect((await guest.rest('POST', '/drafts', { drafts })).body.msg).toBe('Invalid channel ID');
    await member.ok('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: 'general' }],
      principals: [guest.id],
    });
    expect((await guest.ok('POST', '/drafts', { drafts })).ids).toHaveLength(1);
  });
});

describe('PATCH /drafts/{draft_id}', () => {
  test.concurrent('replaces the whole draft', async () => {
    const { member, guest } = await createOrganization();
    const id = await save(member, { type: 'private', to: [guest.id], timestamp: 5 });
    await member.ok('PATCH', `/drafts/${id}`, { draft: { ...note, content: 'changed', timestamp: 7 } });
    expect(await list(member)).toEqual([{ id, ...note, content: 'changed', timestamp: 7 }]);
  });

  test.concurrent('refuses the same as POST, and changes nothing', async () => {
    const { member } = await createOrganization();
    const id = await save(member, { timestamp: 5 });
    const { status, body } = await member.rest('PATCH', `/drafts/${id}`, { draft: { ...note, content: '' } });
    expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', 'draft["content"] cannot be blank']);
    expect((await member.rest('PATCH', `/drafts/${id}`)).body.code).toBe('REQUEST_VARIABLE_MISSING');
    expect(await list(member)).toEqual([{ id, ...note, timestamp: 5 }]);
  });
});

describe('DELETE /drafts/{draft_id}', () => {
  test.concurrent('deletes the draft', async () => {
    const { member } = await createOrganization();
    const [first, second] = [await save(member), await save(member)];
    await member.ok('DELETE', `/drafts/${first}`);
    expect((await list(member)).map(({ id }: { id: number }) => id)).toEqual([second]);
  });
});

describe('an unknown draft', () => {
  test.concurrent('is answered with 404, and so is a draft of another user', async () => {
    const { member, owner } = await createOrganization();
    const foreign = await save(owner);
    for (const id of [foreign, 2_000_000_000, 2 ** 31, 10 ** 20]) {
      for (const [method, parameters] of [
        ['PATCH', { draft: note }],
        ['DELETE', {}],
      ] as const) {
        const { status, body } = await member.rest(method, `/drafts/${id}`, parameters);
        expect([status, body]).toEqual([404, { result: 'error', code: 'BAD_REQUEST', msg: 'Draft does not exist' }]);
      }
    }
    expect(await list(owner)).toHaveLength(1);
  });

  test.concurrent('is an unknown path if its id is not a number', async () => {
    const { member } = await createOrganization();
    const { status, body } = await member.rest('DELETE', '/drafts/abc');
    expect([status, body.result, body.code]).toEqual([404, 'error', 'BAD_REQUEST']);
  });
});

describe('GET /drafts', () => {
  test.concurrent("lists only the viewer's drafts, by the time of the last edit", async () => {
    const { member, owner } = await createOrganization();
    const ids = [await save(member, { timestamp: 30 }), await save(member, { timestamp: 10 })];
    await save(owner);
    const { drafts, count } = await member.ok('GET', '/drafts');
    expect(count).toBe(2);
    expect(drafts.map(({ id }: { id: number }) => id)).toEqual(ids.reverse());
  });

  test.concurrent('paginates over GraphQL, newest first, each page after the last', async () => {
    const { member } = await createOrganization();
    for (let timestamp = 1; timestamp <= 5; timestamp++) await save(member, { timestamp });
    const document = `query ($after: String) { drafts(first: 2, after: $after) {
      nodes: edges { node { lastEditedAt } } pageInfo { hasNextPage endCursor } } }`;
    const seen: string[] = [];
    for (let after: string | null = null, more = true; more; ) {
      const { drafts } = await member.query(document, { after });
      seen.push(...drafts.nodes.map(({ node }: { node: { lastEditedAt: string } }) => node.lastEditedAt));
      ({ hasNextPage: more, endCursor: after } = drafts.pageInfo);
    }
    expect(seen.map((time) => Date.parse(time) / 1000)).toEqual([5, 4, 3, 2, 1]);
  });
});

describe('drafts events', () => {
  test.concurrent('reach only clients of the author', async () => {
    const { member, owner } = await createOrganization();
    await using seen = await owner.events('... on DraftsAddedEvent { drafts { content } }');
    await save(member, { content: 'from a member' });
    await save(owner, { content: 'from the owner' });
    expect(await seen.next()).toEqual({ drafts: [{ content: 'from the owner' }] });
  });

  test.concurrent('are sent for each change of a draft, and once for the creation of several', async () => {
    const { member } = await createOrganization();
    const heard = await member.receiving();
    const { ids } = await member.ok('POST', '/drafts', {
      drafts: [
        { ...note, timestamp: 1 },
        { ...note, timestamp: 2 },
      ],
    });
    await member.ok('PATCH', `/drafts/${ids[0]}`, { draft: { ...note, timestamp: 3 } });
    await member.ok('DELETE', `/drafts/${ids[1]}`);
    expect(await heard()).toEqual([
      {
        type: 'drafts',
        op: 'add',
        drafts: [
          { id: ids[0], ...note, timestamp: 1 },
          { id: ids[1], ...note, timestamp: 2 },
        ],
      },
      { type: 'drafts', op: 'update', draft: { id: ids[0], ...note, timestamp: 3 } },
      { type: 'drafts', op: 'remove', draft_id: ids[1] },
    ]);
  });
});

describe('moving a topic', () => {
  test.concurrent('moves its drafts, if their author can read the target channel', async () => {
    const { owner, member, moderator, channel } = await withChannel();
    const { id: hidden } = await owner.ok('POST', '/channels/create', {
      ...{ name: 'hidden', invite_only: true, subscribers: [owner.id, member.id] },
    });
    await member.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'general' }] });
    const [first] = await Promise.all([say(owner, channel, 'plans'), say(owner, channel, 'plans')]);
    const draft = { type: 'stream', to: [channel], content: 'half', timestamp: 5 };
    for (const person of [owner, moderator]) await save(person, { ...draft, topic: 'plans' });
    const id = await save(member, { ...draft, topic: 'PLANS' });
    await save(member, { ...draft, topic: 'plan', timestamp: 6 });
    const placesOf = async (person: Person) =>
      (await list(person)).map(({ to, topic }: { to: number[]; topic: string }) => [to[0], topic]);
    const move = (to: object) =>
      owner.ok('PATCH', `/messages/${first}`, { send_notification_to_new_thread: false, ...to });

    // These requests move only some messages of the topic, so the draft stays in the topic.
    const heard = await member.receiving({ event_types: ['update_message', 'drafts'] });
    await move({ topic: 'other', propagate_mode: 'change_one' });
    expect(await placesOf(owner)).toEqual([[channel, 'plans']]);
    await move({ topic: 'plans', propagate_mode: 'change_one' });
    expect(await placesOf(owner)).toEqual([[channel, 'plans']]);

    await move({ topic: 'secrets', stream_id: hidden, propagate_mode: 'change_all' });
    expect(await placesOf(owner)).toEqual([[hidden, 'secrets']]);
    expect(await placesOf(moderator)).toEqual([[channel, 'plans']]);
    expect(await placesOf(member)).toEqual([
      [hidden, 'secrets'],
      [channel, 'plan'],
    ]);
    // The event about the draft follows the events about the moved messages.
    const events = await heard();
    expect(events.map(({ type }) => type)).toEqual([...Array(3).fill('update_message'), 'drafts']);
    const moved = { id, type: 'stream', to: [hidden], topic: 'secrets', content: 'half', timestamp: 5 };
    expect(events.at(-1)).toEqual({ type: 'drafts', op: 'update', draft: moved });
  });

  test.concurrent('moves the twenty drafts that an author edited last', async () => {
    const { owner, member, channel } = await withChannel();
    const messageId = await say(owner, channel, 'plans');
    const draft = { ...note, type: 'stream', to: [channel], topic: 'plans' };
    const drafts = Array.from({ length: 22 }, (_, i) => ({ ...draft, timestamp: i + 1 }));
    await member.ok('POST', '/drafts', { drafts });
    await owner.ok('PATCH', `/messages/${messageId}`, { topic: 'deeds', propagate_mode: 'change_all' });
    const topics = (await list(member)).map(({ topic }: { topic: string }) => topic);
    expect(topics).toEqual([...Array(2).fill('plans'), ...Array(20).fill('deeds')]);
  });
});

/** Sends a message to a channel. @returns The id of the message. */
const say = async (person: Person, to: number, topic: string): Promise<number> =>
  (await person.ok('POST', '/messages', { type: 'channel', to, topic, content: 'hello' })).id;

test.concurrent('every drafts endpoint names the parameters that it ignored', async () => {
  const { member } = await createOrganization();
  const one = async () => ({ path: `/drafts/${await save(member)}` });
  await expectIgnoredParameters(member, 'GET', async () => ({ path: '/drafts' }));
  await expectIgnoredParameters(member, 'POST', async () => ({ path: '/drafts', parameters: { drafts: [note] } }));
  const patch = async () => ({ ...(await one()), parameters: { draft: note } });
  await expectIgnoredParameters(member, 'PATCH', patch, 'draft_id');
  await expectIgnoredParameters(member, 'DELETE', one, 'draft_id');
});

/** Creates an organization with the public channel "general", to which its owner is subscribed. */
async function withChannel() {
  const organised = await createOrganization();
  const { id } = await organised.owner.ok('POST', '/channels/create', {
    name: 'general',
    subscribers: [organised.owner.id],
  });
  return { ...organised, channel: id as number };
}
