import { type GraphQLEnumType, type GraphQLInputObjectType, getNamedType, isObjectType } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { globalId } from '../helpers/global-ids.ts';
import { GROWN, growOrganization } from '../helpers/grown-organization.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Checks for every connection, in every sort order, that a page of 20 reads about as much of a list of 1,000 rows as of one of 10.

const [FEW, MANY] = [10, 1_000];

/**
 * Returns the maximum number of rows that a page of a long list may read.
 *
 * @param rows Number of rows that a page of a short list reads. That page has half as many rows. If it scans a whole table, it
 *   reads as many as a page of the long list, so there is an absolute limit too.
 */
const allowed = (rows: number) => Math.min(3 * rows + 60, 600);
/** Maximum number of times that statements are counted again. Concurrent loaders share statements, depending on timing. */
const REPETITIONS = 8;

/** Lists that have to be read as a whole, with the reason. "*": in all sort orders. */
const WHOLE: Readonly<Record<string, string>> = {
  'Query.channels SUBSCRIBER_COUNT': 'Subscribers are counted for each channel.',
  'Query.channels WEEKLY_TRAFFIC': 'Messages are counted for each channel.',
  'User.channels *': "The ids of a user's channels are read, to sort them by columns of another table.",
  'Query.subscriptions CHANNEL_NAME': 'The names are in another table.',
  'Channel.subscribers *': 'They are sorted by columns of the table of users.',
  'Channel.topics *': 'A topic has no row: its last message is found by one look-up for each topic.',
  'Query.topics *': 'Topics of the newest 5,000 messages.',
  'Query.directConversations *': 'A conversation is listed if it has a message: one look-up for each conversation.',
  'Query.messages': "The viewer's subscription periods and conversations decide which messages they received.",
  'User.starredMessages': "The viewer's conversations decide which messages they can read.",
  'Message.readReceipts *': 'Readers are computed from the read marks of all subscribers.',
  'Message.editHistory': 'A former content is computed from all later edits.',
  'UserGroup.members *': 'Members of nested groups are listed once.',
  'UserGroup.subgroups *': 'Nested groups are listed once.',
  'Query.ownBots *': 'At most 200 bots of one user.',
  'Query.pushDevices': 'At most 50 devices of one user.',
  'User.apiKeys': 'At most 100 keys of one user.',
  'User.sessions': 'At most 100 sessions of one user, and the current one first.',
  'Query.channelFolders NAME': 'At most 1,000 folders.',
  'Query.savedSnippets TITLE': 'At most 1,000 snippets of one user.',
  'Query.userTopics UPDATED_AT': 'Policies of one user.',
  'Query.userTopics TOPIC_NAME': 'Policies of one user.',
  'Query.reminders ID': 'Reminders of one user.',
  'Query.scheduledMessages ID': 'Scheduled messages of one user.',
  'Query.drafts ID': 'Drafts of one user.',
  'Query.navigationViews': 'At most 1,000 views of one user.',
};

interface Place extends Organization {
  readonly ids: Readonly<Record<string, string>>;
}

interface List {
  readonly name: string;
  readonly type: string;
  readonly field: string;
  readonly order: string | undefined;
}

const schema = buildSchema();
let service: InProcess;
let few: Place;
let many: Place;

beforeAll(async () => {
  // Rows of other tests would change the statistics, and with them the plans.
  service = await startInProcess();
  few = await grown(FEW);
  many = await grown(MANY);
  // The tables are small in this test, so the planner would otherwise prefer scans of whole tables to look-ups.
  await plan('SET', ' = off');
});
afterAll(async () => {
  await plan('RESET', '');
  await service[Symbol.asyncDispose]();
});

/** Changes the settings of the planner, and discards the plans made before. */
async function plan(command: string, value: string): Promise<void> {
  const settings = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'].map(
    (name) => `${command} ${name}${value}`,
  );
  for (const sql of ['ANALYZE', ...settings, 'DISCARD PLANS']) await service.app.db.$executeRawUnsafe(sql);
}

