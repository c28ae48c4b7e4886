import { describe, expect, test } from 'vitest';
import { expectIgnoredParameters } from './helpers/ignored.ts';
import type { Person } from './helpers/person.ts';
import { organisation } from './helpers/server.ts';

const note = { type: '', to: [], topic: '', content: 'note to self' };

/** Saves one draft. @returns Its id. */
async function save(person: Person, draft: object = {}): Promise<number> {
  const { ids } = await person.ok('POST', '/drafts', { drafts: [{ ...note, ...draft }] });
  return ids[0];
}

const list = async (person: Person) => (await person.ok('GET', '/drafts')).drafts;

describe('POST /drafts', () => {
  test.concurrent('saves drafts of every kind, in the order given', async () => {
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

  test.concurrent('takes a timestamp with a fraction, and gives whole seconds', async () => {
    const { member } = await organisation();
    await save(member, { timestamp: 1_700_000_000.75 });
    await save(member, { timestamp: null });
    expect((await list(member))[0].timestamp).toBe(1_700_000_000);
  });

  test.concurrent('cuts what is too long, and reads the names of the empty topic as no topic', async () => {
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

  test.concurrent('saves nothing and tells nothing of an empty list, or of none', async () => {
    const { member } = await organisation();
    const heard = await member.hearing();
    for (const parameters of [{ drafts: [] }, {}]) {
      expect(await member.ok('POST', '/drafts', parameters)).toEqual({ result: 'success', msg: '', ids: [] });
    }
    expect(await heard()).toEqual([]);
  });

  test.concurrent('saves none when one is invalid', async () => {
    const { member, guest } = await organisation();
    const heard = await member.hearing();
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
    const { member } = await organisation();
    const { status, body } = await member.rest('POST', '/drafts', { drafts });
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    if (msg !== '') expect(body.msg).toBe(msg);
    expect(await list(member)).toEqual([]);
  });

  test.concurrent("refuses another organisation's channels and people as if there were none", async () => {
    const [{ member }, other] = await Promise.all([organisation(), withChannel()]);
    const stream = await member.rest('POST', '/drafts', { drafts: [{ ...note, type: 'stream', to: [other.channel] }] });
    expect(stream.body.msg).toBe('Invalid channel ID');
    const to = [other.member.id];
    const people = await member.rest('POST', '/drafts', { drafts: [{ ...note, type: 'private', to }] });
    expect(people.body.msg).toBe(`Invalid user ID ${other.member.id}`);
  });

  test.concurrent('lets a guest address only channels the guest may read', async () => {
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
  test.concurrent('puts the new draft in the place of the old one, whole', async () => {
    const { member, guest } = await organisation();
    const id = await save(member, { type: 'private', to: [guest.id], timestamp: 5 });
    await member.ok('PATCH', `/drafts/${id}`, { draft: { ...note, content: 'changed', timestamp: 7 } });
    expect(await list(member)).toEqual([{ id, ...note, content: 'changed', timestamp: 7 }]);
  });

  test.concurrent('refuses what POST refuses, and changes nothing', async () => {
    const { member } = await organisation();
    const id = await save(member, { timestamp: 5 });
    const { status, body } = await member.rest('PATCH', `/drafts/${id}`, { draft: { ...note, content: '' } });
    expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', 'draft["content"] cannot be blank']);
    expect((await member.rest('PATCH', `/drafts/${id}`)).body.code).toBe('REQUEST_VARIABLE_MISSING');
    expect(await list(member)).toEqual([{ id, ...note, timestamp: 5 }]);
  });
});

describe('DELETE /drafts/{draft_id}', () => {
  test.concurrent('deletes the draft', async () => {
    const { member } = await organisation();
    const [first, second] = [await save(member), await save(member)];
    await member.ok('DELETE', `/drafts/${first}`);
    expect((await list(member)).map(({ id }: { id: number }) => id)).toEqual([second]);
  });
});

describe('a draft that is not there', () => {
  test.concurrent("is answered with 404, another's draft alike", async () => {
    const { member, owner } = await organisation();
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

  test.concurrent('is no path when its id is no number', async () => {
    const { member } = await organisation();
    const { status, body } = await member.rest('DELETE', '/drafts/abc');
    expect([status, body.result, body.code]).toEqual([404, 'error', 'BAD_REQUEST']);
  });
});

describe('GET /drafts', () => {
  test.concurrent('lists only your own, by the time of the last edit', async () => {
    const { member, owner } = await organisation();
    const ids = [await save(member, { timestamp: 30 }), await save(member, { timestamp: 10 })];
    await save(owner);
    const { drafts, count } = await member.ok('GET', '/drafts');
    expect(count).toBe(2);
    expect(drafts.map(({ id }: { id: number }) => id)).toEqual(ids.reverse());
  });

  test.concurrent('pages the newest first over GraphQL, each page after the last', async () => {
    const { member } = await organisation();
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
  test.concurrent("reach the author's own clients, and nobody else's", async () => {
    const { member, owner } = await organisation();
    await using seen = await owner.events('... on DraftsAddedEvent { drafts { content } }');
    await save(member, { content: 'from a member' });
    await save(owner, { content: 'from the owner' });
    expect(await seen.next()).toEqual({ drafts: [{ content: 'from the owner' }] });
  });

  test.concurrent('tell each change of a draft, and one creation of many once', async () => {
    const { member } = await organisation();
    const heard = await member.hearing();
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

test.concurrent('every drafts endpoint names the parameters it ignored', async () => {
  const { member } = await organisation();
  const one = async () => ({ path: `/drafts/${await save(member)}` });
  await expectIgnoredParameters(member, 'GET', async () => ({ path: '/drafts' }));
  await expectIgnoredParameters(member, 'POST', async () => ({ path: '/drafts', parameters: { drafts: [note] } }));
  const patch = async () => ({ ...(await one()), parameters: { draft: note } });
  await expectIgnoredParameters(member, 'PATCH', patch, 'draft_id');
  await expectIgnoredParameters(member, 'DELETE', one, 'draft_id');
});

/** An organisation with the public channel "general", to which its owner is subscribed. */
async function withChannel() {
  const organised = await organisation();
  const { id } = await organised.owner.ok('POST', '/channels/create', {
    name: 'general',
    subscribers: [organised.owner.id],
  });
  return { ...organised, channel: id as number };
}
