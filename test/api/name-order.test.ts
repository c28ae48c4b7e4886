import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createDatabase } from '../helpers/database.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Checks that all lists sort equal names in the same order, whatever the locale of the database. Locales differ in the order of
// punctuation, capital letters, accents and scripts.

/** Names in the order of lists: punctuation, digits, letters without case, accents, then other scripts. */
const NAMES = [
  '_deck',
  '-deck',
  '10 deck',
  '2 deck',
  'Anchor',
  'deck',
  'déck',
  'Deck B',
  'DECK-A',
  'deckhand',
  'Émile x',
  'Emir',
  'Strasse',
  'straße',
  'Über',
  'ubera',
  'Zebra',
  'Ωmega',
  'Якорь',
  '日本',
];

/** Names of custom emoji, which consist of ASCII characters, in the order of lists. */
const EMOJI = ['_deck', '-deck', '10_deck', '2_deck', 'anchor', 'deck', 'deck_b', 'deck-a', 'deckhand'];

let service: InProcess;
let people: Organization;
const ids: Record<string, number> = {};

beforeAll(async () => {
  service = await shareInProcess();
  people = await createOrganization({}, { on: service });
  const [realm, owner] = [people.organization.id, people.owner.id];
  const run = (sql: string) => service.app.db.$executeRawUnsafe(sql);
  const { db } = service.app;
  const each = (names: readonly string[]) =>
    `(SELECT name, n FROM unnest(ARRAY[${names.map((name) => `'${name}'`).join()}]) WITH ORDINALITY AS t(name, n) ORDER BY md5(name)) AS given`;
  const given = each(NAMES);
  await run(`INSERT INTO channel (realm_id, name, topics_policy) VALUES (${realm}, 'outer', 'inherit')`);
  await run(`INSERT INTO user_group (realm_id, name) VALUES (${realm}, 'outer')`);
  const where = { organizationId: realm, name: 'outer' };
  const [channel, group] = [
    (await db.channel.findFirstOrThrow({ where })).id,
    (await db.userGroup.findFirstOrThrow({ where })).id,
  ];
  Object.assign(ids, { channel, group });
  for (const sql of [
    `INSERT INTO user_account (realm_id, email, full_name, settings) SELECT ${realm}, 'person' || n || '@example.com', name, '{}' FROM ${given}`,
    `INSERT INTO user_account (realm_id, email, full_name, settings, bot_type, bot_owner_id)
       SELECT ${realm}, 'bot' || n || '@example.com', name, '{}', 1, ${owner} FROM ${given}`,
    `INSERT INTO subscription (realm_id, user_id, channel_id, color)
       SELECT ${realm}, id, ${channel}, '#76ce90' FROM user_account WHERE realm_id = ${realm} AND email LIKE 'person%'`,
    `INSERT INTO user_group_member (realm_id, group_id, user_id)
       SELECT ${realm}, ${group}, id FROM user_account WHERE realm_id = ${realm} AND email LIKE 'person%'`,
    `UPDATE user_account SET group_ids = ARRAY[${group}] WHERE realm_id = ${realm} AND email LIKE 'person%'`,
    `INSERT INTO channel (realm_id, name, topics_policy) SELECT ${realm}, name, 'inherit' FROM ${given}`,
    `INSERT INTO subscription (realm_id, user_id, channel_id, color)
       SELECT ${realm}, ${owner}, id, '#76ce90' FROM channel WHERE realm_id = ${realm} AND id >= ${channel}`,
    `INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id)
       SELECT realm_id, user_id, channel_id, 1 FROM subscription WHERE realm_id = ${realm} AND user_id = ${owner} AND channel_id = ${channel}`,
    `INSERT INTO user_group (realm_id, name) SELECT ${realm}, name FROM ${given}`,
    `INSERT INTO user_group_subgroup (realm_id, group_id, subgroup_id)
       SELECT realm_id, ${group}, id FROM user_group WHERE realm_id = ${realm} AND id > ${group}`,
    `INSERT INTO channel_folder (realm_id, name, position) SELECT ${realm}, name, n FROM ${given}`,
    `INSERT INTO saved_snippet (realm_id, author_id, title, content) SELECT ${realm}, ${owner}, name, 'x' FROM ${given}`,
    `INSERT INTO user_topic (realm_id, user_id, channel_id, topic, policy, last_updated) SELECT ${realm}, ${owner}, ${channel}, name, 1, now() FROM ${given}`,
    `INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name, sent_at, sent_event_id, send_token)
       SELECT ${realm}, nextval('message_id_seq'), ${owner}, ${channel}, ${channel}, name, 'x', '<p>x</p>', 'test', now(), 1, 1 FROM ${given}`,
    `WITH picture AS (INSERT INTO image (id, realm_id, media_type, bytes) VALUES (gen_random_uuid(), ${realm}, 'image/png', '\\x00') RETURNING id)
       INSERT INTO custom_emoji (realm_id, name, image_id) SELECT ${realm}, given.name, picture.id FROM picture, ${each(EMOJI)}`,
  ]) {
    await run(sql);
  }
});
afterAll(() => service[Symbol.asyncDispose]());

