import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Ctx } from '../../src/access/context.ts';
import { BadNarrowError } from '../../src/messages/narrow/errors.ts';
import { compileNarrow } from '../../src/messages/narrow/narrow.ts';
import { selectAmong, selectIds } from '../../src/messages/narrow/narrow-select.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { copyMessage, toTopic } from '../helpers/talk.ts';

/** A service that only this file uses, because its tests change the clock and read internals. */
let service: InProcess;
let clock = Date.parse('2026-11-20T10:00:00Z');
beforeAll(async () => {
  service = await shareInProcess({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const channelOf = async (by: Person, name: string, members: readonly Person[], more: Parameters = {}) =>
  (await by.ok('POST', '/channels/create', { name, subscribers: members.map(({ id }) => id), ...more })).id as number;

const say = async (by: Person, to: number, topic: string, content: string, more: Parameters = {}) =>
  (await by.ok('POST', '/messages', { type: 'channel', to, topic, content, ...more })).id as number;

const write = async (by: Person, to: readonly Person[], content: string, more: Parameters = {}) =>
  (await by.ok('POST', '/messages', { type: 'direct', to: to.map(({ id }) => id), content, ...more })).id as number;

type Term = readonly [operator: string, operand: unknown, negated?: boolean];
const toNarrow = (terms: readonly Term[]) =>
  terms.map(([operator, operand, negated]) => ({ operator, operand, ...(negated !== undefined && { negated }) }));

const WHOLE = { anchor: 'newest', num_before: 1000, num_after: 0 };

const readOk = (by: Person, terms: readonly Term[], more: Parameters = {}) =>
  by.ok('GET', '/messages', { ...WHOLE, narrow: toNarrow(terms), ...more });

/** An organization with messages of every kind. Ids are by name, and `nameOf` returns the name of an id. */
interface World extends Organization {
  readonly ids: Readonly<Record<string, number>>;
  readonly channels: Readonly<Record<string, number>>;
  nameOf(id: number): string | undefined;
}

async function furnish(): Promise<World> {
  const made = await createOrganization({ ann: 'member' }, { on: service });
  const { owner, moderator, member, ann, organization } = made;
  await member.ok('PATCH', '/settings', { automatically_follow_topics_where_mentioned: false });
  const settings = { enable_spectator_access: true };
  await service.app.db.organization.update({ where: { id: organization.id }, data: { settings } });
  const channels = {
    general: await channelOf(owner, 'general', [owner, moderator, member, ann]),
    other: await channelOf(owner, 'other', [owner, moderator]),
    web: await channelOf(owner, 'web', [owner, moderator], { is_web_public: true }),
    hidden: await channelOf(owner, 'hidden', [owner, moderator], { invite_only: true }),
    guarded: await channelOf(owner, 'guarded', [owner, moderator], {
      ...{ invite_only: true, history_public_to_subscribers: false },
    }),
    loud: await channelOf(owner, 'loud', [owner, moderator, member]),
  };
  const { general, other, web, hidden, guarded, loud } = channels;
  const early = await say(moderator, guarded, 'secrets', 'hello before');
  await owner.ok('POST', '/users/me/subscriptions', {
    ...{ subscriptions: [{ name: 'guarded' }], principals: [member.id], send_new_subscription_messages: false },
  });
  await member.ok('POST', '/users/me/subscriptions/properties', {
    subscription_data: [{ stream_id: loud, property: 'is_muted', value: true }],
  });
  const visibility = (stream_id: number, topic: string, visibility_policy: number) =>
    member.ok('POST', '/user_topics', { stream_id, topic, visibility_policy });
  await visibility(loud, 'followed', 3);
  await visibility(general, 'quiet', 1);
  const seen = { read_by_sender: true };
  const ids = {
    early,
    hello: await say(moderator, general, 'greet', 'hello world'),
    link: await say(moderator, general, 'greet', 'see https://example.com/'),
    own: await say(member, general, 'Lunch', 'a meeting about running servers', seen),
    elsewhere: await say(moderator, other, 'greet', 'hello elsewhere'),
    direct: await write(moderator, [member], 'hello directly'),
    group: await write(moderator, [member, ann], 'hello group'),
    self: await write(member, [member], 'note to self', seen),
    mention: await say(ann, general, '✔ done', `look @**${member.name}**`),
    empty: await say(ann, general, '', 'no topic'),
    noise: await say(moderator, loud, 'noise', 'muted'),
    followed: await say(moderator, loud, 'followed', 'heard'),
    quiet: await say(ann, general, 'quiet', 'muted as well'),
    web: await say(moderator, web, 'greet', 'hello everybody'),
    all: await say(owner, general, 'greet', '@**all** listen'),
    hidden: await say(moderator, hidden, 'greet', 'hello in secret'),
    received: await say(moderator, guarded, 'secrets', 'hello after'),
    image: await say(moderator, general, 'pictures', 'https://example.com/a.png'),
    between: await write(moderator, [ann], 'hello without you'),
  };
  const flag = (messages: number[], name: string) =>
    member.ok('POST', '/messages/flags', { messages, op: 'add', flag: name });
  await flag([ids.hello, ids.elsewhere], 'starred');
  await flag([ids.hello, ids.link, ids.direct, ids.noise], 'read');
  await ann.ok('POST', `/messages/${ids.link}/reactions`, { emoji_name: 'octopus' });
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]));
  return { ...made, ids, channels, nameOf: (id) => names.get(id) };
}

let world: World;
beforeAll(async () => {
  world = await furnish();
});

const namesIn = (messages: readonly Json[]) => messages.map(({ id }) => world.nameOf(id) ?? id);

/** Names of the messages that the member received. */
const RECEIVED = [
  ...['hello', 'link', 'own', 'direct', 'group', 'self', 'mention', 'empty', 'noise', 'followed', 'quiet', 'all'],
  ...['received', 'image'],
];
/** Names of the messages that the member received, and of a message in another channel to which the member added a flag. */
const OWN = [...RECEIVED, 'elsewhere'];

/**
 * Operators of narrows, each with the names of the messages that it matches. The negated operator matches the member's other
 * messages.
 */
const OPERATORS: readonly (readonly [string, () => Term, readonly string[]])[] = [
  ['a channel by name', () => ['channel', 'GENERAL'], [...inGeneral()]],
  ['a channel by id', () => ['stream', world.channels['general']], [...inGeneral()]],
  ['a channel that is only read', () => ['channel', 'other'], ['elsewhere']],
  ['a channel with protected history', () => ['channel', 'guarded'], ['received']],
  ['all public channels', () => ['channels', 'public'], [...inGeneral(), 'elsewhere', 'noise', 'followed', 'web']],
  ['all web-public channels', () => ['streams', 'web-public'], ['web']],
  ['a topic in whatever case', () => ['topic', 'GREET'], ['hello', 'link', 'all', 'elsewhere']],
  ['the empty topic', () => ['topic', '(no topic)'], ['empty']],
  ['the empty topic by its name', () => ['topic', 'general chat'], ['empty']],
  ['a sender by id', () => ['sender', world.member.id], ['own', 'self']],
  ['a sender by address', () => ['from', world.member.email], ['own', 'self']],
  ['a conversation', () => ['dm', [world.moderator.id]], ['direct']],
  ['a conversation, the viewer named too', () => ['pm-with', [world.member.id, world.moderator.id]], ['direct']],
  ['a group by addresses', () => ['dm', `${world.moderator.email}, ${named('ann').email}`], ['group']],
  ['notes to self', () => ['dm', [world.member.id]], ['self']],
  ['nobody', () => ['dm', []], []],
  ['a conversation that never was', () => ['dm', [world.owner.id]], []],
  ['conversations with somebody', () => ['dm-including', world.moderator.id], ['direct', 'group']],
  ['conversations with oneself', () => ['dm-including', world.member.email], ['direct', 'group', 'self']],
  ['group conversations', () => ['group-pm-with', world.moderator.id], ['group']],
  ['is:dm', () => ['is', 'dm'], ['direct', 'group', 'self']],
  ['is:private', () => ['is', 'private'], ['direct', 'group', 'self']],
  ['is:starred', () => ['is', 'starred'], ['hello', 'elsewhere']],
  ['is:mentioned', () => ['is', 'mentioned'], ['mention', 'all']],
  ['is:alerted', () => ['is', 'alerted'], []],
  ['is:unread', () => ['is', 'unread'], ['group', 'mention', 'empty', 'followed', 'quiet', 'all', 'received', 'image']],
  ['is:resolved', () => ['is', 'resolved'], ['mention']],
  ['is:followed', () => ['is', 'followed'], ['followed', 'own']],
  ['is:muted', () => ['is', 'muted'], ['noise', 'quiet']],
  ['has:link', () => ['has', 'link'], ['link', 'image']],
  ['has:image', () => ['has', 'image'], ['image']],
  ['has:attachment', () => ['has', 'attachment'], []],
  ['has:reaction', () => ['has', 'reaction'], ['link']],
  ['in:home', () => ['in', 'home'], OWN.filter((name) => name !== 'noise' && name !== 'quiet')],
  ['one message', () => ['id', world.ids['direct']], ['direct']],
  ['one message, as text', () => ['id', String(world.ids['own'])], ['own']],
  ['mentions of somebody', () => ['mentions', world.member.id], ['mention']],
  ['words in another form', () => ['search', 'meets server'], ['own']],
  ['a word', () => ['search', 'hello'], ['hello', 'direct', 'group', 'received', 'elsewhere']],
  ['a word of the topic', () => ['search', 'pictures'], ['image']],
  ['a quoted phrase', () => ['search', '"hello dir"'], ['direct']],
  ['a quoted phrase with an additional word', () => ['search', '"hello to dir"'], []],
  ['a quoted phrase with a full word', () => ['search', '"hello directly"'], ['direct']],
  ['common words alone', () => ['search', 'the'], []],
];

function inGeneral(): string[] {
  return ['hello', 'link', 'own', 'mention', 'empty', 'quiet', 'all', 'image'];
}

function named(name: 'ann'): Person {
  return (world as unknown as Record<string, Person>)[name] as Person;
}

/** Returns the request context of the member. */
async function contextOf({ id }: Person): Promise<Ctx> {
  const user = await service.app.db.user.findFirstOrThrow({ where: { id } });
  const organization = await service.app.db.organization.findUniqueOrThrow({ where: { id: user.organizationId } });
  const viewer = { organization, user, id, role: user.role, clientName: 'test', credential: null };
  return { app: service.app, work: service.app.work, organizationId: organization.id, viewer };
}

const sorted = (names: readonly unknown[]) => names.toSorted((a, b) => String(a).localeCompare(String(b)));

describe('a narrow', () => {
  test.concurrent.for(OPERATORS)('matches %s, and negated the rest', async ([, term, expected]) => {
    const [operator, operand] = term();
    const { messages } = await readOk(world.member, [[operator, operand]]);
    expect(sorted(namesIn(messages))).toEqual(sorted(expected));
    const rest = await readOk(world.member, [[operator, operand, true]]);
    expect(sorted(namesIn(rest.messages))).toEqual(sorted(OWN.filter((name) => !expected.includes(name))));
  });

  test('with several terms contains what all of them match, by every plan and from either end', async () => {
    // The organization's messages, and the newest ones of other organizations on the service, which no narrow matches.
    const { organizationId } = await contextOf(world.member);
    const select = { id: true };
    const own = await service.app.db.message.findMany({ where: { organizationId }, select });
    const latest = { orderBy: { id: 'desc' as const }, take: 1_000 };
    const others = await service.app.db.message.findMany({ where: { NOT: { organizationId } }, select, ...latest });
    const all = [...own, ...others].map(({ id }) => Number(id));
    const one = fc.record({ i: fc.nat(OPERATORS.length - 1), negated: fc.boolean() });
    const who = fc.constantFrom<'member' | 'moderator' | 'guest' | 'owner'>('member', 'moderator', 'guest', 'owner');
    await fc.assert(
      fc.asyncProperty(who, fc.array(one, { minLength: 1, maxLength: 3 }), async (name, picked) => {
        const ctx = await contextOf(world[name]);
        const terms = picked.map(({ i, negated }) => {
          const [operator, operand] = (OPERATORS[i]?.[1] ?? (() => ['', '']))() as [string, string];
          return { operator, operand, negated };
        });
        const narrow = await compileNarrow(ctx, terms).catch((error: unknown) => {
          if (error instanceof BadNarrowError) return null;
          throw error;
        });
        fc.pre(narrow !== null);
        const ids = await selectAmong(ctx, narrow, all);
        const [numBefore, numAfter] = [ids.length + 1, ids.length + 1];
        const older = await selectIds(ctx, narrow, { anchor: 'newest', numBefore, numAfter: 0, includeAnchor: true });
        expect(older.ids).toEqual(ids);
        const newer = await selectIds(ctx, narrow, { anchor: 'oldest', numBefore: 0, numAfter, includeAnchor: true });
        expect(newer.ids).toEqual(ids);
        const few = await selectIds(ctx, narrow, { anchor: 'newest', numBefore: 3, numAfter: 0, includeAnchor: true });
        expect(few.ids).toEqual(ids.slice(-3));
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  test('is refused for unknown objects, with the same error as for hidden ones', async () => {
    const { member, channels, ids } = world;
    const NOBODY = 2_000_000_000;
    const bad = (desc: string, combination = false) => ({
      ...{ result: 'error', code: 'BAD_NARROW', desc },
      msg: `Invalid narrow operator${combination ? ' combination' : ''}: ${desc}`,
    });
    const wrong = (msg: string) => ({ result: 'error', code: 'BAD_REQUEST', msg });
    const cases: readonly [unknown, object][] = [
      [[['flavour', 'sweet']], bad('unknown operator flavour')],
      [[['toString', 'x']], bad('unknown operator toString')],
      [toNarrow([['channel', 'nowhere']]), bad('unknown channel nowhere')],
      [toNarrow([['channel', NOBODY]]), bad(`unknown channel ${NOBODY}`)],
      [toNarrow([['channel', channels['hidden']]]), bad(`unknown channel ${channels['hidden']}`)],
      [toNarrow([['channel', 'hidden']]), bad('unknown channel hidden')],
      [toNarrow([['channels', 'private']]), bad('unknown channels operand private')],
      [toNarrow([['sender', NOBODY]]), bad(`unknown user ${NOBODY}`)],
      [toNarrow([['sender', 'nobody@example.com']]), bad('unknown user nobody@example.com')],
      [toNarrow([['dm', [NOBODY]]]), bad(`unknown user in ${NOBODY}`)],
      [toNarrow([['dm', 'nobody@example.com']]), bad('unknown user in nobody@example.com')],
      [toNarrow([['dm-including', NOBODY]]), bad(`unknown user ${NOBODY}`)],
      [toNarrow([['mentions', NOBODY]]), bad(`unknown user ${NOBODY}`)],
      [toNarrow([['is', 'good']]), bad("unknown 'is' operand good")],
      [toNarrow([['has', 'constructor']]), bad("unknown 'has' operand constructor")],
      [toNarrow([['in', 'out']]), bad("unknown 'in' operand out")],
      [toNarrow([['id', 'one']]), bad('Invalid message ID')],
      [toNarrow([['with', 'one']]), bad("Invalid 'with' operator")],
      [toNarrow([['with', ids['between']]]), bad("Invalid 'with' operator")],
      [
        toNarrow([
          ['with', 1],
          ['with', 2],
        ]),
        bad("Duplicate 'with' operators.", true),
      ],
      [
        toNarrow([
          ['channel', 'general'],
          ['is', 'dm'],
        ]),
        bad('No message can be both a channel message and direct message'),
      ],
      ['nonsense', wrong('narrow is not valid JSON')],
      [{}, wrong('narrow is not a list')],
      [[{ operand: 'x' }], wrong('narrow[0]["operator"] field is missing')],
      [[{ operator: 'is' }], wrong('Invalid narrow[0]["operand"]')],
      [[['is', 1]], wrong('narrow[0][1] is not a string')],
      [[{ operator: 'topic', operand: 1 }], wrong('Invalid narrow[0]["operand"]: operand is not a string')],
      [
        [{ operator: 'sender', operand: [1] }],
        wrong('Invalid narrow[0]["operand"]: operand is not a string or integer'),
      ],
      [
        [{ operator: 'dm', operand: 1 }],
        wrong('Invalid narrow[0]["operand"]: operand is not a string or an integer list'),
      ],
      [
        [['search', Array.from({ length: 21 }, (_, i) => `"${i}"`).join(' ')]],
        bad('search has too many quoted parts (limit: 20)'),
      ],
      [
        Array.from({ length: 3 }, () => ['search', 'x'.repeat(4_000)]),
        bad('search is too long (limit: 10000 characters)'),
      ],
      [[{ operator: 'search', operand: ' ' }], wrong('Invalid narrow[0]["operand"]: operand cannot be blank.')],
    ];
    for (const [narrow, body] of cases) {
      const { status, body: found } = await member.rest('GET', '/messages', { ...WHOLE, narrow });
      expect([narrow, status, found]).toEqual([narrow, 400, body]);
    }
  });

  test("with a message uses the message's location, and without it that of the other terms", async () => {
    const { member, ids } = world;
    const found = async (terms: readonly Term[]) => namesIn((await readOk(member, terms)).messages);
    const topic = ['hello', 'link', 'all'];
    expect(await found([['with', ids['hello']]])).toEqual(topic);
    expect(
      await found([
        ['channel', 'general'],
        ['topic', 'as it was'],
        ['with', ids['link']],
      ]),
    ).toEqual(topic);
    expect(await found([['with', String(ids['direct'])]])).toEqual(['direct']);
    const elsewhere = [
      ['channel', 'general'],
      ['topic', 'Lunch'],
      ['with', ids['hidden']],
    ] as const;
    expect(await found(elsewhere)).toEqual(['own']);
    // A narrow in the oldest format, and an operator that does not affect which messages match.
    expect(namesIn((await readOk(member, [], { narrow: [['topic', 'lunch']] })).messages)).toEqual(['own']);
    expect(
      await found([
        ['near', 1],
        ['id', ids['own']],
      ]),
    ).toEqual(['own']);
  });

  test('with words marks them only in content and topic', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const id = await channelOf(owner, 'general', [owner, member]);
    await say(owner, id, 'Running <fast>', 'He **runs** & [running](https://example.com/run) "amp" fast');
    const search = (operand: string) => readOk(member, [['search', operand]]);
    const mark = (text: string) => `<span class="highlight">${text}</span>`;
    const [message] = (await search('run amp')).messages;
    expect(message.match_subject).toBe(`${mark('Running')} &lt;fast&gt;`);
    expect(message.match_content).toBe(
      `<p>He <strong>${mark('runs')}</strong> &amp; <a href="https://example.com/run">${mark('running')}</a> ` +
        `"${mark('amp')}" fast</p>`,
    );
    expect(message.content).not.toContain('highlight');
    const [quoted] = (await search('"& [RUN" fast')).messages;
    expect([quoted.match_content.includes(mark('fast')), quoted.match_subject]).toEqual([
      true,
      `Running &lt;${mark('fast')}&gt;`,
    ]);
    const both = await readOk(member, [
      ['search', 'runs'],
      ['search', 'fast'],
    ]);
    expect(both.messages).toHaveLength(1);
    expect(await search('slow')).toMatchObject({ messages: [], found_newest: true, found_oldest: true });
    expect((await readOk(member, [['search', 'runs', true]])).messages).toEqual([]);
    const plain = (await readOk(member, [])).messages[0];
    expect('match_content' in plain || 'match_subject' in plain).toBe(false);
  });

  test('reports which of some messages match', async () => {
    const { member, ids } = world;
    const matches = async (narrow: readonly Term[], names: readonly string[]) => {
      const msg_ids = names.map((name) => ids[name] ?? 0);
      const { messages } = await member.ok('GET', '/messages/matches_narrow', { msg_ids, narrow: toNarrow(narrow) });
      return Object.entries<Json>(messages).map(([id, match]) => [world.nameOf(Number(id)), match]);
    };
    const hello = '<p><span class="highlight">hello</span> world</p>';
    expect(await matches([['search', 'hello']], ['own', 'hello', 'between', 'hidden'])).toEqual([
      ['hello', { match_content: hello, match_subject: 'greet' }],
    ]);
    expect(await matches([['channel', 'other']], ['elsewhere', 'hello', 'nothing'])).toEqual([
      ['elsewhere', { match_content: '<p>hello elsewhere</p>', match_subject: 'greet' }],
    ]);
    expect((await member.rest('GET', '/messages/matches_narrow', { narrow: [] })).body).toMatchObject({
      ...{ code: 'REQUEST_VARIABLE_MISSING', var_name: 'msg_ids' },
    });
  });
});

describe('a range', () => {
  test('surrounds its anchor, and reports its ends', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    const id = await channelOf(owner, 'general', [owner, member]);
    const muted = await channelOf(owner, 'muted', [owner, member]);
    await member.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: muted, property: 'is_muted', value: true }],
    });
    const sent: number[] = [];
    for (let i = 0; i < 6; i++) {
      sent.push(await say(owner, i === 1 ? muted : id, i === 2 ? 'other' : 'topic', `message ${i}`));
      clock += 60_000;
    }
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = sent;
    const NEWEST = 10_000_000_000_000_000;
    const range = async (parameters: Parameters, narrow: readonly Term[] = []) => {
      const body = await member.ok('GET', '/messages', { ...parameters, narrow: toNarrow(narrow) });
      const { messages, anchor, found_anchor, found_oldest, found_newest, history_limited } = body;
      expect(history_limited).toBe(false);
      return [messages.map((message: Json) => message.id), anchor, found_anchor, found_oldest, found_newest];
    };
    const around = (anchor: unknown, num_before: number, num_after: number, more: object = {}) =>
      range({ anchor: String(anchor), num_before, num_after, ...more });
    expect(await around(c, 1, 2)).toEqual([[b, c, d, e], c, true, false, false]);
    expect(await around(c, 2, 3)).toEqual([sent, c, true, false, false]);
    expect(await around(c, 3, 4)).toEqual([sent, c, true, true, true]);
    expect(await around(c, 0, 0)).toEqual([[c], c, true, false, false]);
    expect(await around(c, 2, 0, { include_anchor: false })).toEqual([[a, b], c, false, false, false]);
    expect(await around(c, 0, 2, { include_anchor: false })).toEqual([[d, e], c, false, false, false]);
    expect(await around('newest', 2, 0)).toEqual([[e, f], NEWEST, false, false, true]);
    expect(await around('oldest', 0, 2)).toEqual([[a, b], 0, false, true, false]);
    expect(await around(-5, 0, 1)).toEqual([[a], 0, false, true, false]);
    expect(await around('99999999999999999999', 1, 0)).toEqual([[f], NEWEST, false, false, true]);
    // The anchor is the id of a message that does not match the narrow.
    expect(await range({ anchor: c, num_before: 1, num_after: 1 }, [['topic', 'topic']])).toEqual([
      ...[[b, d], c, false, false, false],
    ]);

    const first = (narrow: readonly Term[] = []) =>
      range({ anchor: 'first_unread', num_before: 0, num_after: 0 }, narrow);
    expect(await first()).toEqual([[a], a, true, false, false]);
    await member.ok('POST', '/messages/flags', { messages: [a], op: 'add', flag: 'read' });
    // The anchor "first unread" skips muted messages, unless the narrow selects them.
    expect((await first())[1]).toBe(c);
    expect((await first([['channel', 'muted']]))[1]).toBe(b);
    expect(await range({ use_first_unread_anchor: true })).toEqual([[c], c, true, false, false]);
    // If `use_first_unread_anchor` is set, the anchor in the request is ignored.
    for (const anchor of [0, 10_000_000_000_000_000, 'oldest', 'date', 'a dummy', '']) {
      expect(await range({ anchor, use_first_unread_anchor: true })).toEqual([[c], c, true, false, false]);
    }
    expect((await range({ anchor: a, use_first_unread_anchor: false }))[1]).toBe(a);
    await member.ok('POST', '/messages/flags', { messages: [c, d, e, f], op: 'add', flag: 'read' });
    expect((await first())[1]).toBe(NEWEST);

    const { messages } = await readOk(member, []);
    const dated = (anchor_date: string) => range({ anchor: 'date', anchor_date, num_before: 0, num_after: 0 });
    expect((await dated(new Date(messages[3].timestamp * 1000).toISOString()))[1]).toBe(d);
    expect((await dated(new Date(messages[3].timestamp * 1000 + 30_000).toISOString()))[1]).toBe(e);
    for (const date of ['2001-01-01', '0000-01-01', '0001-01-01']) expect((await dated(date))[1]).toBe(a);
    expect((await dated('2100-01-01T00:00:00+02:00'))[1]).toBe(NEWEST);

    const byIds = await member.ok('GET', '/messages', { message_ids: [e, 2 ** 50, a, 0, -1, e] });
    expect([byIds.messages.map((message: Json) => message.id), 'anchor' in byIds]).toEqual([[a, e], false]);
    expect(byIds).toMatchObject({ found_anchor: false, found_oldest: false, found_newest: false });
  });

  test('is refused if it is invalid', async () => {
    const { member } = world;
    const cases: readonly [Parameters, object][] = [
      [{}, { code: 'BAD_REQUEST', msg: "Missing 'anchor' argument." }],
      [{ anchor: 'middle' }, { code: 'BAD_REQUEST', msg: 'Invalid anchor' }],
      [{ anchor: '1.5' }, { code: 'BAD_REQUEST', msg: 'Invalid anchor' }],
      [{ anchor: 'date' }, { code: 'REQUEST_VARIABLE_MISSING', var_name: 'anchor_date' }],
      ...['soon', '2026-02-30', '2026-02-28T24:00:00', '2026-02-28T10:60', '2026-13-01', '2026-02-28T10:00+24:00'].map(
        (anchor_date): [Parameters, object] => [
          { anchor: 'date', anchor_date },
          { code: 'BAD_REQUEST', msg: 'anchor_date is not a date' },
        ],
      ),
      [
        { anchor: '1', num_before: -1 },
        { code: 'BAD_REQUEST', msg: 'num_before is too small' },
      ],
      [
        { anchor: '1', num_before: 2500, num_after: 2501 },
        { code: 'BAD_REQUEST', msg: 'Too many messages requested (maximum 5000).' },
      ],
      [
        { anchor: '1', num_before: 1, num_after: 1, include_anchor: false },
        { code: 'BAD_REQUEST', msg: 'The anchor can only be excluded at an end of the range' },
      ],
      [
        { message_ids: [1], num_after: 0 },
        {
          code: 'BAD_REQUEST',
          parameters: 'num_before, num_after, anchor, message_ids, include_anchor, use_first_unread_anchor',
        },
      ],
    ];
    for (const [parameters, body] of cases) {
      expect([parameters, (await member.rest('GET', '/messages', parameters)).body]).toMatchObject([parameters, body]);
    }
  });
});

