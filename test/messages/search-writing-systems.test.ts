import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { indexMessages } from '../../src/messages/narrow/index-worker.ts';
import { folded, lowered } from '../../src/platform/folding.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { DATABASE_URL = '' } = process.env;

/** Contents of messages, by name. */
const MESSAGES = {
  pier: '浮き桟橋と灯台の点検',
  kana: '船のエンジンを直す',
  mixed: 'APIの設計レビュー 第3回',
  hangul: '회의록을 보내 주세요',
  thai: 'การประชุมวันจันทร์เลื่อนไปวันอังคาร',
  lao: 'ກອງປະຊຸມມື້ນີ້',
  khmer: 'ការប្រជុំថ្ងៃនេះ',
  russian: 'Проверка ёмкостей на Причале',
  greek: 'Ο ΠΛΟΥΣ της Κυριακής',
  arabic: 'اجْتِمَاع الفريق غدًا',
  hebrew: 'שָׁלוֹם לכולם',
  hindi: 'क्षेत्रीय बैठक कल है',
  url: 'see https://dock.example/plans/HullSurvey?sheet=keel_frames#rivets',
  dotted: 'set hull.bolts to true in conf/deck-winch.yaml',
  version: 'quay-js@2.6.11 is out',
  overhaul: 'The overhaul begins on Monday',
  accents: 'Zoë and Łukasz meet at the Café Größe',
  decomposed: 'a resume\u0301 by post',
  letters: 'it was a C++ job -> done, ab/cd',
  money: 'that is 5€ ☀ in all',
  wide: 'ＦＵＬＬ width',
  percent: 'done 100%_sure \\ here',
  quotes: "the captain's log",
} as const;
type Name = keyof typeof MESSAGES;

/** Searches, each with the names of the messages that match. */
const FINDS: readonly (readonly [string, ...Name[]])[] = [
  // Quoted text matches literally and ignores case.
  ['"灯台"', 'pier'],
  ['"HullSurvey"', 'url'],
  ['"hullsurvey?SHEET"', 'url'],
  ['"hull.bolts"', 'dotted'],
  ['"erhau"', 'overhaul'],
  ['"l.b"', 'dotted'],
  ['"ull"', 'url', 'dotted', 'wide'],
  ['"причал"', 'russian'],
  ['"πλους"', 'greek'],
  ['"πλουσ"', 'greek'],
  ['"café"', 'accents'],
  ['"cafe\u0301"', 'accents'],
  ['"cafe"'],
  ['"résumé"'],
  ['"RESUMÉ"', 'decomposed'],
  ['"C++"', 'letters'],
  ['"->"', 'letters'],
  ['"/cd"', 'letters'],
  ['"€"', 'money'],
  ['"☀"', 'money'],
  ['"100%_s"', 'percent'],
  ['"\\"', 'percent'],
  ['"n\'s l"', 'quotes'],
  ['"begins on Mon"', 'overhaul'],
  ['"begins  on"'],
  ['"の点"', 'pier'],
  ['"台"', 'pier'],
  ['"bolts true"'],
  ['"overhaul" "nothing"'],
  ['"overhaul" "monday"', 'overhaul'],
  // A quoted text of one or two Latin letters or digits is not in the index.
  ['"c"', 'url', 'dotted', 'accents', 'letters', 'quotes'],
  ['"IT"', 'letters'],
  ['"is a"'],
  ['"s a"', 'letters'],
  ['"ab"', 'letters'],
  ['"ov"', 'overhaul'],
  ['"ov" begins', 'overhaul'],
  ['"ov" "OG"'],
  ['"ov" the', 'overhaul'],
  ['"5"', 'money'],
  ['"zz"'],
  // An unquoted word matches all words that have its stem. In scripts without spaces they match any part of a text.
  ['灯台', 'pier'],
  ['点検 浮き', 'pier'],
  ['台点'],
  ['橋', 'pier'],
  ['エンジン', 'kana'],
  ['設計', 'mixed'],
  ['api', 'mixed'],
  ['第3回', 'mixed'],
  ['회의', 'hangul'],
  ['ประชุม', 'thai'],
  ['ປະຊຸມ', 'lao'],
  ['ប្រជុំ', 'khmer'],
  ['причале', 'russian'],
  ['емкостей', 'russian'],
  ['ПРОВЕРКА', 'russian'],
  ['πλους', 'greek'],
  ['κυριακης', 'greek'],
  ['اجتماع', 'arabic'],
  ['שלום', 'hebrew'],
  ['बैठक', 'hindi'],
  ['hullsurvey', 'url'],
  ['plans dock', 'url'],
  ['keel', 'url'],
  ['rivet', 'url'],
  ['dock.example', 'url'],
  ['bolt', 'dotted'],
  ['hull.bolts', 'dotted'],
  ['winch', 'dotted'],
  ['deck-winch', 'dotted'],
  ['yaml conf', 'dotted'],
  ['quay', 'version'],
  ['2.6', 'version'],
  ['js@2', 'version'],
  ['overhauling', 'overhaul'],
  ['erhau'],
  ['zoe', 'accents'],
  ['lukasz', 'accents'],
  ['cafe grosse', 'accents'],
  ['resume', 'decomposed'],
  ['résumé', 'decomposed'],
  ['5€', 'money'],
  ['full', 'wide'],
  ['captain', 'quotes'],
  // Words that nearly every message contains match nothing, and neither do empty searches.
  ['the'],
  ['" "'],
  ['-'],
];

