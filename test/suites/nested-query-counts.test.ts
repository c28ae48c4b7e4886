import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isLeafType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { fillOrganization } from '../helpers/large-organization.ts';
import type { Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { makeObjects } from '../helpers/scene.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

/** Numbers of rows of the compared lists. The first two channels are a public one and one with protected history. */
const [FEW, MANY] = [2, 5];
/**
 * Accepted difference between two numbers of statements. Concurrent loaders share a statement, so the number varies slightly
 * with timing.
 */
const MATTER_OF_TIME = 2;

const schema = buildSchema();
let service: InProcess;
let people: Organization;

/** Creates five objects of every kind that has lists, and five items in each of these lists. */
beforeAll(async () => {
  service = await shareInProcess({ counts: true });
  people = await createOrganization({}, { on: service });
  const { owner, member } = people;
  await owner.ok('PATCH', '/realm', { enable_read_receipts: true });
  const others = [];
  for (let i = 0; i < MANY; i++) others.push(await people.signUp(`other ${i}`));
  const ids = [owner.id, member.id, ...others.map(({ id }) => id)];
  const field = { field_type: 6, name: 'mentor', hint: '' };
  const { id: fieldId } = await owner.ok('POST', '/realm/profile_fields', field);
  const groups: number[] = [];
  for (const [i, other] of others.entries()) {
    const [folder, group] = [
      await owner.ok('POST', '/channel_folders/create', { name: `folder ${i}`, description: '' }),
      await owner.ok('POST', '/user_groups/create', {
        name: `group ${i}`,
        description: '',
        members: ids,
        subgroups: groups,
      }),
    ];
    groups.push(group.group_id);
    const isPrivate = i % 2 === 1;
    const { id: channelId } = await owner.ok('POST', '/channels/create', {
      ...{ name: `channel ${i}`, subscribers: ids, folder_id: folder.channel_folder_id },
      ...{
        invite_only: isPrivate,
        history_public_to_subscribers: !isPrivate,
        can_send_message_group: { direct_members: ids, direct_subgroups: groups },
      },
    });
    for (const [n, by] of [other, owner, ...others].entries()) {
      const content = `hello @**${member.name}** ${n}`;
      const { id } = await by.ok('POST', '/messages', { type: 'channel', to: channelId, topic: `topic ${n}`, content });
      await owner.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'heart' });
      await other.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'tada' });
      await by.ok('PATCH', `/messages/${id}`, { content: `${content} again` });
      await owner.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'starred' });
      if (n === 1) await makeObjects(owner, { channelId, topic: `topic ${n}`, messageId: id, text: 'x' });
    }
    await other.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'hello' });
    await owner.ok('POST', '/user_topics', { stream_id: channelId, topic: 'topic 1', visibility_policy: 3 });
    await owner.ok('POST', `/realm/emoji/emoji_${i}`, { file: PNG });
    await owner.ok('POST', '/realm/domains', { domain: `d${i}.example`, allow_subdomains: false });
    await owner.ok('POST', '/bots', { full_name: `bot ${i}`, short_name: `b${i}` });
    await other.ok('PATCH', '/users/me/profile_data', { data: [{ id: fieldId, value: [owner.id, other.id] }] });
    await other.ok('POST', '/users/me/status', { status_text: 'away' });
    await other.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
    await owner.mutate(
      'addNavigationView',
      { fragment: `narrow/${i}`, isPinned: true, name: `view ${i}` },
      '__typename',
    );
  }
});
afterAll(() => service[Symbol.asyncDispose]());

type Field = GraphQLField<unknown, unknown>;
const fieldsOf = (type: GraphQLObjectType): Field[] => Object.values(type.getFields());
const isConnection = (field: Field) => getNamedType(field.type).name.endsWith('Connection');
/** Returns the type of the objects in the connection that a field returns. */
const listed = (field: Field): GraphQLObjectType => {
  const connection = getNamedType(field.type) as GraphQLObjectType;
  return getNamedType(connection.getFields()['nodes']?.type as GraphQLOutputType) as GraphQLObjectType;
};
/** Values of required arguments, by type and field. */
const GIVEN: Readonly<Record<string, () => string>> = {
  'Channel.topic': () => 'name: "topic 1"',
  'UserGroup.hasMember': () => `userId: "${globalId('User', people.member.id)}"`,
};
const needsArguments = ({ args }: Field) =>
  args.some(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined);

/** Returns a selection of a field, with some fields of each object that it returns. @param inner Fields to select instead. */
function selectionOf(parent: GraphQLObjectType, field: Field, inner?: string): string {
  const type = getNamedType(field.type);
  const given = GIVEN[`${parent.name}.${field.name}`]?.();
  if (isConnection(field))
    return `${field.name}(first: ${MANY}) { totalCount nodes { ${inner ?? plain(listed(field))} } }`;
  const args = given === undefined ? '' : `(${given})`;
  if (isLeafType(type)) return `${field.name}${args}`;
  return `${field.name}${args} { ${isObjectType(type) ? plain(type) : '__typename'} }`;
}