const MESSAGE = `databaseId type content renderedContent topicName topic { name } viewerHasRead viewerHasStarred isMeMessage
  client sentAt lastEditedAt lastMovedAt flags
  sender { databaseId email fullName } channel { databaseId name } participants { databaseId email fullName }
  topicLinks { text url }`;

/** Converts a message from the REST format to the GraphQL format. */
function asGraphQL(message: Json, source: string): Json {
  const { display_recipient: to, last_edit_timestamp: edited, last_moved_timestamp: moved } = message;
  const isDirect = message.type === 'private';
  const at = (seconds: number | undefined) => (seconds === undefined ? null : seconds);
  const named = (flag: string) => flag.replace('stream_', 'channel_').toUpperCase();
  return {
    ...{ databaseId: message.id, type: isDirect ? 'DIRECT' : 'CHANNEL', topicName: message.subject },
    topic: isDirect ? null : { name: message.subject },
    ...{ viewerHasRead: message.flags.includes('read'), viewerHasStarred: message.flags.includes('starred') },
    ...{
      content: source,
      renderedContent: message.content,
      isMeMessage: message.is_me_message,
      client: message.client,
    },
    ...{ sentAt: message.timestamp, lastEditedAt: at(edited), lastMovedAt: at(moved), topicLinks: message.topic_links },
    flags: message.flags.filter((flag: string) => flag !== 'wildcard_mentioned').map(named),
    sender: { databaseId: message.sender_id, email: message.sender_email, fullName: message.sender_full_name },
    channel: isDirect ? null : { databaseId: message.stream_id, name: to },
    participants: isDirect
      ? to.map(({ id, email, full_name }: Json) => ({ databaseId: id, email, fullName: full_name }))
      : null,
  };
}

