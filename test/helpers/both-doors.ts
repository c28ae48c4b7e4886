import { type Act, type EquivalentOrganization, expectDeclared } from './equivalents.ts';
import type { Json } from './http.ts';
import type { Method, Person } from './person.ts';

// Compares the results of a change over REST with those of the same change over GraphQL: rows, events and error code.
// `test/parity/` has one test for each endpoint.

/** An id that no row has. */
export const NOBODY = 2_000_000_000;
/** A draft without recipients. */
export const note = { type: '', to: [], topic: '', content: 'note' };

/**
 * Creates the channels, folders, groups, drafts and snippet that most parity tests need, in one of two equivalent
 * organizations.
 */
export async function furnish(twin: EquivalentOrganization) {
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
    snippet: twin.name('saved_snippet', saved_snippet_id, 'hello'),
  };
}

/** The objects that `furnish` creates in one organization. */
export type World = Awaited<ReturnType<typeof furnish>>;
/** Role of the user who makes a change. */
export type Who = 'owner' | 'administrator' | 'moderator' | 'member' | 'guest' | 'bot';

/**
 * Returns a function that creates acts. An act makes the same change over a REST endpoint and over a mutation. The parameters
 * of both are computed from the `World`.
 */
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

/**
 * Runs a mutation.
 *
 * @returns The mutation's result, which is a union, or the whole response if it has errors outside the union.
 */
export async function mutate(person: Person, name: string, input: object): Promise<Json> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const query = `mutation ($input: ${type}Input!) { ${name}(input: $input) {
    __typename ... on ServiceError { code message } } }`;
  const reply = await person.graphql(query, { input });
  return reply.errors === undefined ? reply.data[name] : reply;
}