interface Ground {
  readonly service: InProcess;
  readonly member: Person;
  readonly ids: ReadonlyMap<number, Name>;
}

async function makeGround(service: InProcess): Promise<Ground> {
  const { owner, member } = await createOrganization({}, { on: service });
  const channel = await channelOf(owner, 'general', [owner, member]);
  const ids = new Map<number, Name>();
  for (const [name, text] of Object.entries(MESSAGES)) ids.set(await say(owner, channel, 'x', text), name as Name);
  return { service, member, ids };
}

async function find({ member, ids }: Ground, operand: string, negated = false): Promise<Name[]> {
  const narrow = [{ operator: 'search', operand, negated }];
  const { messages } = await member.ok('GET', '/messages', { anchor: 'newest', num_before: 100, num_after: 0, narrow });
  return (messages as Json[]).flatMap(({ id }) => ids.get(id) ?? []).sort();
}

async function expectAll(ground: Ground): Promise<void> {
  const found: Record<string, Name[]> = {};
  await Promise.all(
    FINDS.map(async ([operand]) => {
      found[operand] = await find(ground, operand);
    }),
  );
  expect(found).toEqual(Object.fromEntries(FINDS.map(([operand, ...names]) => [operand, names.toSorted()])));
}

test('a search matches words and quoted parts in every script, with and without index entries', {
  timeout: 180_000,
}, async () => {
  await using service = await shareInProcess();
  const ground = await makeGround(service);
  await expectAll(ground);
  await indexMessages(service.app, { least: 1 });
  const { organizationId } = await service.app.db.message.findFirstOrThrow({
    where: { id: { in: [...ground.ids.keys()] } },
  });
  expect(await service.app.db.searchableMessage.count({ where: { organizationId } })).toBeGreaterThanOrEqual(
    ground.ids.size,
  );
  await expectAll(ground);
  // The negated search matches all other messages. GraphQL finds the messages that REST finds.
  expect(await find(ground, '"灯台"', true)).toEqual([...ground.ids.values()].filter((name) => name !== 'pier').sort());
  const { messages } = await ground.member.query(
    'query ($narrow: MessageNarrowInput) { messages(narrow: $narrow, first: 50) { nodes { databaseId } } }',
    { narrow: { search: 'cafe "größe"' } },
  );
  expect(messages.nodes.map(({ databaseId }: Json) => ground.ids.get(databaseId))).toEqual(['accents']);
});

