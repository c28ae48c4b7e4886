import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isSameTopic, topicKey } from '../../src/contract/topic-key.ts';
import { countMessages } from '../../src/messages/flags/count-worker.ts';
import { countUnreadInTopics, countUnreadOfEach } from '../../src/messages/flags/unread-counts.ts';
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { type Migrated, migratedDatabase } from '../helpers/migrated.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say, toTopic } from '../helpers/talk.ts';

// Tests the identity of topics: their key, all comparisons of topics, and the migration that merges topics whose keys are
// equal.

const { DATABASE_URL = '' } = process.env;
const [ACUTE, DOT, RING] = ['\u0301', '\u0307', '\u030a'];

/** Several spellings of the same topic, by the respect in which they differ. */
const ONE_TOPIC: Readonly<Record<string, readonly [string, string, ...string[]]>> = {
  'letters with and without case': ['Keel', 'KEEL', 'keel'],
  'a sigma at the end of a word': ['ΠΛΟΥΣ', 'πλους', 'Πλους', 'πλουσ'],
  'composed and decomposed letters': ['Café', `cafe${ACUTE}`, 'CAFÉ', `CAFE${ACUTE}`],
  'a capital sharp s': ['Straẞe', 'straße'],
  'the Kelvin sign': ['\u212aelvin', 'kelvin'],
  'the Angstrom sign': ['\u212b', '\u00c5', `A${RING}`, 'å'],
  'Cherokee letters': ['Ꮳ\u13b3\u13a9', 'ꮳ\uab83\uab79'],
  'Georgian capitals': ['ᲗᲔᲛᲐ', 'თემა'],
  'titlecase digraphs': ['Ǆ', 'ǅ', 'ǆ'],
  'the micro sign': ['µ-controller', 'μ-controller', 'Μ-controller'],
  'a dotted capital I': ['İzmir', `I${DOT}zmir`, 'izmir', 'IZMIR'],
  'letters without a composed capital': ['ǰump', 'J\u030cump'],
  'letters of higher planes': ['𐐔𐐯𐑅', '𐐼𐐯𐑅'],
};

/**
 * Names in `ONE_TOPIC` with which the features of topics are tested. All features compare keys, and the tests of the key cover
 * every spelling.
 */
const SAMPLES = ['a sigma at the end of a word', 'composed and decomposed letters', 'letters of higher planes'].map(
  (name) => [name, ONE_TOPIC[name] ?? ['', '']] as const,
);

/** Pairs of names that belong to different topics. */
const DIFFERENT: readonly (readonly [string, string])[] = [
  ['ı', 'i'],
  ['straße', 'strasse'],
  ['ﬁn', 'fin'],
  ['①', '1'],
  ['ｗide', 'wide'],
  ['❤', '❤\ufe0f'],
  ['resume', `resume${ACUTE}`],
  ['i', `i${DOT}`],
  ['a', 'а'],
];

describe('the key', () => {
  test.for(Object.entries(ONE_TOPIC))('is the same for %s', ([, spellings]) => {
    expect(new Set(spellings.map(topicKey)).size).toBe(1);
    for (const one of spellings) expect(isSameTopic(one, spellings[0])).toBe(true);
  });

  test.for(DIFFERENT)('differs for %s and %s', ([one, other]) => {
    expect(isSameTopic(one, other)).toBe(false);
  });

  test('is the simple case folding of Unicode, and is stable', () => {
    const differing: string[] = [];
    for (const letter of everyCharacter()) {
      const key = topicKey(letter);
      const isFolded = new RegExp(`^\\u{${letter.normalize('NFC').codePointAt(0)?.toString(16)}}`, 'iu').test(key);
      if (!isFolded || topicKey(key) !== key) differing.push(letter);
    }
    expect(differing).toEqual(['İ']);
  });
});

/** Yields every character of the Unicode planes that contain letters. */
function* everyCharacter(): Generator<string> {
  for (let code = 1; code < 0x3_23_b0; code++) {
    if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code);
  }
}

