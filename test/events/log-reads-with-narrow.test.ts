import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mayPass } from '../../src/events/define.ts';
import { matchesQueue } from '../../src/events/live-readers.ts';
import { readLogAfter, readLogFor } from '../../src/events/log-reads.ts';
import type { StoredEvent } from '../../src/events/stored.ts';
import { NO_CAPABILITIES, type QueueOptions } from '../../src/events/view.ts';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { sameInLowerCase } from '../../src/platform/db/letter-case.ts';
import { readRows } from '../../src/platform/db/rows.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

const { DATABASE_URL = '' } = process.env;
type Narrow = QueueOptions['narrow'];

const CHANNELS = ['general', 'Ünïcode', 'Σίσυφος', 'a.b*c [d]'];
const TOPICS = [
  ...[
    '',
    'Wanted',
    'wanted!',
    'un wanted',
    'w.nted',
    '✔ wanted',
    '✔wanted',
    'KELVIN',
    '\u212Aelvin',
    'ΣΊΣΥΦΟΣ',
    'σίσυφος',
  ],
  ...[
    'σίσυφοσ',
    'İstanbul',
    'i\u0307stanbul',
    'istanbul',
    'ıstanbul',
    'Straße',
    'STRASSE',
    'ЖУК',
    'жук',
    '😀 Ok',
    '(a|b)$',
    '\\d',
  ],
  ...['100%', 'a_b', '[x]', '^a', 'Ǆ', 'ǅ', '𐐀', 'Ԣ', 'é', 'e\u0301', '(no topic) ', "it's"],
];
const flip = (text: string) =>
  [...text].map((one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase())).join('');

const stack = new AsyncDisposableStack();
let server: InProcess;
let people: Organization;
/** All events in the event log of the test's organization. */
let events: readonly StoredEvent[];
/** Email addresses and placeholder addresses of the organization's users. A narrow can identify a sender by each of them. */
let senders: string[];

beforeAll(async () => {
  const env =
    DATABASE_URL === ''
      ? {}
      : {
          DATABASE_URL: stack.use(await createMigratedDatabase(DATABASE_URL)).url,
          SECRET_KEY: randomBytes(32).toString('hex'),
        };
  server = stack.use(await startInProcess({ env }));
  people = await createOrganization({}, { on: server });
  await fillLog(people);
  ({ events } = await readLogAfter(server.app.db, people.organization.id, {
    after: 0,
    limit: 10_000,
    maxBytes: Number.MAX_SAFE_INTEGER,
  }));
  expect(events.length).toBeLessThan(10_000);
});
afterAll(() => stack.disposeAsync());

/** Creates events that the tested narrows match, and other events between them. */
async function fillLog({ organization, owner, member, guest, bot }: Organization): Promise<void> {
  await guest.ok('PATCH', '/settings', { email_address_visibility: 5 });
  senders = [owner, member, guest, bot].flatMap(({ email, id }) => [email, `user${id}@users.invalid`]);
  const say = async (by: Person, to: number, topic: string, content: string) =>
    (await by.ok('POST', '/messages', { type: 'channel', to, topic, content })).id as number;
  for (const [i, name] of CHANNELS.entries()) {
    const all = [owner.id, member.id, guest.id, bot.id];
    const { id } = await owner.ok('POST', '/channels/create', { name, subscribers: all });
    if (i === 0) for (const topic of TOPICS) await say(owner, id, topic, 'text');
    for (const by of [owner, member, guest, bot]) await say(by, id, 'talk', `hello @**${member.name}**`);
    const moved = await say(member, id, 'wanted', 'to be moved');
    await member.ok('PATCH', `/messages/${moved}`, { content: 'was edited' });
    await member.ok('PATCH', `/messages/${moved}`, { topic: 'elsewhere' });
    await owner.ok('POST', `/messages/${moved}/reactions`, { emoji_name: 'smile' });
    await owner.ok('POST', '/messages/flags', { messages: [moved], op: 'add', flag: 'starred' });
    await owner.ok('PATCH', `/messages/${moved}`, { topic: '✔ elsewhere' });
  }
  for (const by of [owner, member, bot])
    await by.ok('POST', '/messages', { type: 'direct', to: [guest.id, member.id], content: '@**member** hello' });
  await member.ok('POST', '/users/me/status', { status_text: 'between' });
  await owner.ok('PATCH', '/realm', { empty_topic_display_name: 'Talk of All' });
  const { stream_id } = await owner.ok('GET', '/get_stream_id', { stream: 'general' });
  await say(owner, stream_id, '', 'under another name');
  // Inserts events that the current version cannot create: messages without fields that were added later, messages whose topic
  // was not normalized ("(no topic)", a line break), and a message with an unknown `op`.
  const { db } = server.app;
  await db.$executeRaw`
    INSERT INTO event (realm_id, id, type, op, payload, max_role, channel_ids, user_ids, except_user_ids, public_channel_id)
    SELECT realm_id, 900000 + row_number() OVER (), type, changed.op, changed.payload, max_role, channel_ids, user_ids,
           except_user_ids, public_channel_id
    FROM event, LATERAL (VALUES
      (op, payload - 'emptyTopicName'), (op, payload - 'channel'),
      (op, jsonb_set(payload, '{topic}', '"(no topic)"')), (op, jsonb_set(payload, '{topic}', '"Wan\\nted"')),
      (op, payload #- '{sender,botType}'), ('later', payload - 'sender')
    ) AS changed (op, payload)
    WHERE realm_id = ${organization.id} AND type = 'message'`;
}