/** Returns a selection of the first leaf fields of a type, including `id`. */
const plain = (type: GraphQLObjectType): string =>
  `__typename ${fieldsOf(type)
    .filter((field) => isLeafType(getNamedType(field.type)) && !needsArguments(field))
    .slice(0, 3)
    .map(({ name }) => name)
    .join(' ')}`;

const roots = fieldsOf(schema.getQueryType() as GraphQLObjectType).filter(isConnection);
const usable = (type: GraphQLObjectType): Field[] =>
  fieldsOf(type).filter((field) => !needsArguments(field) || GIVEN[`${type.name}.${field.name}`] !== undefined);

interface Nest {
  readonly path: string;
  readonly root: Field;
  /** Returns the selection for each row of the outer list. */
  readonly inner: () => string;
}

const nests: readonly Nest[] = roots.flatMap((root): Nest[] => {
  const type = listed(root);
  return usable(type).map((field) => ({
    path: `${root.name} > ${field.name}`,
    root,
    inner: () => selectionOf(type, field),
  }));
});
/** Lists within lists whose rows have fields that return objects. Each is reached from the first root list that leads to it. */
const deep: readonly Nest[] = [
  ...new Map(
    roots.flatMap((root) => {
      const type = listed(root);
      return fieldsOf(type)
        .filter(isConnection)
        .flatMap((list) =>
          usable(listed(list)).map((field): [string, Nest] => [
            `${type.name}.${list.name}.${field.name}`,
            {
              path: `${root.name} > ${list.name} > ${field.name}`,
              root,
              inner: () => selectionOf(type, list, selectionOf(listed(list), field)),
            },
          ]),
        );
    }),
  ).values(),
];

/** Reads a number of rows of a list. @returns The statements, and the rows. */
async function statementsFor(
  { root, inner }: Nest,
  rows: number,
  by = people.owner,
): Promise<{ queries: string[]; nodes: Json[] }> {
  const filter = root.name === 'users' ? 'orderBy: { field: ID, direction: DESC } isBot: false' : '';
  const query = `{ ${root.name}(first: ${rows} ${filter}) { nodes { ${inner()} } } }`;
  let nodes: Json[] = [];
  const queries = await service.queriesOf(async () => {
    nodes = (await by.query(query))[root.name].nodes;
  });
  return { queries, nodes };
}

async function growth(nest: Nest): Promise<string[]> {
  const [few, many] = [await statementsFor(nest, FEW), await statementsFor(nest, MANY)];
  if (many.queries.length <= few.queries.length + MATTER_OF_TIME) return [];
  // The first count can include statements for messages that were still being delivered, so it is repeated.
  const again = await statementsFor(nest, MANY);
  if (again.queries.length <= few.queries.length + MATTER_OF_TIME) return [];
  return [`${nest.path}: ${few.queries.length} for ${FEW}, ${again.queries.length} for ${MANY}`];
}

describe('a field of each row of a list takes as many statements for many rows as for few', () => {
  test.for(roots.map((root) => [root.name, root] as const))('%s', async ([, root]) => {
    const grown: string[] = [];
    for (const nest of nests) if (nest.root === root) grown.push(...(await growth(nest)));
    expect(grown).toEqual([]);
    const { nodes } = await statementsFor({ path: '', root, inner: () => '__typename' }, MANY);
    expect(nodes.length, 'rows in the list').toBe(MANY);
  });

  test('of lists within lists', async () => {
    const grown: string[] = [];
    for (const nest of deep) grown.push(...(await growth(nest)));
    expect(grown).toEqual([]);
    expect(deep.length).toBeGreaterThan(100);
  });
});

describe('in a large organization', () => {
  const NUMBERS = [1, 5, 50] as const;
  const LONG = ['channels', 'subscriptions', 'directConversations', 'messages', 'users'];
  let reader: Person;

  beforeAll(async () => {
    const { member, owner, organization } = await createOrganization({}, { on: service });
    const run = (sql: string, parameters: readonly unknown[]) => service.app.db.$executeRawUnsafe(sql, ...parameters);
    await fillOrganization(run, { organizationId: organization.id, readerId: member.id, senderId: owner.id });
    reader = member;
  });

  test.for(LONG)('%s take as many statements for 1, 5 and 50', async (name) => {
    const grown: string[] = [];
    for (const nest of nests.filter(({ root }) => root.name === name)) {
      const count = async (number: number) => {
        const { queries, nodes } = await statementsFor(nest, number, reader);
        expect(nodes.length, nest.path).toBe(number);
        return queries.length;
      };
      const statements: number[] = [];
      for (const number of NUMBERS) statements.push(await count(number));
      const fewest = Math.min(...statements);
      for (const [i, number] of NUMBERS.entries()) {
        // Statements of background work are counted, too. They are absent in a later attempt.
        for (let again = 0; again < 3 && (statements[i] ?? 0) > fewest + MATTER_OF_TIME; again++) {
          statements[i] = await count(number);
        }
      }
      if (Math.max(...statements) > fewest + MATTER_OF_TIME) grown.push(`${nest.path}: ${statements.join(', ')}`);
    }
    expect(grown).toEqual([]);
  });
});