const LOCALES =
  DATABASE_URL === ''
    ? ['']
    : ["LC_COLLATE 'C' LC_CTYPE 'C'", "LC_COLLATE 'C.UTF-8' LC_CTYPE 'C.UTF-8'", "LOCALE_PROVIDER icu ICU_LOCALE 'tr'"];

describe.for(LOCALES)('a database %s', (locale) => {
  let at: Migrated;
  beforeAll(async () => {
    at = await migratedDatabase(locale === '' ? '' : `TEMPLATE template0 ENCODING 'UTF8' ${locale}`);
  });
  afterAll(() => at[Symbol.asyncDispose]());

  test('computes the same key as the service for every character', async () => {
    const rows = await at.database.db.$queryRaw<{ letter: string; key: string }[]>`
      SELECT letter, topic_key(letter) AS key FROM (
        SELECT chr(code) AS letter FROM generate_series(1, ${0x3_23_af}::int) AS code
        WHERE code NOT BETWEEN ${0xd800}::int AND ${0xdfff}::int) AS every WHERE topic_key(letter) <> letter`;
    const expected = [...everyCharacter()].map((letter) => [letter, topicKey(letter)]);
    expect(rows.map(({ letter, key }) => [letter, key])).toEqual(expected.filter(([letter, key]) => letter !== key));
  });

  test('computes the same key as the service for names', async () => {
    const marks = [ACUTE, DOT, RING, '\u030c', '\u0323', '\u0345', '\u0328'];
    const cased = [...everyCharacter()].filter(
      (letter) => topicKey(letter) !== letter || letter !== letter.toUpperCase(),
    );
    const names = [
      ...Object.values(ONE_TOPIC).flat(),
      ...DIFFERENT.flat(),
      ...cased.flatMap((letter) =>
        marks.flatMap((mark, i) => [letter + mark, `X${letter}${marks[i - 1] ?? ''}${mark}`]),
      ),
      ...['', ' ', '✔ ΟΔΟΣ', `${cased.slice(0, 60).join('')}`],
    ];
    const rows = await at.database.db.$queryRaw<{ key: string }[]>`
      SELECT topic_key(name) AS key FROM unnest(${names}::text[]) WITH ORDINALITY AS n(name, place) ORDER BY place`;
    expect(names.filter((name, i) => rows[i]?.key !== topicKey(name))).toEqual([]);
    expect(await at.database.db.$queryRaw`SELECT topic_key(NULL) AS key`).toEqual([{ key: null }]);
  });
});