const wantedBy = (narrow: Narrow, userId: number) => {
  const options: QueueOptions = {
    ...{ eventTypes: null, allPublicChannels: true, narrow, applyMarkdown: true, clientGravatar: false },
    ...{ includeSubscribers: 'false', slimPresence: true, capabilities: NO_CAPABILITIES },
  };
  return events.filter((event) => matchesQueue(options, event, userId)).map(({ id }) => id);
};

async function letThrough(narrow: Narrow, userId: number): Promise<number[]> {
  const conditions = [Prisma.sql`realm_id = ${people.organization.id}`, ...mayPass(narrow, userId)];
  const rows = await readRows<{ id: bigint }>(
    server.app.db,
    Prisma.sql`SELECT id FROM event WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY id`,
  );
  return rows.map(({ id }) => Number(id));
}

const termsOf = (operator: string, operands: readonly string[]): Narrow[] =>
  [...new Set(operands)].map((operand) => [[operator, operand]]);
const inEveryCase = (texts: readonly string[]) =>
  texts.flatMap((text) => [text, text.toLowerCase(), text.toUpperCase(), flip(text), `${text} `]);

describe('the events that the database skips for a narrow', () => {
  test.for<[string, () => Narrow[]]>([
    ['a channel', () => ['channel', 'stream'].flatMap((by) => termsOf(by, inEveryCase(CHANNELS)))],
    ['a topic', () => termsOf('topic', inEveryCase(TOPICS))],
    ['the empty topic', () => termsOf('topic', inEveryCase(['', '(no topic)', 'general chat', 'Talk of All']))],
    [
      'a direct conversation and the like',
      () =>
        termsOf('is', ['dm', 'private', 'starred', 'mentioned', 'alerted', 'resolved', 'DM', 'followed', 'unknown']),
    ],
    [
      'several',
      () => [
        [
          ['channel', 'GENERAL'],
          ['topic', 'wanted'],
          ['sender', people.owner.email.toUpperCase()],
        ],
        [
          ['channel', 'general'],
          ['is', 'dm'],
        ],
        [
          ['is', 'mentioned'],
          ['is', 'unread'],
          ['is', 'dm'],
        ],
        [],
      ],
    ],
  ])('by %s are exactly those that no queue delivers', async ([, narrows]) => {
    for (const narrow of narrows())
      for (const { id } of [people.member, people.guest]) {
        const wanted = wantedBy(narrow, id);
        const isTold = narrow.every(([, operand]) => operand !== 'unread' && !/[σςΣ]/.test(operand));
        const found = await letThrough(narrow, id);
        expect({ narrow, missing: wanted.filter((one) => !found.includes(one)) }).toEqual({ narrow, missing: [] });
        if (isTold) expect({ narrow, found }).toEqual({ narrow, found: wanted });
      }
  });

  test('by sender include none that a queue delivers; for real addresses fewer are skipped', async () => {
    for (const narrow of termsOf('sender', [...inEveryCase(senders), 'user0@users.invalid', 'nobody@example.com'])) {
      const wanted = wantedBy(narrow, people.member.id);
      const found = await letThrough(narrow, people.member.id);
      expect({ narrow, missing: wanted.filter((one) => !found.includes(one)) }).toEqual({ narrow, missing: [] });
    }
    const other = await letThrough([['sender', 'nobody@example.com']], people.member.id);
    expect(other.length).toBeLessThan(events.length / 2);
  });

  test('are omitted from reads for a user, by every way of receiving them', async () => {
    const { db } = server.app;
    const read = async (userId: number, narrow: Narrow) => {
      const stretches = CHANNELS.map((_, i) => ({ channelId: i + 1, began: 0, ended: null }));
      const user = { userId, stretches, allPublicChannels: true, types: null, narrow };
      const page = { after: 0, through: 10_000_000, limit: 10_000, maxBytes: Number.MAX_SAFE_INTEGER };
      return (await readLogFor(db, people.organization.id, user, page)).events.map(({ id }) => id);
    };
    for (const [narrow] of [...termsOf('topic', ['WANTED', '']), ...termsOf('is', ['dm'])].map(
      (one) => [one] as const,
    )) {
      const { id } = people.guest;
      const wanted = new Set(wantedBy(narrow, id));
      const all = await read(id, []);
      const found = await read(id, narrow);
      expect(found).toEqual(all.filter((one) => wanted.has(one)));
      expect(found.length).toBeLessThan(all.length);
    }
  });
});

test('texts match if they are equal in lower case, for every letter, and not otherwise', async () => {
  const texts: string[] = [];
  for (let code = 1; code <= 0x10_ff_ff; code++) {
    if (code >= 0xd8_00 && code <= 0xdf_ff) continue;
    const letter = String.fromCodePoint(code);
    if (letter.toLowerCase() !== letter || letter.toUpperCase() !== letter || code < 0x250) texts.push(letter);
  }
  const pairs = texts.flatMap((text) =>
    [text, text.toLowerCase(), text.toUpperCase(), flip(text)].map((other) => ({ text, other })),
  );
  const rows = await readRows<{ is_same: boolean }>(
    server.app.db,
    Prisma.sql`
    SELECT text ~ pattern AS is_same
    FROM unnest(${pairs.map(({ text }) => text)}::text[], ${pairs.map(({ other }) => `^${sameInLowerCase(other)}$`)}::text[])
      WITH ORDINALITY AS pair (text, pattern, place) ORDER BY place`,
  );
  const isSigma = (text: string) => /^[σςΣ]$/.test(text);
  const wrong = pairs.filter(
    ({ text, other }, i) =>
      rows[i]?.is_same !== (text.toLowerCase() === other.toLowerCase() || (isSigma(text) && isSigma(other))),
  );
  expect(rows.length).toBe(pairs.length);
  expect(wrong).toEqual([]);
});