test('an edited or moved message matches by its new text, before and after it is indexed again', async () => {
  await using service = await shareInProcess();
  const ground = await makeGround(service);
  await indexMessages(service.app, { least: 1 });
  const [id = 0] = [...ground.ids].find(([, name]) => name === 'overhaul') ?? [];
  const owner = ground.member;
  const { message } = await owner.ok('GET', `/messages/${id}`);
  await service.app.db.message.update({
    where: { organizationId_id: { organizationId: await organizationOf(service, id), id } },
    data: { content: 'refitting 甲板', topic: 'Berth' },
  });
  expect(message.content).toContain('overhaul');
  for (const isIndexed of [false, true]) {
    if (isIndexed) await indexMessages(service.app, { least: 1 });
    expect(await find(ground, 'overhaul'), String(isIndexed)).toEqual([]);
    for (const operand of ['refit', '甲板', '"fitt"', 'berth']) {
      expect(await find(ground, operand), `${operand} ${isIndexed}`).toEqual(['overhaul']);
    }
  }
  const stale = await service.app.db.searchStale.count({
    where: { organizationId: await organizationOf(service, id) },
  });
  expect(stale).toBe(0);
  // When a message is deleted, its entry in the search index is deleted as well.
  await service.app.db.message.deleteMany({ where: { id } });
  expect(await service.app.db.searchableMessage.count({ where: { messageId: id } })).toBe(0);
});

test('a search in a channel or topic finds messages that are moved there, and none that are moved away', async () => {
  await using service = await shareInProcess();
  const { owner, member } = await createOrganization({}, { on: service });
  const [from, to] = [await channelOf(owner, 'from', [owner, member]), await channelOf(owner, 'to', [owner, member])];
  // Creates enough messages that the search reads the index instead of all messages of the channel.
  const ids: number[] = [];
  for (let i = 0; i < 40; i++) ids.push(await say(owner, from, 'Plan', i % 2 === 0 ? 'keel' : 'rudder'));
  const found = async (channel: number, topic?: string) => {
    const narrow = [
      ...[
        { operator: 'search', operand: 'keel' },
        { operator: 'sender', operand: owner.id },
      ],
      { operator: 'channel', operand: channel },
      ...(topic === undefined ? [] : [{ operator: 'topic', operand: topic }]),
    ];
    const page = await member.ok('GET', '/messages', { anchor: 'newest', num_before: 100, num_after: 0, narrow });
    return (page.messages as Json[]).map(({ id }) => ids.indexOf(id));
  };
  await indexMessages(service.app, { least: 1 });
  const keels = [...ids.keys()].filter((i) => i % 2 === 0);
  expect([await found(from), await found(from, 'plan'), await found(to)]).toEqual([keels, keels, []]);
  const move = (i: number, moved: object) =>
    owner.ok('PATCH', `/messages/${ids[i]}`, { propagate_mode: 'change_one', ...moved });
  await move(2, { stream_id: to });
  await move(4, { topic: 'Yard' });
  await move(6, { stream_id: to, topic: 'Ya\u0308rd' });
  for (const isIndexed of [false, true]) {
    if (isIndexed) await indexMessages(service.app, { least: 1 });
    const left = keels.filter((i) => i !== 2 && i !== 6);
    expect([await found(from), await found(to)], String(isIndexed)).toEqual([left, [2, 6]]);
    const topics = [
      await found(from, 'PLAN'),
      await found(from, 'yard'),
      await found(to, 'YÄRD'),
      await found(to, 'plan'),
    ];
    expect(topics, String(isIndexed)).toEqual([left.filter((i) => i !== 4), [4], [6], [2]]);
  }
});

test('a search for messages with links finds a message whose text became a link later', async () => {
  await using service = await shareInProcess();
  const { owner } = await createOrganization({}, { on: service });
  const channel = await channelOf(owner, 'general', [owner]);
  const content = 'docs in #**plans** harbour';
  const id = await say(owner, channel, 'x', content);
  const found = async () => {
    const narrow = [
      { operator: 'has', operand: 'link' },
      { operator: 'search', operand: 'harbour' },
    ];
    const page = await owner.ok('GET', '/messages', { anchor: 'newest', num_before: 10, num_after: 0, narrow });
    return (page.messages as Json[]).map((message) => message['id']);
  };
  await indexMessages(service.app, { least: 1 });
  expect(await found()).toEqual([]);
  await channelOf(owner, 'plans', [owner]);
  await owner.ok('PATCH', `/messages/${id}`, { content });
  expect(await found()).toEqual([id]);
  await indexMessages(service.app, { least: 1 });
  expect(await found()).toEqual([id]);
});