interface List {
  /** Returns the list. "%" stands for the arguments of the page. */
  readonly field: string;
  /** Type of the object that has the list, if it is not a field of `Query`. */
  readonly of?: 'Channel' | 'UserGroup';
  readonly name: string;
  readonly names?: readonly string[];
}

const LISTS: Readonly<Record<string, List>> = {
  users: { field: 'users(% isBot: false orderBy: { field: FULL_NAME })', name: 'fullName' },
  bots: { field: 'ownBots(% orderBy: { field: FULL_NAME })', name: 'fullName' },
  subscribers: { field: 'subscribers(% orderBy: { field: FULL_NAME })', of: 'Channel', name: 'fullName' },
  members: { field: 'members(% orderBy: { field: FULL_NAME })', of: 'UserGroup', name: 'fullName' },
  channels: { field: 'channels(% orderBy: { field: NAME })', name: 'name' },
  subscriptions: { field: 'subscriptions(% orderBy: { field: CHANNEL_NAME })', name: 'channel { name }' },
  groups: { field: 'userGroups(% orderBy: { field: NAME })', name: 'name' },
  subgroups: { field: 'subgroups(% orderBy: { field: NAME })', of: 'UserGroup', name: 'name' },
  folders: { field: 'channelFolders(% orderBy: { field: NAME })', name: 'name' },
  snippets: { field: 'savedSnippets(% orderBy: { field: TITLE })', name: 'title' },
  'topics of a channel': { field: 'topics(% orderBy: { field: NAME })', of: 'Channel', name: 'name' },
  'topics of all channels': { field: 'topics(% orderBy: { field: NAME })', name: 'name' },
  'topics with a policy': { field: 'userTopics(% orderBy: { field: TOPIC_NAME })', name: 'topicName' },
  'custom emoji': { field: 'customEmoji(% orderBy: { field: NAME })', name: 'name', names: EMOJI },
};

async function page({ field, of, name }: List, args: string): Promise<Json> {
  const list = `list: ${field.replace('%', args)} { nodes { ${name} } pageInfo { endCursor hasNextPage } }`;
  const id = of && globalId(of, of === 'Channel' ? (ids['channel'] ?? 0) : (ids['group'] ?? 0));
  const data = await people.owner.query(
    of === undefined ? `{ ${list} }` : `{ node(id: "${id}") { ... on ${of} { ${list} } } }`,
  );
  const { nodes, pageInfo } = (data['node'] ?? data).list;
  const first = (value: Json): string => (typeof value === 'string' ? value : first(Object.values(value)[0]));
  return { names: nodes.map(first), ...pageInfo };
}