describe('spellings of one topic', () => {
  let service: InProcess;
  let people: Awaited<ReturnType<typeof createOrganization<{ ann: 'member' }>>>;
  let made = 0;
  beforeAll(async () => {
    service = await startOnDatabaseOfRun();
    people = await createOrganization({ ann: 'member' }, { on: service });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const channel = () => channelOf(people.owner, `channel ${++made}`, [people.owner, people.ann]);
  const topicsOf = async (person: Person, id: number): Promise<Json[]> =>
    (await person.ok('GET', `/users/me/${id}/topics`, {})).topics;
  const found = async (person: Person, id: number, topic: string): Promise<number[]> => {
    const narrow = [
      { operator: 'channel', operand: id },
      { operator: 'topic', operand: topic },
    ];
    const { messages } = await person.ok('GET', '/messages', {
      anchor: 'oldest',
      num_before: 0,
      num_after: 50,
      narrow,
    });
    return messages.map((message: Json) => message.id);
  };
  const topicNode = async (person: Person, id: string): Promise<Json> =>
    (
      await person.query(
        `query ($id: ID!) { node(id: $id) { ... on Topic { id name unreadCount viewerVisibility firstUnread { databaseId }
          messages(first: 20) { nodes { databaseId } } } } }`,
        { id },
      )
    ).node;
  const idOf = (id: number, key: string) => globalId('Topic', `${id}:${key}`);

  test.for(SAMPLES)('%s: are read, counted and marked as one', async ([, spellings]) => {
    const { owner, ann } = people;
    const to = await channel();
    const other = await say(owner, to, 'another');
    const ids: number[] = [];
    for (const spelling of [...spellings, ...spellings]) ids.push(await say(owner, to, spelling));
    const last = spellings.at(-1);
    expect(await topicsOf(ann, to)).toEqual([
      { name: last, max_id: ids.at(-1) },
      { name: 'another', max_id: other },
    ]);
    for (const spelling of spellings) expect(await found(ann, to, spelling)).toEqual(ids);
    // About half of the messages are included in the stored counts.
    await service.app.db.$executeRaw`SELECT tally_messages(${people.organization.id}::int, 5)`;
    const key = topicKey(spellings[0]);
    expect(await topicNode(ann, idOf(to, key))).toEqual({
      ...{ id: idOf(to, key), name: last, unreadCount: ids.length, viewerVisibility: 'INHERIT' },
      ...{
        firstUnread: { databaseId: ids[0] },
        messages: { nodes: ids.map((databaseId) => ({ databaseId })) },
      },
    });
    await countMessages(service.app);
    expect((await topicNode(ann, idOf(to, key))).unreadCount).toBe(ids.length);
    const { unread_msgs } = await ann.register({ fetch_event_types: ['message', 'update_message_flags'] });
    const groups = unread_msgs.streams.filter(({ stream_id }: Json) => stream_id === to);
    expect(groups.map(({ unread_message_ids }: Json) => unread_message_ids)).toEqual(
      expect.arrayContaining([ids, [other]]),
    );
    expect(groups).toHaveLength(2);
    await ann.ok('POST', '/mark_topic_as_read', { stream_id: to, topic_name: spellings[0] });
    expect((await topicNode(ann, idOf(to, key))).unreadCount).toBe(0);
    const later = await say(owner, to, spellings[1]);
    expect(await topicNode(ann, idOf(to, key))).toMatchObject({ unreadCount: 1, firstUnread: { databaseId: later } });
  });

  test.for(SAMPLES)('%s: have one policy', async ([, spellings]) => {
    const { owner, ann } = people;
    const to = await channel();
    await say(owner, to, spellings[0]);
    const state = async (): Promise<Json[]> => {
      const { user_topics } = await ann.register({ fetch_event_types: ['user_topic'] });
      return user_topics.filter(({ stream_id }: Json) => stream_id === to);
    };
    for (const [i, topic] of spellings.entries()) {
      await ann.ok('POST', '/user_topics', { stream_id: to, topic, visibility_policy: 1 + (i % 3) });
      expect(await state()).toMatchObject([{ topic_name: topic, visibility_policy: 1 + (i % 3) }]);
      expect((await topicNode(ann, idOf(to, topicKey(topic)))).viewerVisibility).toBe(
        ['MUTED', 'UNMUTED', 'FOLLOWED'][i % 3],
      );
    }
    await ann.ok('POST', '/user_topics', { stream_id: to, topic: spellings[0], visibility_policy: 1 });
    const mentions = await say(owner, to, spellings[1], '@**all** hello');
    const narrow = [
      { operator: 'channel', operand: to },
      { operator: 'is', operand: 'muted' },
    ];
    const { messages } = await ann.ok('GET', '/messages', { anchor: 'newest', num_before: 5, num_after: 0, narrow });
    expect(messages.map(({ id }: Json) => id)).toContain(mentions);
    await ann.ok('POST', '/user_topics', { stream_id: to, topic: spellings.at(-1), visibility_policy: 0 });
    expect(await state()).toEqual([]);
  });

  test.for(SAMPLES)('%s: are renamed, moved and deleted as one', async ([, spellings]) => {
    const { owner, ann } = people;
    const [to, elsewhere] = [await channel(), await channel()];
    const ids: number[] = [];
    for (const spelling of spellings) ids.push(await say(ann, to, spelling));
    const rename = (topic: string, more: Json = {}) =>
      owner.ok('PATCH', `/messages/${ids[0]}`, {
        ...{ topic, propagate_mode: 'change_all', send_notification_to_old_thread: true },
        ...{ send_notification_to_new_thread: true, ...more },
      });
    // Changing only the spelling of a topic is not a move, so no notice is sent.
    for (const spelling of spellings.slice(1)) await rename(spelling);
    expect(await found(ann, to, spellings[0])).toEqual(ids);
    expect(await topicsOf(ann, to)).toEqual([{ name: spellings.at(-1), max_id: ids.at(-1) }]);
    await rename('between', { send_notification_to_old_thread: false, send_notification_to_new_thread: false });
    expect(await found(ann, to, spellings[0])).toEqual([]);
    await rename(spellings[1], { stream_id: elsewhere, send_notification_to_old_thread: false });
    expect((await found(ann, elsewhere, spellings[0])).slice(0, ids.length)).toEqual(ids);
    await owner.ok('POST', `/streams/${elsewhere}/delete_topic`, { topic_name: spellings[0] });
    expect(await topicsOf(ann, elsewhere)).toEqual([]);
  });

  test.for(SAMPLES)('%s: match a queue with a narrow to the topic', async ([, spellings]) => {
    const { owner, ann } = people;
    const to = await channel();
    const heard = await ann.receiving({
      event_types: ['message'],
      narrow: [['topic', spellings[0]]],
      all_public_streams: true,
    });
    const ids: number[] = [];
    for (const spelling of [...spellings, 'another']) ids.push(await say(owner, to, spelling));
    expect((await heard()).map(({ message }) => message.id)).toEqual(ids.slice(0, -1));
  });

  test('the policy that sending sets applies to all spellings, also for concurrent messages', {
    timeout: 60_000,
  }, async () => {
    const { ann } = people;
    await ann.ok('PATCH', '/settings', { automatically_follow_topics_policy: 3 });
    const to = await channel();
    await Promise.all(['ΠΛΟΥΣ', 'πλους', 'Πλους', 'πλουσ'].map((topic) => say(ann, to, topic)));
    const rows = await service.app.db.userTopic.findMany({ where: { channelId: to, userId: ann.id } });
    expect(rows).toMatchObject([{ policy: 3 }]);
  });

  test('links to a topic, and its participants, match by any spelling', async () => {
    const { owner, ann } = people;
    const name = `linked ${++made}`;
    const to = await channelOf(owner, name, [owner, ann]);
    const id = await say(ann, to, 'ΠΛΟΥΣ');
    await say(owner, to, 'other', `#**${name}>πλους**`);
    const { messages } = await owner.ok('GET', '/messages', {
      ...{ anchor: 'newest', num_before: 1, num_after: 0, narrow: [{ operator: 'channel', operand: to }] },
    });
    expect(messages[0].content).toContain(`/with/${id}`);
    const heard = await ann.receiving({ event_types: ['message'] });
    await say(owner, to, 'Πλους', '@**topic** look');
    expect((await heard())[0].flags).toContain('topic_wildcard_mentioned');
  });

  test('drafts and searches match by any spelling', async () => {
    const { owner, ann } = people;
    const to = await channel();
    const id = await say(owner, to, 'ΠΛΟΥΣ', 'the mast');
    await ann.mutate(
      'createDrafts',
      { drafts: [{ to: toTopic(to, 'πλους'), content: 'later' }] },
      'drafts { topicName topic { id name } }',
    );
    const { drafts } = await ann.query('{ drafts { nodes { topicName topic { id name } } } }');
    expect(drafts.nodes[0]).toEqual({ topicName: 'πλους', topic: { id: idOf(to, 'πλουσ'), name: 'ΠΛΟΥΣ' } });
    const narrow = [
      { operator: 'topic', operand: 'Πλουσ' },
      { operator: 'search', operand: 'mast' },
    ];
    const reply = await ann.ok('GET', '/messages', { anchor: 'newest', num_before: 5, num_after: 0, narrow });
    expect(reply.messages.map((message: Json) => message.id)).toContain(id);
  });

  test.for<readonly [name: string, old: string]>([
    ['ΠΛΟΥΣ', 'πλους'],
    ['ΠΛΟΥΣ', 'πλουσ'],
    [`Cafe${ACUTE}`, `cafe${ACUTE}`],
    ['Straẞe', 'straße'],
    ['ſet', 'ſet'],
    ['µ', 'µ'],
  ])('the id of topic %s from a previous version is still valid', { timeout: 60_000 }, async ([name, old]) => {
    const { owner, ann } = people;
    const to = await channel();
    const id = await say(owner, to, name);
    const node = await topicNode(ann, idOf(to, old));
    expect(node).toMatchObject({ id: idOf(to, topicKey(name)), name, messages: { nodes: [{ databaseId: id }] } });
    // Before the migration, a name with capitals was not valid in an id.
    if (name !== old) expect(await topicNode(ann, idOf(to, name))).toBeNull();
  });

  test.for(DIFFERENT)('%s and %s are two topics', async ([one, other]) => {
    const { owner, ann } = people;
    const to = await channel();
    const ids = [await say(owner, to, one), await say(owner, to, other)];
    expect((await topicsOf(ann, to)).map(({ name }) => name)).toEqual([other, one]);
    expect([await found(ann, to, one), await found(ann, to, other)]).toEqual(ids.map((id) => [id]));
    for (const [i, topic] of [one, other].entries()) {
      await ann.ok('POST', '/user_topics', { stream_id: to, topic, visibility_policy: 1 + i });
    }
    expect(await service.app.db.userTopic.count({ where: { channelId: to, userId: ann.id } })).toBe(2);
  });
});

const UPGRADE = '20261127180000_topic_identity';

describe('the upgrade', () => {
  let at: Migrated;
  beforeAll(async () => {
    at = await migratedDatabase();
  });
  afterAll(() => at[Symbol.asyncDispose]());

  test('merges topics that differed before, with their policies and counts', async () => {
    const { config, database } = at;
    const { db } = database;
    await database.runScript(`
      CREATE SCHEMA kept; ALTER TABLE _prisma_migrations SET SCHEMA kept; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
      ALTER TABLE kept._prisma_migrations SET SCHEMA public; DROP SCHEMA kept;
      DELETE FROM _prisma_migrations WHERE migration_name >= '${UPGRADE}'`);
    for (const { name, sql } of readMigrations()) if (name < UPGRADE) await database.runScript(sql);
    await database.runScript(`
      INSERT INTO realm (subdomain, name) VALUES ('one', 'One');
      INSERT INTO event_counter (realm_id) SELECT id FROM realm;
      INSERT INTO user_account (realm_id, email, full_name)
        SELECT r.id, p.name || '@example.com', p.name FROM realm r, unnest('{ann,bob}'::text[]) AS p(name);
      INSERT INTO channel (realm_id, name) SELECT id, 'general' FROM realm;
      INSERT INTO subscription (realm_id, user_id, channel_id, color)
        SELECT u.realm_id, u.id, c.id, '#ffffff' FROM user_account u JOIN channel c ON c.realm_id = u.realm_id;
      INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id, began_message_id)
        SELECT realm_id, user_id, channel_id, 0, 0 FROM subscription`);
    const [{ realm, channel, ann, bob } = { realm: 0, channel: 0, ann: 0, bob: 0 }] = await db.$queryRaw<
      { realm: number; channel: number; ann: number; bob: number }[]
    >`SELECT c.realm_id AS realm, c.id AS channel, a.id AS ann, b.id AS bob
      FROM channel c JOIN user_account a ON a.full_name = 'ann' JOIN user_account b ON b.full_name = 'bob'`;
    const names = ['ΠΛΟΥΣ', 'πλους', 'Πλους', 'Café', `Cafe${ACUTE}`, 'Keel', 'keel', 'I', 'ı', 'ÄHRE', 'ähre'];
    await db.$executeRaw`
      INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content,
                           client_name, sent_at, sent_event_id, send_token, read_by_sender)
      SELECT ${realm}, nextval('message_id_seq'), ${bob}, ${channel}, ${channel}, name, 'x', 'x', 'test', now(), 0, i, true
      FROM generate_series(1, 30) AS i, unnest(${names}::text[]) AS name`;
    // The stored counts include all messages but the last ones.
    await db.$executeRaw`SELECT tally_messages(${realm}::int, 300)`;
    await db.$executeRaw`
      INSERT INTO read_mark (realm_id, user_id, recipient_id, read_through)
      SELECT ${realm}, ${ann}, ${channel} * 2, id FROM message ORDER BY id OFFSET 100 LIMIT 1`;
    await db.$executeRaw`
      INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
      SELECT ${realm}, ${ann}, ${channel}, p.topic, p.policy, now() - p.days * interval '1 day'
      FROM (VALUES ('πλους', 1, 2), ('ΠΛΟΥΣ', 3, 1), ('Café', 1, 5), (${`cafe${ACUTE}`}, 2, 6), ('Keel', 2, 7)) AS p(topic, policy, days)`;
    const brute = async (topic: string) => {
      const rows = await db.$queryRaw<{ topic: string }[]>`
        SELECT topic FROM message WHERE id > (SELECT read_through FROM read_mark)`;
      return rows.filter((row) => isSameTopic(row.topic, topic)).length;
    };
    const unread = (topic: string) =>
      countUnreadInTopics(db, realm, [{ userId: ann, channelId: channel, conversationId: null, topic }]);

    const later = readMigrations().flatMap(({ name }) => (name >= UPGRADE ? [name] : []));
    expect(await migrate(config, database)).toEqual(later);

    const policies = await db.userTopic.findMany({ where: { userId: ann }, orderBy: { topic: 'asc' } });
    expect(new Map(policies.map(({ topic, policy }) => [topic, policy]))).toEqual(
      new Map([
        ['Café', 1],
        ['Keel', 2],
        ['ΠΛΟΥΣ', 3],
      ]),
    );
    for (const name of names) expect(await unread(name), name).toEqual([await brute(name)]);
    const all = await countUnreadOfEach(db, realm, [ann]);
    const counted = (isMuted: boolean) =>
      all.get(ann)?.flatMap((row) => (row.isMuted === isMuted ? [row.count] : [])) ?? [];
    expect(counted(true)).toEqual([await brute('Café')]);
    const [{ total } = { total: 0 }] = await db.$queryRaw<{ total: number }[]>`
      SELECT count(*)::int AS total FROM message WHERE id > (SELECT read_through FROM read_mark)`;
    expect(counted(false)).toEqual([total - (await brute('Café'))]);
    // Messages that are moved, deleted and counted after the migration use the keys that the migration wrote.
    await db.$executeRaw`UPDATE message SET topic = 'keel' WHERE topic = 'Πλους' AND id % 3 = 0`;
    await db.$executeRaw`DELETE FROM message WHERE topic = 'Cafe' || ${ACUTE} AND id % 2 = 0`;
    await db.$executeRaw`SELECT tally_messages(${realm}::int, 300)`;
    for (const name of names) expect(await unread(name), name).toEqual([await brute(name)]);
  });

  test('nodes of the previous version can set policies for either spelling', async () => {
    const { db } = at.database;
    const [{ realm, channel, bob } = { realm: 0, channel: 0, bob: 0 }] = await db.$queryRaw<
      { realm: number; channel: number; bob: number }[]
    >`SELECT c.realm_id AS realm, c.id AS channel, b.id AS bob FROM channel c JOIN user_account b ON b.full_name = 'bob'`;
    const set = (topic: string, policy: number) => db.$executeRaw`
      INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated)
      VALUES (${realm}, ${bob}, ${channel}, ${topic}, ${policy}, now())
      ON CONFLICT (realm_id, user_id, channel_id, lower(topic))
        DO UPDATE SET topic = EXCLUDED.topic, policy = EXCLUDED.policy, last_updated = EXCLUDED.last_updated
        WHERE user_topic.policy <> EXCLUDED.policy`;
    for (const [i, topic] of ['ΠΛΟΥΣ', 'πλους', `cafe${ACUTE}`, 'CAFÉ', 'Keel', 'keel'].entries())
      await set(topic, 1 + (i % 2));
    const policies = await db.userTopic.findMany({ where: { userId: bob }, orderBy: { id: 'asc' } });
    expect(policies.map(({ topic, policy }) => [topicKey(topic), policy])).toEqual([
      ['πλουσ', 2],
      ['café', 2],
      ['keel', 2],
    ]);
  });
});