/** Converts the times of a GraphQL message to seconds, as in REST. */
const inSeconds = (message: Json) => {
  const seconds = (time: string | null) => (time === null ? null : Math.floor(Date.parse(time) / 1000));
  const { sentAt, lastEditedAt, lastMovedAt } = message;
  return {
    ...message,
    ...{ sentAt: seconds(sentAt), lastEditedAt: seconds(lastEditedAt), lastMovedAt: seconds(lastMovedAt) },
  };
};

describe('a message', () => {
  test('has the same fields in both APIs', async () => {
    const { owner, member, guest, organization } = await createOrganization({}, { on: service });
    const id = await channelOf(owner, 'general', [owner, member]);
    const content = '/me waves at @**all**';
    const sent = await owner.mutate(
      'sendMessage',
      { to: toTopic('GENERAL', 'topic'), content, readBySender: true },
      `sentMessage { ${MESSAGE} } newTopicVisibility`,
    );
    expect(sent.newTopicVisibility).toBe('FOLLOWED');
    const { databaseId } = sent.sentMessage;
    await member.ok('POST', `/messages/${databaseId}/reactions`, { emoji_name: 'octopus' });
    await member.ok('POST', '/messages/flags', { messages: [databaseId], op: 'add', flag: 'starred' });
    clock += 10_000;
    const quietly = { send_notification_to_new_thread: false };
    await owner.ok('PATCH', `/messages/${databaseId}`, { content: `${content}!`, topic: '', ...quietly });

    const { message, raw_content } = await member.ok('GET', `/messages/${databaseId}`);
    const timestamp = message.timestamp;
    const octopus = { emoji_name: 'octopus', emoji_code: '1f419', reaction_type: 'unicode_emoji', user_id: member.id };
    const before = { prev_content: content };
    expect([message, raw_content]).toEqual([
      {
        ...{ id: databaseId, sender_id: owner.id, sender_email: owner.email, sender_full_name: owner.name },
        ...{
          sender_realm_str: organization.subdomain,
          client: 'Unspecified',
          recipient_id: expect.any(Number),
          timestamp,
        },
        ...{ type: 'stream', stream_id: id, display_recipient: 'general', subject: 'general chat', topic_links: [] },
        avatar_url: expect.stringContaining('/avatar/'),
        ...{ content: expect.stringContaining('<p>'), content_type: 'text/html', is_me_message: true, submessages: [] },
        reactions: [{ ...octopus, user: { id: member.id, email: member.email, full_name: member.name } }],
        flags: ['starred', 'stream_wildcard_mentioned', 'wildcard_mentioned'],
        ...{ last_edit_timestamp: timestamp + 10, last_moved_timestamp: timestamp + 10 },
        edit_history: [
          {
            ...{ user_id: owner.id, timestamp: timestamp + 10, prev_topic: 'topic', topic: 'general chat' },
            ...before,
          },
        ],
      },
      `${content}!`,
    ]);
    const source = { apply_markdown: false, allow_empty_topic_name: true };
    const raw = (await member.ok('GET', `/messages/${databaseId}`, source)).message;
    expect(raw).toMatchObject({ content: raw_content, content_type: 'text/x-markdown', subject: '' });
    expect(raw.edit_history[0].topic).toBe('');

    const group = await write(guest, [owner, member], 'to you');
    const [direct] = (await member.ok('GET', '/messages', { message_ids: [group] })).messages;
    expect(direct).toMatchObject({
      ...{ type: 'private', subject: '', flags: [], reactions: [] },
      is_me_message: false,
    });
    expect(direct.display_recipient).toEqual(
      [owner, member, guest].map(({ id, email, name }) => ({ id, email, full_name: name, is_mirror_dummy: false })),
    );
    expect('stream_id' in direct || 'edit_history' in direct || 'last_edit_timestamp' in direct).toBe(false);

    const page = (await readOk(member, [], { allow_empty_topic_name: true })).messages;
    expect(page.map((message: Json) => message.id)).toEqual([databaseId, group]);
    const nodes = await member.query(`{ messages { edges { node { id ${MESSAGE} } } } }`);
    expect(nodes.messages.edges.map(({ node: { id: _, ...node } }: Json) => inSeconds(node))).toEqual([
      asGraphQL(page[0], raw_content),
      asGraphQL(page[1], 'to you'),
    ]);
    const nodeId = nodes.messages.edges[1].node.id;
    const single = `query ($id: ID!, $messageId: ID!) {
      node(id: $id) { ... on Message { ${MESSAGE} } } message(by: { id: $messageId }) { ${MESSAGE} } }`;
    const found = await member.query(single, { id: nodeId, messageId: group });
    expect(inSeconds(found.node)).toEqual(asGraphQL(page[1], 'to you'));
    expect(found.message).toEqual(found.node);
    for (const messageId of [databaseId, 2 ** 50, 0]) {
      const lookup = 'query ($messageId: ID!) { message(by: { id: $messageId }) { id } }';
      expect(await guest.query(lookup, { messageId })).toEqual({ message: null });
      expect((await guest.rest('GET', `/messages/${messageId}`)).body).toMatchObject({ msg: 'Invalid message(s)' });
    }
  });

  test('shows the edit history that the organization permits', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    const id = await channelOf(owner, 'general', [owner, member]);
    const message = await say(owner, id, 'one', 'first');
    await owner.ok('PATCH', `/messages/${message}`, { content: 'second' });
    await owner.ok('PATCH', `/messages/${message}`, { content: 'third', topic: 'two' });
    const shown = async (message_edit_history_visibility_policy: string) => {
      const settings = { message_edit_history_visibility_policy };
      await service.app.db.organization.update({ where: { id: organization.id }, data: { settings } });
      return (await readOk(member, [])).messages[0].edit_history?.map(
        ({ timestamp: _, user_id: _id, ...e }: Json) => e,
      );
    };
    const moved = { prev_topic: 'one', topic: 'two' };
    expect(await shown('all')).toEqual([{ ...moved, prev_content: 'second' }, { prev_content: 'first' }]);
    expect(await shown('moves')).toEqual([moved]);
    expect(await shown('none')).toBeUndefined();
  });

  test('is sent or refused over GraphQL as over REST, and arrives with its local id in the given queue', async () => {
    const { owner, member } = await createOrganization({}, { on: service });
    await member.ok('PATCH', '/settings', { automatically_follow_topics_where_mentioned: false });
    const id = await channelOf(owner, 'general', [owner, member]);
    const { queue_id } = await owner.register({ fetch_event_types: [], apply_markdown: true });
    const selection = `... on MessageSentEvent { localId message { databaseId type topicName content renderedContent
      client flags channel { databaseId name } isMeMessage sentAt sender { databaseId email fullName avatarUrl }
      participants { databaseId } topicLinks { text url } } }`;
    await using here = await owner.events(selection, { queueId: queue_id });
    await using there = await member.events(selection);
    const send = (input: Parameters) =>
      owner.mutate('sendMessage', input, 'sentMessage { databaseId } newTopicVisibility');
    const local = { queueId: queue_id, localId: '12.5' };
    const first = await send({ to: toTopic(id, 'topic'), content: `hello @**${member.name}**`, ...local });
    const event = await here.next();
    expect(event).toEqual({
      localId: '12.5',
      message: {
        ...{ databaseId: first.sentMessage.databaseId, type: 'CHANNEL', topicName: 'topic', client: 'Unspecified' },
        ...{ content: `hello @**${member.name}**`, renderedContent: expect.stringContaining('user-mention') },
        ...{ isMeMessage: false, flags: [], participants: null, topicLinks: [] },
        channel: { databaseId: id, name: 'general' },
        sentAt: new Date(clock).toISOString(),
        sender: { databaseId: owner.id, email: owner.email, fullName: owner.name, avatarUrl: expect.any(String) },
      },
    });
    expect(await there.next()).toMatchObject({ localId: null, message: { flags: ['MENTIONED'] } });
    const second = await send({ to: { direct: [member.id] }, content: 'hello', readBySender: true });
    expect(second.newTopicVisibility).toBeNull();
    expect(await there.next()).toMatchObject({
      message: { type: 'DIRECT', channel: null, participants: [{ databaseId: owner.id }, { databaseId: member.id }] },
    });
    const { directConversations, messages } = await member.query(`{ directConversations(first: 1) { nodes { id } }
      messages(last: 2) { nodes { content directConversation { id unreadCount lastMessage { content } } } } }`);
    expect(messages.nodes).toEqual([
      { content: `hello @**${member.name}**`, directConversation: null },
      {
        content: 'hello',
        directConversation: { ...directConversations.nodes[0], unreadCount: 1, lastMessage: { content: 'hello' } },
      },
    ]);

    const NOBODY = 2_000_000_000;
    const hidden = await channelOf(owner, 'hidden', [owner], { invite_only: true });
    for (const [{ channel, direct, topic = 'topic', content = 'x' }, code] of [
      [{ channel: NOBODY }, 'STREAM_DOES_NOT_EXIST'],
      [{ channel: 'nowhere' }, 'STREAM_DOES_NOT_EXIST'],
      [{ channel: hidden }, 'STREAM_DOES_NOT_EXIST'],
      [{ channel: id, topic: 'a\nb' }, 'BAD_REQUEST'],
      [{ channel: id, content: ' ' }, 'BAD_REQUEST'],
      [{ direct: [NOBODY] }, 'BAD_REQUEST'],
      [{ direct: [] }, 'BAD_REQUEST'],
    ] as const satisfies readonly (readonly [Json, string])[] as readonly (readonly [Json, string])[]) {
      const input = { to: direct === undefined ? toTopic(channel, topic) : { direct }, content };
      const { code: found } = await member.tryMutation('sendMessage', input);
      const type = direct === undefined ? 'channel' : 'direct';
      const { body } = await member.rest('POST', '/messages', { type, to: channel ?? direct, topic, content });
      expect([input, found]).toEqual([input, code]);
      expect(body.code).toBe(code);
    }
    const rendered = await member.query('{ renderMessage(content: "**bold**") }');
    expect(rendered.renderMessage).toBe('<p><strong>bold</strong></p>');
  });
});