const organizationOf = async (service: InProcess, id: number): Promise<number> =>
  (await service.app.db.message.findFirstOrThrow({ where: { id } })).organizationId;

test('matches are marked in the text and the topic, in whole characters', async () => {
  await using service = await shareInProcess();
  const ground = await makeGround(service);
  const marks = async (operand: string) => {
    const { messages } = await ground.member.ok('GET', '/messages', {
      ...{ anchor: 'newest', num_before: 100, num_after: 0, narrow: [{ operator: 'search', operand }] },
    });
    return (messages as Json[]).flatMap(({ match_content }) =>
      [...match_content.matchAll(/<span class="highlight">(.*?)<\/span>/g)].map(([, hit]) => hit),
    );
  };
  const marked: Record<string, string[]> = {
    灯台: ['灯台'],
    '"erhau"': ['erhau'],
    'cafe zoe': ['Zoë', 'Café'],
    grosse: ['Größe'],
    '"resumé"': ['resume\u0301'],
    설: [],
    회의: ['회의'],
    'hull.bolts': ['hull', 'bolts'],
    '"hull.bolts"': ['hull.bolts'],
    api: ['API'],
    '"c++"': ['C++'],
    '"->"': ['-&gt;'],
    '"it"': ['it'],
    '"oc"': ['oc'],
    πλουσ: ['ΠΛΟΥΣ'],
    '"captain\'s"': ["captain's"],
    '"100%" sure': ['100%', 'sure'],
    full: ['ＦＵＬＬ'],
  };
  const found: Record<string, string[]> = {};
  for (const operand of Object.keys(marked)) found[operand] = await marks(operand);
  expect(found).toEqual(marked);
});

test('messages older than the index are indexed newest first, and can be found meanwhile', {
  timeout: 180_000,
}, async () => {
  await using service = await shareInProcess();
  const ground = await makeGround(service);
  const { db } = service.app;
  const organizationId = await organizationOf(service, [...ground.ids.keys()][0] ?? 0);
  const ids = [...ground.ids.keys()];
  // Creates the state right after the migration: no message is indexed.
  await db.searchableMessage.deleteMany({ where: { organizationId } });
  const newest = await db.message.findFirstOrThrow({ where: { organizationId }, orderBy: { id: 'desc' } });
  await db.searchProgress.update({ where: { organizationId }, data: { fromId: newest.id + 1n, throughId: newest.id } });
  await db.$executeRaw`SELECT index_messages(${organizationId}::int, 5)`;
  const indexed = await db.searchableMessage.findMany({ where: { organizationId }, orderBy: { messageId: 'asc' } });
  expect(indexed.map(({ messageId }) => Number(messageId))).toEqual(ids.slice(-5));
  await expectAll(ground);
  await indexMessages(service.app, { least: 1 });
  expect(await db.searchProgress.findUniqueOrThrow({ where: { organizationId } })).toMatchObject({ fromId: 0n });
  await expectAll(ground);
});

test('one call indexes long messages up to a size, so that the embedded database is soon free for others', async () => {
  await using service = await shareInProcess();
  const { owner } = await createOrganization({}, { on: service });
  const channel = await channelOf(owner, 'general', [owner]);
  const { db } = service.app;
  const ids: number[] = [];
  for (let i = 0; i < 8; i++) {
    ids.push(await say(owner, channel, 'x', `${'long text '.repeat(900)}${i}`));
  }
  const organizationId = await organizationOf(service, ids[0] ?? 0);
  await indexMessages(service.app, { least: 1 });
  const indexed = async () => {
    const rows = await db.searchableMessage.findMany({ where: { organizationId }, orderBy: { messageId: 'asc' } });
    return rows.map(({ messageId }) => Number(messageId));
  };
  const call = async () =>
    (await db.$queryRaw<{ more: boolean }[]>`SELECT index_messages(${organizationId}::int, 128) AS more`)[0]?.more;
  // New messages: two of 9,000 bytes exceed 16 kB.
  await db.searchableMessage.deleteMany({ where: { organizationId } });
  await db.searchProgress.update({ where: { organizationId }, data: { throughId: BigInt(ids[0] ?? 0) - 1n } });
  expect(await call()).toBe(true);
  expect(await indexed()).toEqual(ids.slice(0, 2));
  // Messages older than the index, newest first.
  await db.searchableMessage.deleteMany({ where: { organizationId } });
  const last = BigInt(ids.at(-1) ?? 0);
  await db.searchProgress.update({ where: { organizationId }, data: { fromId: last + 1n, throughId: last } });
  expect(await call()).toBe(true);
  expect(await indexed()).toEqual(ids.slice(-2));
  for (let isMore = true; isMore; ) isMore = (await call()) === true;
  expect(await indexed()).toEqual(ids);
  // Edited messages.
  await db.searchStale.createMany({ data: ids.map((id) => ({ organizationId, messageId: BigInt(id) })) });
  expect(await call()).toBe(true);
  expect(await db.searchStale.count({ where: { organizationId } })).toBe(ids.length - 2);
  for (let isMore = true; isMore; ) isMore = (await call()) === true;
  expect(await db.searchStale.count({ where: { organizationId } })).toBe(0);
});