describe.for(Object.entries(LISTS))('%s', ([, list]) => {
  const wanted = list.names ?? NAMES;
  const among = (names: readonly string[]) => names.filter((name) => wanted.includes(name));

  test('are in the common order of names', async () => {
    expect(among((await page(list, 'first: 100')).names)).toEqual(wanted);
  });

  test('are in the same order over several pages', async () => {
    const names: string[] = [];
    for (let after = '', more = true; more; ) {
      const { names: found, endCursor, hasNextPage } = await page(list, `first: 3 ${after}`);
      names.push(...found);
      [after, more] = [`after: "${endCursor}"`, hasNextPage];
    }
    expect(among(names)).toEqual(wanted);
  });
});

test('suggestions are in the common order of names', async () => {
  const query = (text: string) =>
    people.owner.query(
      `{ suggestions(text: "${text}", kinds: [USER, CHANNEL, USER_GROUP], first: 20) {
        ... on User { name: fullName isBot } ... on Channel { channel: name } ... on UserGroup { group: name } } }`,
    );
  const { suggestions } = await query('deck');
  const wanted = NAMES.filter((name) => /d[eé]ck/i.test(name));
  // Names that begin with the words come first.
  const [begin, others] = [wanted.filter((name) => !/\d/.test(name)), wanted.filter((name) => /\d/.test(name))];
  const people_ = suggestions.filter(({ isBot }: Json) => isBot === false).map(({ name }: Json) => name);
  const channels = suggestions.flatMap(({ channel }: Json) => channel ?? []);
  const groups = suggestions.flatMap(({ group }: Json) => group ?? []);
  for (const found of [people_, channels, groups]) expect(found).toEqual([...begin, ...others]);
  const first = (await query('')).suggestions;
  const firstChannels = first
    .flatMap(({ channel }: Json) => channel ?? [])
    .filter((name: string) => NAMES.includes(name));
  expect(firstChannels.slice(0, 5)).toEqual(NAMES.slice(0, 5));
});

test('a cursor stays where it is when its row is renamed', async () => {
  const { db } = service.app;
  const list = LISTS['users'] as List;
  const { names, endCursor } = await page(list, 'first: 6');
  const next = (await page(list, `first: 3 after: "${endCursor}"`)).names;
  const where = { organizationId: people.organization.id, fullName: names.at(-1), botType: null };
  const { id } = await db.user.findFirstOrThrow({ where });
  const rename = (fullName: string) =>
    db.user.updateMany({ where: { organizationId: people.organization.id, id }, data: { fullName } });
  await rename('zzz');
  expect((await page(list, `first: 3 after: "${endCursor}"`)).names).toEqual(next);
  expect((await page(list, 'last: 1')).names).toEqual(['日本']);
  await rename(names.at(-1));
});

const { DATABASE_URL = '' } = process.env;

// Only PostgreSQL has databases of several locales.
describe.runIf(DATABASE_URL !== '')('keys of names', () => {
  test.for(['C', 'C.UTF-8', 'en_US.utf8'])('do not depend on the locale %s', async (locale, { skip }) => {
    const options = `TEMPLATE template0 LOCALE '${locale}' ENCODING 'UTF8'`;
    const created = await createDatabase(DATABASE_URL, options).catch(() => undefined);
    if (created === undefined) return skip(`The server has no locale ${locale}`);
    await using database = created;
    const config = readConfig({ DATABASE_URL: database.url, SECRET_KEY: 's'.repeat(40) });
    const opened = await openDatabase(config);
    try {
      await migrate(config, opened);
      const rows = await opened.db.$queryRaw<{ name: string }[]>`
        SELECT name FROM unnest(${[...NAMES].reverse()}::text[]) AS n(name) ORDER BY name_sort_key(name) COLLATE "C"`;
      expect(rows.map(({ name }) => name)).toEqual(NAMES);
    } finally {
      await opened.close();
    }
  });
});