async function grown(size: number): Promise<Place> {
  const place = await createOrganization({}, { on: service });
  const { db } = service.app;
  const organizationId = place.organization.id;
  await place.owner.ok('PATCH', '/realm', { enable_read_receipts: true });
  await growOrganization((sql) => db.$executeRawUnsafe(sql), { organizationId, ownerId: place.owner.id, size });
  const where = { organizationId, name: GROWN };
  const { id: channelId } = await db.channel.findFirstOrThrow({ where });
  const { id: groupId } = await db.userGroup.findFirstOrThrow({ where });
  const newest = await db.message.findFirstOrThrow({ where: { channelId }, orderBy: { id: 'desc' } });
  const named = `{ named: { channel: { name: "${GROWN}" }, name: "${newest.topic}" } }`;
  const { topic } = await place.owner.query(`{ topic(by: ${named}) { id } }`);
  const ids = {
    ...{ Channel: globalId('Channel', channelId), UserGroup: globalId('UserGroup', groupId) },
    ...{ Message: globalId('Message', Number(newest.id)), User: globalId('User', place.owner.id), Topic: topic.id },
  };
  return { ...place, ids };
}

/** Returns every connection of the schema, once for each of its sort orders. */
function lists(): List[] {
  const fields = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ type: type.name, field })))
    .filter(({ field }) => getNamedType(field.type).name.endsWith('Connection'));
  return fields.flatMap(({ type, field: { name: field, args } }): List[] => {
    const orderBy = args.find(({ name }) => name === 'orderBy');
    if (orderBy === undefined) return [{ name: `${type}.${field}`, type, field, order: undefined }];
    const input = getNamedType(orderBy.type) as GraphQLInputObjectType;
    const orders = (getNamedType(input.getFields()['field']?.type) as GraphQLEnumType).getValues();
    return orders.map(({ name: order }) => ({ name: `${type}.${field} ${order}`, type, field, order }));
  });
}

/** Returns the document that reads a page of a list. */
function documentOf({ type, field, order }: List, { ids }: Place, selection: string): string {
  const size = field === 'messages' || field === 'starredMessages' ? 'last: 20' : 'first: 20';
  const page = `${field}(${size}${order === undefined ? '' : `, orderBy: { field: ${order} }`}) { ${selection} }`;
  if (type === 'Organization') return `{ organization { ${page} } }`;
  return type === 'Query' ? `{ ${page} }` : `{ node(id: "${ids[type]}") { ... on ${type} { ${page} } } }`;
}

const PAGE = 'nodes { __typename } edges { cursor } pageInfo { hasNextPage hasPreviousPage }';
const isWhole = ({ name, type, field }: List) => name in WHOLE || `${type}.${field} *` in WHOLE;

test('every list that is read as a whole exists', () => {
  const names = new Set(lists().flatMap(({ name, type, field }) => [name, `${type}.${field} *`]));
  expect(Object.keys(WHOLE).filter((name) => !names.has(name))).toEqual([]);
});

test.for(lists())('a page of $name', async (list) => {
  const read = async (place: Place) => {
    const document = documentOf(list, place, PAGE);
    let page: unknown;
    const rows = await service.rowsReadBy(async () => {
      page = await place.owner.query(document);
    });
    const sum = [...rows.values()].reduce((before, each) => before + each, 0);
    return { rows, sum, length: JSON.stringify(page).split('"cursor"').length - 1 };
  };
  // The first read fills the caches of the process.
  for (const place of [few, many]) await read(place);
  const [ofFew, ofMany] = [await read(few), await read(many)];
  expect(ofMany.length).toBe(20);
  const shown = JSON.stringify([[...ofFew.rows], [...ofMany.rows]]);
  if (!isWhole(list)) expect(ofMany.sum, shown).toBeLessThanOrEqual(allowed(ofFew.sum));
  const statements = async (place: Place) =>
    (await service.queriesOf(() => place.owner.query(documentOf(list, place, `totalCount ${PAGE}`)))).length;
  let [least, most] = [await statements(many), await statements(few)];
  for (let left = REPETITIONS; left > 0 && least > most; left--) {
    [least, most] = [Math.min(least, await statements(many)), Math.max(most, await statements(few))];
  }
  expect(least).toBeLessThanOrEqual(most);
});