describe('connections of messages', () => {
  const PAGE = 'edges { cursor node { databaseId } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }';

  test('are paginated from either end, and by a typed narrow', async () => {
    const { member, ids, channels, moderator } = world;
    const messages = async (narrow: Json, page: Parameters = {}) => {
      const query = `query ($narrow: MessageNarrowInput, $first: Int, $last: Int, $after: String, $before: String) {
        messages(narrow: $narrow, first: $first, last: $last, after: $after, before: $before) { ${PAGE} } }`;
      const { edges, pageInfo } = (await member.query(query, { narrow, ...page })).messages;
      return { names: namesIn(edges.map(({ node }: Json) => ({ id: node.databaseId }))), pageInfo };
    };
    const oldestFirst = (names: readonly string[]) => names.toSorted((a, b) => (ids[a] ?? 0) - (ids[b] ?? 0));
    const all = oldestFirst(OWN);
    expect((await messages(null, { first: 100 })).names).toEqual(all);
    const first = await messages({}, { first: 3 });
    expect([first.names, first.pageInfo.hasNextPage, first.pageInfo.hasPreviousPage]).toEqual([
      ...[all.slice(0, 3), true, false],
    ]);
    const second = await messages({}, { first: 3, after: first.pageInfo.endCursor });
    expect([second.names, second.pageInfo.hasPreviousPage]).toEqual([all.slice(3, 6), true]);
    const back = await messages({}, { last: 2, before: second.pageInfo.startCursor });
    expect([back.names, back.pageInfo.hasPreviousPage, back.pageInfo.hasNextPage]).toEqual([
      ...[all.slice(1, 3), true, true],
    ]);
    expect((await messages({}, { last: 2 })).names).toEqual(all.slice(-2));
    expect((await messages({}, { first: 0 })).names).toEqual([]);
    // Without arguments, a page has the newest messages.
    expect(await messages({})).toEqual(await messages({}, { last: 20 }));
    expect((await messages({}, { before: back.pageInfo.startCursor })).names).toEqual(all.slice(0, 1));
    expect((await messages({}, { after: first.pageInfo.endCursor })).names).toEqual(all.slice(3));
    const bad = await member.graphql('{ messages(after: "x") { edges { cursor } } }');
    expect(bad.errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
    const { startCursor } = second.pageInfo;
    expect(Buffer.from(startCursor, 'base64url').toString()).toBe(`message:${ids[second.names[0] ?? '']}`);
    const asJson = Buffer.from(JSON.stringify(['message', ids[second.names[0] ?? '']])).toString('base64url');
    expect(await messages({}, { last: 2, before: asJson })).toEqual(back);

    const narrows: readonly [Json, readonly string[]][] = [
      [{ channel: { id: globalId('Channel', channels['other'] ?? 0) } }, ['elsewhere']],
      [{ channel: { name: 'General' }, topicNamed: 'greet' }, ['hello', 'link', 'all']],
      [{ channels: 'WEB_PUBLIC' }, ['web']],
      [{ senderId: member.id }, ['own', 'self']],
      [{ directWith: [moderator.id] }, ['direct']],
      [{ directIncluding: moderator.id }, ['direct', 'group']],
      [{ is: ['DIRECT', 'UNREAD'] }, ['group']],
      [{ has: ['LINK', 'REACTION'] }, ['link']],
      [{ mentionsUserId: member.id }, ['mention']],
      [{ search: 'meeting' }, ['own']],
      [{ with: ids['hello'] }, ['hello', 'link', 'all']],
      [
        { channel: { name: 'general' }, not: { topicNamed: 'greet', has: ['IMAGE'], is: ['RESOLVED', 'MUTED'] } },
        ['own', 'empty'],
      ],
    ];
    for (const [narrow, names] of narrows) {
      expect([narrow, (await messages(narrow)).names]).toEqual([narrow, oldestFirst(names)]);
    }
    const unknown = await member.graphql('{ messages(narrow: { channel: { name: "hidden" } }) { edges { cursor } } }');
    expect(unknown.errors).toMatchObject([{ extensions: { code: 'BAD_NARROW', desc: 'unknown channel hidden' } }]);
    const blank = await member.graphql('{ messages(narrow: { search: " " }) { edges { cursor } } }');
    expect(blank.errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
  });

  test('of a channel contain what the viewer can read, and cost their maximum', async () => {
    const { owner, member, channels, ids } = world;
    const query = `query ($channelId: ID!) { channel(by: { id: $channelId }) { messages { ${PAGE} } } }`;
    const of = async (by: Person, name: string) => {
      const { channel } = await by.query(query, { channelId: channels[name] });
      return channel.messages.edges.map(({ node }: Json) => world.nameOf(node.databaseId));
    };
    expect(await of(member, 'guarded')).toEqual(['received']);
    expect(await of(owner, 'guarded')).toEqual(['early', 'received']);
    // An administrator can see a private channel, but cannot read its messages.
    expect(await of(world.administrator, 'hidden')).toEqual([]);
    expect(ids['hidden']).toBeGreaterThan(0);
    const costly = await member.graphql(
      '{ channels(first: 100) { edges { node { messages(first: 100) { edges { node { id content } } } } } } }',
    );
    expect(costly.errors).toMatchObject([{ extensions: { code: 'DOCUMENT_LIMIT_EXCEEDED' } }]);
  });
});

test('a page of messages ends where 16 MiB do, away from its anchor, and reports that more follow', async () => {
  const { owner } = await createOrganization({}, { on: service });
  const id = await channelOf(owner, 'long', [owner]);
  await owner.ok('POST', '/realm/emoji/e', { file: PNG });
  // The HTML of this text has a third of a megabyte.
  const first = await say(owner, id, 't', ':e: '.repeat(2_500));
  const ids = [first, ...(await copyMessage(service, first, 79))];
  const page = (parameters: Parameters) => owner.ok('GET', '/messages', parameters);
  const newest = await page({ anchor: 'newest', num_before: 5_000, num_after: 0 });
  expect(newest).toMatchObject({ found_newest: true, found_oldest: false });
  expect(JSON.stringify(newest).length).toBeLessThan(18 * 1024 * 1024);
  // Clients that continue from the first returned message find all messages.
  const found: number[] = newest.messages.map((message: Json) => message.id);
  expect(found.at(-1)).toBe(ids.at(-1));
  for (let isWhole = false; !isWhole; ) {
    const more = await page({ anchor: found[0], include_anchor: false, num_before: 5_000, num_after: 0 });
    found.unshift(...more.messages.map((message: Json) => message.id));
    isWhole = more.found_oldest;
  }
  expect(found.slice(-ids.length)).toEqual(ids);
  const middle = await page({ anchor: ids[40], num_before: 5_000, num_after: 5_000 }).catch(String);
  expect(middle).toContain('Too many messages requested');
  const around = await page({ anchor: ids[40], num_before: 2_000, num_after: 2_000 });
  expect(around).toMatchObject({ found_anchor: true, found_oldest: false, found_newest: false });
  const named = await owner.rest('GET', '/messages', { message_ids: ids });
  expect(named.body.msg).toBe('The messages are too large for one reply. Request fewer.');
});