test('ANALYZE does not compute the indexed expression of searches, which takes milliseconds for each row', async () => {
  await using service = await shareInProcess();
  const rows = await service.app.db.$queryRaw<{ target: number }[]>`
    SELECT attstattarget::int AS target FROM pg_attribute
    WHERE attrelid = 'searchable_message_vector'::regclass AND attnum = 1`;
  expect(rows).toEqual([{ target: 0 }]);
});

test('the database folds letters like the service', async () => {
  await using service = await shareInProcess();
  const letters: string[] = [];
  for (let code = 1; code < 0x1_f7_00; code++) {
    const letter = String.fromCodePoint(code);
    if (/[\p{L}\p{M}\p{N}\p{S}\p{P}]/u.test(letter)) letters.push(letter);
  }
  letters.push('ΠΛΟΥΣ', 'İstanbul', 'Größe', 'Ǆ', 'ﬃ', 'ＡＢ', 'e\u0301\u0323', '한국', 'が', 'क्षेत्र', 'a\u200bb');
  const rows = await service.app.db.$queryRaw<{ plain: string; lower: string; fold: string }[]>`
    SELECT normalize(letter, NFKD) AS plain, search_lower(letter) AS lower, search_fold(letter) AS fold FROM unnest(${letters}::text[]) AS letter`;
  const differing = letters.filter((letter, i) => {
    const { plain, lower, fold } = rows[i] ?? {};
    // If the Unicode version of the database does not contain the letter, the results of the database are not compared.
    if (plain !== letter.normalize('NFKD')) return false;
    return lower !== lowered(letter) || fold !== folded(letter).replaceAll(/[\u2028\u2029]/g, ' ');
  });
  expect(differing).toEqual([]);
});

describe.skipIf(DATABASE_URL === '')('on PostgreSQL', () => {
  test('a search works with lc_ctype C and a role that cannot create extensions', async () => {
    await using own = new AsyncDisposableStack();
    const name = `chat_test_${randomBytes(6).toString('hex')}`;
    const admin = new pg.Client({ connectionString: DATABASE_URL });
    await admin.connect();
    own.defer(() => admin.end());
    const ended = (statement: string) => own.defer(async () => void (await admin.query(statement)));
    ended(`DROP ROLE IF EXISTS ${name}`);
    await admin.query(`CREATE ROLE ${name} LOGIN PASSWORD 'secret'`);
    ended(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`);
    const url = new URL(DATABASE_URL);
    url.pathname = `/${name}`;
    const inside = new pg.Client({ connectionString: url.href });
    await inside.connect();
    await inside.query(`GRANT CREATE, USAGE ON SCHEMA public TO ${name}`);
    await inside.end();
    Object.assign(url, { username: name, password: 'secret' });
    const service = own.use(await startInProcess({ env: { DATABASE_URL: url.href, SECRET_KEY: 'x'.repeat(32) } }));
    const ground = await makeGround(service);
    await expectAll(ground);
    await indexMessages(service.app, { least: 1 });
    await expectAll(ground);
  });
});
