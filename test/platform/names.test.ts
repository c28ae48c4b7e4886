import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { isAlike, unreadableAt } from '../../src/platform/names.ts';
import { showsNothing } from '../../src/platform/text.ts';
import { shareInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests names that resemble other names, or that are invisible.

/** Letters, each with a letter of another script that looks like it. */
const LOOK_ALIKES: readonly (readonly [letter: string, alike: string])[] = [
  ...([
    ['o', 'ო'],
    ['o', 'ჿ'],
    ['o', 'ס'],
    ['l', 'ו'],
    ['l', 'ן'],
    ['o', 'ဝ'],
    ['O', 'ଠ'],
    ['o', 'ഠ'],
    ['l', 'ا'],
  ] as const),
  ...([
    ['I', 'ا'],
    ['1', 'ا'],
    ['o', 'ہ'],
    ['o', '٥'],
    ['O', '߀'],
    ['0', '߀'],
    ['o', '〇'],
    ['K', 'Ⲕ'],
    ['I', 'Ⲓ'],
  ] as const),
  ...([
    ['M', 'Ⲙ'],
    ['N', 'Ⲛ'],
    ['T', 'Ⲧ'],
    ['w', 'ꮃ'],
    ['s', 'ꮪ'],
    ['s', '𐑈'],
    ['M', '𐌌'],
    ['M', '𐌑'],
    ['Σ', 'ⵉ'],
  ] as const),
  ...([
    ['о', 'ס'],
    ['ο', 'ہ'],
    ['І', 'ן'],
    ['i', 'ן'],
    ['a', 'а'],
    ['h', 'һ'],
    ['l', 'ⵏ'],
    ['v', 'ѵ'],
    ['Z', 'Ꮓ'],
  ] as const),
];

/** Names that differ by letters of one script, although these look alike. */
const WITHIN_SCRIPTS: readonly (readonly string[])[] = [
  ...[
    ['barn', 'bam'],
    ['bill', 'biII', 'bi11'],
    ['OO', 'O0'],
    ['דו', 'דן', 'דס'],
    ['ده', 'دہ', 'دھ'],
    ['باب ١', 'باب ا'],
  ],
  ...[
    ['ⲓⲛ', 'ⲗⲛ'],
    ['ӏе', 'іе'],
    ['тест', 'tect'],
    ['сосна', 'cocna'],
    ['ⵉⵏ', 'ⵍⵏ'],
    ['ဝန', '၀န'],
  ],
];

const UNREADABLE: readonly (readonly [what: string, name: string, position: number])[] = [
  ['an override of the direction', 'abc\u202Ecba', 4],
  ['an isolate', '\u2066abc\u2069', 1],
  ['a mark of the direction', 'a\u200Fb', 2],
  ['an Arabic letter mark', 'a\u061Cb', 2],
  ['a zero-width space', 'ad\u200Bmin', 3],
  ['a word joiner', 'ad\u2060min', 3],
  ['a byte order mark', 'admin\uFEFF', 6],
  ['a soft hyphen', 'ad\u00ADmin', 3],
  ['a joiner between Latin letters', 'a\u200Dm', 2],
  ['a non-joiner between Latin letters', 'a\u200Cm', 2],
  ['a non-joiner at the end', 'سلام\u200C', 5],
  ['a joiner after an emoji', 'a😀\u200D', 3],
  ['a variation selector after a letter', 'a\uFE0Fb', 2],
  ['a tag without a flag', 'a\u{E0067}', 2],
  ['a Hangul filler', '\u3164', 1],
  ['a blank of Braille', 'a\u2800', 2],
  ['spaces and fillers alone', '\u2003\u115F', 1],
  ['a mark without a letter', '\u0301', 1],
  ['four marks on a letter', 'Z\u0301\u0302\u0303\u0304algo', 2],
  ['six tone marks of Thai', 'ก\u0E48\u0E49\u0E4A\u0E4B\u0E48\u0E49', 2],
  ['four marks on a letter of Thai', 'ที\u0E48\u0E49\u0E4C', 2],
  ['four marks on a letter of Lao', 'ກ\u0EC8\u0EC9\u0ECA\u0ECB', 2],
  ['seven accents of Hebrew', 'ש\u0591\u0592\u0593\u0594\u0595\u0596\u0597', 2],
  ['five accents of Hebrew', 'בא\u0591\u0592\u0593\u0594\u0595', 3],
  ['five marks of Arabic', 'ب\u06D6\u06D7\u06D8\u06D9\u06DA', 2],
  ['five marks of Syriac', 'ܒ\u0730\u0731\u0732\u0733\u0734', 2],
  ['five marks of Devanagari', 'क\u093C\u0941\u0902\u0900\u0901', 2],
  ['five marks of several scripts', 'a\u0E48\u0591\u06D6\u0730\u1037', 2],
  ['six marks of Burmese', 'က\u103D\u103E\u102D\u102F\u1037\u1036', 2],
  ['a mark twice', 'Z\u0301\u0301', 2],
  ['a character that is not assigned', 'a\u0378', 2],
  ['a character for private use', 'a\uE000', 2],
  ['a line separator', 'a\u2028b', 2],
  ['an annotation', 'a\uFFF9b', 2],
  ['an object replacement', 'a\uFFFC', 2],
  ['a joiner twice after a virama', 'രാജന്\u200D\u200D', 6],
  ['a joiner between a virama and a Latin letter', 'ക്\u200Da', 3],
  ['an emoji selector after a digit', 'v1\uFE0F', 3],
  ['an emoji selector after a digit of a name', 'Iris Haddad1\uFE0F', 13],
  ['an emoji selector after a sign of keycaps', '#\uFE0F', 2],
  ['a selector twice', '❤\uFE0F\uFE0F', 2],
  ['tags of no flag', 'flag🏴\u{E0061}\u{E007F}', 6],
  ['tags of a region that has no flag', '🏴\u{E0075}\u{E0073}\u{E0063}\u{E0061}\u{E007F}', 2],
  ['a flag with more tags', '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}\u{E007F}', 8],
  ['a mark at the beginning', '\u0301Sam', 1],
  ['a mark after a space', 'Sam \u0301Lee', 5],
  ['an empty note', 'a\u{1D159}', 2],
  ['a blank hieroglyph', '\u{13441}', 1],
];

const READABLE: readonly string[] = [
  ...['', 'Ada Lovelace', 'Zoë', 'Zoe\u0308', 'Việt Nam', 'Vie\u0323\u0302t', "O'Brien-Smith, Jr."],
  ...['രാജന്\u200D', 'സാജന്\u200D നായര്\u200D', 'बृहत्\u200C-कथा', '𞤀\u200D𞤣'],
  ...['می\u200Cخواهم', 'مُحَمَّدٌ', 'क्\u200Dष', 'ශ්\u200Dරී', 'မြွှေ့', 'น้ำ', 'שָׁלוֹם', 'שְּׁ֣מַע', 'ที่', 'สิทธิ์', 'ເຖິງ່'],
  ...['လျှို့ဝှက်', 'ချွှို့', 'ཧྐྵྨླྺྃ', 'བསྒྲུབས', 'क़ुंच', 'ᨠᩖᩥ᩠ᨿ᩵', 'ߒߞߏ߫', 'បុណ្យ', 'ꦏꦿꦶꦁ', 'نَّٰ'],
  ...['浮き桟橋', '葛\u{E0100}', '한국어'],
  ...[
    '❤',
    '❤\uFE0F',
    '❤\uFE0F\u200D🔥',
    '👨\u200D👩\u200D👧',
    '👩🏽\u200D🚀',
    '1\uFE0F\u20E3',
    '☀\uFE0E',
    '🇫🇷',
    '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
    'Team 🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}',
    '🏴\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}',
    '#\uFE0F\u20E3 1\u20E3',
    '🏴\u200D☠\uFE0F',
    '©\uFE0F',
    '灯\u{E0101}台',
  ],
];

test.for(UNREADABLE)('%s is detected in a name, with its position', ([, name, position]) => {
  expect(unreadableAt(name)).toBe(position);
});

test.for(READABLE)('"%s" can be a name', (name) => {
  expect(unreadableAt(name)).toBeUndefined();
});

test('a text of invisible characters is blank', () => {
  for (const text of ['', ' ', '\u200B\u200D', '\u2800', '\u3164 \n', '\u202E', '\u00AD\uFE0F'])
    expect([text, showsNothing(text)]).toEqual([text, true]);
  for (const text of ['a', '\u200Ba', '❤\uFE0F', '\u0301', '。', '\uE000'])
    expect([text, showsNothing(text)]).toEqual([text, false]);
});

test('names look alike if they differ only by letters of different scripts', async () => {
  await using service = await shareInProcess();
  const areAlike = async (one: string, other: string) => {
    const [row] = await service.app.db.$queryRaw<
      { alike: boolean }[]
    >`SELECT ${isAlike(Prisma.sql`${one}::text`, other)} AS alike`;
    return row?.alike;
  };
  for (const [letter, alike] of LOOK_ALIKES) {
    for (const [one, other] of [
      [letter, alike],
      [`Deck ${letter}`, `deck  ${alike}`],
      [`cafe\u0301 ${letter}${letter}`, `café ${alike}${letter}`],
    ] as const) {
      expect([one, other, await areAlike(one, other), await areAlike(other, one)]).toEqual([one, other, true, true]);
    }
  }
  for (const names of WITHIN_SCRIPTS) {
    for (const one of names) {
      for (const other of names) expect([one, other, await areAlike(one, other)]).toEqual([one, other, one === other]);
    }
  }
});

test('indexes find names that look alike', async () => {
  await using service = await shareInProcess();
  const { db } = service.app;
  const undone = new Error('undone');
  const found: Record<string, string[]> = {};
  const work = db.$transaction(async (tx) => {
    const { id } = await tx.organization.create({ data: { subdomain: randomUUID(), name: 'Names' } });
    await tx.$executeRaw`
      INSERT INTO user_account (realm_id, email, full_name)
      SELECT ${id}::int, i || '@example.com', 'Iris ' || i FROM generate_series(1, 2000) AS i`;
    for (const table of ['channel', 'user_group', 'channel_folder', 'profile_field']) {
      const columns = table === 'profile_field' ? ', type, position' : '';
      const values = columns === '' ? '' : ', 1, i';
      await tx.$executeRawUnsafe(
        `INSERT INTO ${table} (realm_id, name${columns}) SELECT ${id}, 'Iris ' || i${values} FROM generate_series(1, 2000) AS i`,
      );
    }
    for (const table of ['user_account', 'channel', 'user_group', 'channel_folder', 'profile_field']) {
      await tx.$executeRawUnsafe(`ANALYZE ${table}`);
      const column = Prisma.raw(table === 'user_account' ? 'full_name' : 'name');
      const [row] = await tx.$queryRaw<unknown[]>`
        EXPLAIN (FORMAT JSON) SELECT 1 FROM ${Prisma.raw(table)}
        WHERE realm_id = ${id} AND id <> 0 AND ${isAlike(column, 'раураl')} LIMIT 1`;
      found[table] = [...JSON.stringify(row).matchAll(/"Index Name":"(\w+)"/g)].map(([, index = '']) => index);
    }
    throw undone;
  });
  await expect(work).rejects.toBe(undone);
  for (const [table, indexes] of Object.entries(found)) {
    const skeletons = [`${table}_by_name_skeleton`, `${table}_by_name_skeleton_in_lower_case`];
    expect(indexes).toEqual([expect.any(String), ...skeletons]);
  }
  expect(Object.keys(found)).toHaveLength(5);
});

test('a name of the longest characters fits into an index', async () => {
  await using service = await shareInProcess();
  const random = Array.from({ length: 100 }, (_, i) => String.fromCodePoint(0x20000 + i * 331)).join('');
  for (const name of ['\uFDFA'.repeat(100), '\uFDFA㍿'.repeat(50), random, 'Ḯ\u0327'.repeat(50)]) {
    const [row] = await service.app.db.$queryRaw<
      { bytes: number }[]
    >`SELECT octet_length(name_skeleton(${name})) AS bytes`;
    expect(row?.bytes).toBeLessThan(2_000);
  }
});

describe('a new name', () => {
  let people: Organization;
  beforeAll(async () => {
    people = await createOrganization();
  });

  const say = (by: Person, topic: string, content = 'text') =>
    by.rest('POST', '/messages', { type: 'channel', to: 'harbour', topic, content });
  const channel = (name: string) =>
    people.owner.rest('POST', '/channels/create', { name, subscribers: [people.owner.id] });

  const channelId = async () => (await people.owner.ok('GET', '/get_stream_id', { stream: 'harbour' })).stream_id;

  /** Functions that send a request which sets the name of an object. There is one for every kind of name that users can set. */
  const NAMED: Readonly<Record<string, (name: string) => Promise<{ status: number; body: Parameters }>>> = {
    'one’s own': (full_name) => people.member.rest('PATCH', '/settings', { full_name }),
    'another user’s': (full_name) => people.owner.rest('PATCH', `/users/${people.guest.id}`, { full_name }),
    'a new bot’s': (full_name) => people.owner.rest('POST', '/bots', { full_name, short_name: `b${Math.random()}` }),
    'a bot’s': (full_name) => people.owner.rest('PATCH', `/bots/${people.bot.id}`, { full_name }),
    'a new channel’s': channel,
    'a new channel’s by subscribing': (name) =>
      people.owner.rest('POST', '/users/me/subscriptions', { subscriptions: [{ name }] }),
    'a new group’s': (name) => people.owner.rest('POST', '/user_groups/create', { name, description: '', members: [] }),
    'a folder’s': (name) => people.owner.rest('POST', '/channel_folders/create', { name, description: '' }),
    'a profile field’s': (name) => people.owner.rest('POST', '/realm/profile_fields', { name, field_type: 1 }),
    'a topic’s': (topic) => say(people.owner, topic),
    'the organization’s': (name) => people.owner.rest('PATCH', '/realm', { name }),
    'a scheduled message’s topic': async (topic) => {
      const later = Math.round(Date.now() / 1000) + 3600;
      const { scheduled_message_id: id } = await people.owner.ok('POST', '/scheduled_messages', {
        ...{
          type: 'channel',
          to: await channelId(),
          topic: 'tide',
          content: 'text',
          scheduled_delivery_timestamp: later,
        },
      });
      return await people.owner.rest('PATCH', `/scheduled_messages/${id}`, { topic });
    },
  };

  test.for(Object.keys(NAMED))('of any kind cannot contain invisible characters: %s', async (kind) => {
    if (kind.endsWith('topic’s') || kind.endsWith('topic')) await channel('harbour');
    for (const name of ['ad\u200Bmin', 'abc\u202Ecba', 'Z\u0301\u0302\u0303\u0304\u0305']) {
      const { status, body } = (await NAMED[kind]?.(name)) ?? { status: 0, body: {} };
      expect([kind, name, status, body['code']]).toEqual([kind, name, 400, 'BAD_REQUEST']);
    }
    const { status } = (await NAMED[kind]?.(`می\u200Cخواهم ${kind}`)) ?? { status: 0 };
    expect([kind, status]).toEqual([kind, 200]);
  });

  test('in another script that looks like a taken name is refused', async () => {
    const group = (name: string) =>
      people.owner.rest('POST', '/user_groups/create', { name, description: '', members: [] });
    const bot = (full_name: string) =>
      people.owner.rest('POST', '/bots', { full_name, short_name: `b${Math.random()}` });
    for (const create of [channel, group, bot]) {
      for (const [first, refused] of [
        ['paypal', ['раураl', 'PАYPAL', 'ｐａｙｐａｌ', 'pαypal']],
        ['оса', ['oca']],
        ['❤', ['❤\uFE0F']],
        ['CAB', ['САВ']],
        ['ΑΝΝΑ', ['αννα', 'avva', 'ANNA']],
        // Letters with diacritics, as one code point or as several.
        ['zoë', ['zoё', 'ZOЁ', 'zoe\u0308']],
        ['café', ['cafе́', 'cafe\u0301']],
        ['wörk', ['wӧrk']],
        ['灯台', ['灯台\u{E0101}', '灯\uFE00台']],
        ['ᠠᠡ', ['ᠠ\u180Bᠡ']],
        ['deck plan', ['deck  plan', 'deck\u00A0plan', 'deсk\u2003 plan']],
      ] as const) {
        expect([first, (await create(first)).status]).toEqual([first, 200]);
        for (const name of refused) expect([name, (await create(name)).status >= 400]).toEqual([name, true]);
      }
      // Two letters of the same script are treated as different, even if they look similar.
      for (const name of [
        'barn',
        'bam',
        'bill',
        'biII',
        'O0',
        'OO',
        'сосна',
        'cocna',
        'payроll',
        'deckplan',
        'zoe',
        'zoé',
        'тест',
        'tect',
      ]) {
        expect([name, (await create(name)).status]).toEqual([name, 200]);
      }
    }
    expect((await channel('раураl')).body.code).toBe('CHANNEL_ALREADY_EXISTS');
  });

  const KINDS = [
    ['a new channel’s', 'channel'],
    ['a new group’s', 'group'],
    ['a new bot’s', 'bot'],
    ['a folder’s', 'folder'],
    ['a profile field’s', 'field'],
  ] as const;
  /**
   * Returns the share of the items that is tested for a kind of name: every fifth item, with a different start for each kind.
   * All kinds use the comparison that the tests above check for every item.
   */
  const shareOf = <T>(all: readonly T[], kind: string) =>
    all.filter((_, i) => i % KINDS.length === KINDS.findIndex(([name]) => name === kind));

  test.for(KINDS)('with one letter of another script is refused: %s', async ([kind, word]) => {
    const create = async (name: string) => (await NAMED[kind]?.(name))?.status ?? 0;
    for (const [i, [letter, alike]] of shareOf(LOOK_ALIKES, kind).entries()) {
      const [taken, refused] = [`${word} ${letter}ew ${i}`, `${word} ${alike}ew ${i}`];
      expect([taken, await create(taken)]).toEqual([taken, 200]);
      expect([refused, await create(refused)]).toEqual([refused, word === 'channel' ? 409 : 400]);
    }
    for (const name of shareOf(WITHIN_SCRIPTS, kind).flat()) {
      expect([name, await create(`${word} ${name}`)]).toEqual([name, 200]);
    }
  });

  test('a message of invisible characters is empty', async () => {
    for (const content of ['\u200B', '\uFFFC', '\u{13441}', '\u2800\u2800', '\u3164', '\u202E\n\u200D']) {
      const { body } = await say(people.owner, 'words', content);
      expect(body).toMatchObject({ code: 'BAD_REQUEST', msg: 'Message must not be empty' });
    }
    expect((await say(people.owner, 'words', '❤\uFE0F')).status).toBe(200);
  });

  test('a message that renders to invisible characters is empty', async () => {
    const empty = { code: 'BAD_REQUEST', msg: 'Message must not be empty' };
    const { body: sent } = await say(people.owner, 'words', 'visible');
    for (const content of [
      ...['&nbsp;', '&#8203;', '&zwj;', '&shy;', '&lrm;', '&#x2800;', '`\u200b`', '**\u200b**', '> \u200b', '- \u2800'],
      ...['1. \u200b', '~~\u200b~~', '$$ $$', '\u{1D159}', '# \u200b', '```quote\n&nbsp;\n```', '|\u200b|\n|-|'],
    ]) {
      expect((await say(people.owner, 'words', content)).body, content).toMatchObject(empty);
      const edit = await people.owner.rest('PATCH', `/messages/${sent.id}`, { content });
      expect(edit.body, content).toMatchObject(empty);
    }
    const later = { type: 'direct', to: [people.owner.id], content: '**\u200b**', scheduled_delivery_timestamp: 4e9 };
    expect((await people.owner.rest('POST', '/scheduled_messages', later)).body).toMatchObject(empty);
    expect((await people.owner.rest('POST', '/messages/render', { content: '&nbsp;' })).body).toMatchObject(empty);
    for (const content of ['---', '👍', ':heart:', '[\u200b](http://a.b)', '&amp;nbsp;', '`.`', '$$x$$', '&lt;', '.']) {
      expect((await say(people.owner, 'words', content)).status, content).toBe(200);
    }
  });
});
