import type { Json } from './http.ts';
import type { Method, Person } from './person.ts';
import { type Act, expectDeclared, type Twin } from './twins.ts';

// The same act over REST and over GraphQL: the same rows, events, code and message. `test/parity/` has one test for each endpoint.

/** The number of nothing there is. */
export const NOBODY = 2_000_000_000;
/** A draft to nobody yet. */
export const note = { type: '', to: [], topic: '', content: 'note' };

/** Makes what the acts of most features need, in one of two twins. */
export async function furnish(twin: Twin) {
  const { people } = twin;
  const { owner, member } = people;
  const channel = async (person: Person, name: string, fields: object = {}) => {
    const { id } = await person.ok('POST', '/channels/create', { name, subscribers: [person.id], ...fields });
    return twin.name('channel', id, name);
  };
  const general = await channel(member, 'general');
  const hidden = await channel(member, 'hidden', { invite_only: true });
  const other = await channel(owner, 'other', { subscribers: [] });
  const folder = async (name: string) => {
    const { channel_folder_id } = await owner.ok('POST', '/channel_folders/create', { name, description: '' });
    return twin.name('folder', channel_folder_id, name);
  };
  const folders = [await folder('First'), await folder('Second')] as const;
  const group = async (name: string) => {
    const { group_id } = await owner.ok('POST', '/user_groups/create', { name, description: '', members: [] });
    return twin.name('group', group_id, name);
  };
  const userGroups = [await group('Sailors'), await group('Captains')] as const;
  const { ids } = await member.ok('POST', '/drafts', { drafts: [note, note] });
  const { saved_snippet_id } = await member.ok('POST', '/saved_snippets', { title: 'Hello', content: 'Hello!' });
  const { realm_can_manage_all_groups: owners } = await owner.register({ fetch_event_types: ['realm'] });
  return {
    ...people,
    ...{ general, hidden, other, folders, owners, userGroups },
    drafts: [twin.name('draft', ids[0], 'one'), twin.name('draft', ids[1], 'two')] as const,
    snippet: twin.name('snippet', saved_snippet_id, 'hello'),
  };
}

/** A furnished organisation. */
export type World = Awaited<ReturnType<typeof furnish>>;
/** Whoever acts, by role. */
export type Who = 'owner' | 'administrator' | 'moderator' | 'member' | 'guest' | 'bot';

/** One act of one endpoint and of one mutation. What is said of it may depend on the world it is done in. */
export const bothDoors =
  (method: Method, path: string | ((world: World) => string), mutation: string) =>
  (who: Who, rest: (world: World) => object, graphql: (world: World) => object, code?: string): Act<World> => ({
    rest: (world) => {
      const address = typeof path === 'string' ? path : path(world);
      expectDeclared(method, address, mutation);
      return world[who].rest(method, address, rest(world) as Record<string, unknown>);
    },
    graphql: (world) => mutate(world[who], mutation, graphql(world)),
    ...(code !== undefined && { code }),
  });

/** The union's value, or the whole reply when the failure is not in the union. */
export async function mutate(person: Person, name: string, input: object): Promise<Json> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) {
    __typename ... on ServiceError { code message } } }`;
  const reply = await person.graphql(query, { input });
  return reply.errors === undefined ? reply.data[name] : reply;
}
