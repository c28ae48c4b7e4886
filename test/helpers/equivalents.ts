import { expect } from 'vitest';
import { routes } from '../../src/server/registries/features.ts';
import { FEATURES } from './features.ts';
import type { Json } from './http.ts';
import type { Person, RestReply } from './person.ts';
import { createOrganization, type Organization } from './server.ts';

/** Outcome of a change: success, or the error code. Codes are the same in both APIs, but messages differ. */
export type Outcome = { readonly code: string } | 'success';

/** Lists of objects in the reply to a registration, with the key field of their objects. The features declare them. */
const LISTS = FEATURES.flatMap(({ lists = {} }) => Object.entries(lists));
/** Returns the kind of the objects in a list: the name of the list without the plural `s`. */
const kindIn = (list: string) => list.replace(/s$/, '');

/** Kinds of objects, by the keys of events and state that hold their ids. */
const KINDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(LISTS.map(([list]) => [`${kindIn(list)}_id`, kindIn(list)])),
  ...{
    user_id: 'user',
    user_ids: 'user',
    creator_id: 'user',
    author_id: 'user',
    bot_owner_id: 'user',
    direct_members: 'user',
  },
  ...{ subscribers: 'user', stream_id: 'channel', stream_ids: 'channel', default_streams: 'channel', to: 'channel' },
  ...{ realm_default_streams: 'channel', folder_id: 'folder', channel_folder_id: 'folder', order: 'folder' },
  ...{ members: 'user', group_id: 'group', direct_subgroup_ids: 'group', direct_subgroups: 'group' },
  reminder_target_message_id: 'message',
};
/** Kinds of objects whose key is just `id`, by the name of the enclosing key. */
const OWN_ID: Readonly<Record<string, string>> = {
  ...Object.fromEntries(LISTS.flatMap(([list]) => [list, kindIn(list)].map((key) => [key, kindIn(list)]))),
  ...{ channel_folder: 'folder', channel_folders: 'folder', group: 'group', realm_user_groups: 'group' },
  ...{ attachment: 'attachment', fields: 'field', custom_profile_fields: 'field', custom_profile_field: 'field' },
};
/** Keys whose values are or contain times, which differ between the two organizations. */
const TIMES = [
  'create_time',
  'date_created',
  'date_joined',
  'timestamp',
  'last_updated',
  'server_timestamp',
  'muted_topics',
];
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Data groups of the registration's response that the tested changes can affect. */
const GROUPS = [
  ...['realm_user', 'stream', 'subscription', 'default_streams', 'user_topic', 'realm_emoji'],
  ...['custom_profile_fields', 'realm_bot', ...LISTS.map(([list]) => list)],
];

/** One of two equivalent organizations. Replaces values that necessarily differ between them with names. */
export class EquivalentOrganization {
  readonly people: Organization;
  readonly #names = new Map<string, string>();
  readonly #listeners: Person[];
  /** The event queues of the owner, the member and the guest, each with the last event id that was read. */
  #queues: { person: Person; id: string; readThrough: number }[] = [];

  private constructor(people: Organization) {
    this.people = people;
    this.#listeners = [people.owner, people.member, people.guest];
  }

  static async make(): Promise<EquivalentOrganization> {
    const twin = new EquivalentOrganization(await createOrganization());
    for (const role of ['owner', 'administrator', 'moderator', 'member', 'guest', 'bot'] as const) {
      twin.name('user', twin.people[role].id, role);
    }
    return twin;
  }

  /** Assigns a name to the object with an id. Equivalent objects have the same name in both organizations. @returns The id. */
  name(kind: string, id: number, name: string): number {
    this.#names.set(`${kind} ${id}`, `the ${kind} ${name}`);
    return id;
  }

  async listen(): Promise<void> {
    const parameters = { include_subscribers: 'true', fetch_event_types: [] };
    this.#queues = await Promise.all(
      this.#listeners.map(async (person) => {
        const { queue_id: id, last_event_id: readThrough } = await person.register(parameters);
        return { person, id, readThrough };
      }),
    );
  }

  /** Reads the events of the owner, the member and the guest since the previous call, or since `listen` was called. */
  async received(): Promise<Json> {
    const events = await Promise.all(
      this.#queues.map(async (queue) => {
        const page = await queue.person.poll(queue.id, queue.readThrough, { dontBlock: true });
        queue.readThrough = page.at(-1)?.id ?? queue.readThrough;
        return page.map(({ id: _, ...event }) => event);
      }),
    );
    return this.canonical(events);
  }

  /** Reads the current state as the owner, the member and the guest see it. */
  async state(): Promise<Json> {
    const parameters = { fetch_event_types: GROUPS, include_subscribers: 'true' };
    const replies = await Promise.all(this.#listeners.map((person) => person.register(parameters)));
    const missing = LISTS.filter(([list]) => replies.every((reply) => !(list in reply)));
    if (missing.length > 0) throw new Error(`No state has these lists: ${missing.map(([list]) => list).join(', ')}`);
    return this.canonical(replies.map(({ queue_id: _, last_event_id: _id, ...state }) => state));
  }

  canonical(value: Json, key = '', parent = ''): Json {
    if (Array.isArray(value)) return value.map((element) => this.canonical(element, key, parent));
    if (typeof value === 'string') return this.#canonicalText(value, key);
    if (typeof value === 'number') return this.#canonicalNumber(value, key, parent);
    if (typeof value !== 'object' || value === null) return value;
    // The keys of `realm_emoji` are ids, so only its values are compared.
    if (key === 'realm_emoji') return Object.values<Json>(value).map(({ id: _, ...emoji }) => this.canonical(emoji));
    const fields = Object.entries(value).map(([name, field]) => {
      if (key === 'profile_data') return [this.canonical(Number(name), 'id', 'fields'), this.canonical(field)];
      // Profile fields are listed in order. The position of a new profile field is its id, which can be any number.
      if (name === 'order' && 'field_data' in value) return [name, 'as listed'];
      // The position of a new folder is its own id. For updates, the property determines the meaning of the value.
      if (name === 'order' && field === value.id) return [name, 'last'];
      // In a direct draft, `to` contains the ids of the recipients.
      if (name === 'to' && value.type === 'private') return [name, this.canonical(field, 'user_ids', key)];
      return [
        name,
        this.canonical(field, name === 'value' && value.property !== undefined ? value.property : name, key),
      ];
    });
    return Object.fromEntries(fields);
  }

  #canonicalText(value: string, key: string): string {
    if (TIMES.includes(key)) return 'some time';
    // The content of a profile field that holds users is a JSON array of their ids.
    if (/^\[\d+(,\d+)*\]$/.test(value)) return this.canonical(JSON.parse(value), 'user_ids');
    if (key === 'path_id') return value.replace(/^\d+\/[\w-]{2}\/[\w-]{24}/, 'some path');
    if (value.startsWith('/emoji/')) return value.replace(UUID, 'some image');
    const [avatar, userId] = /^\/avatar\/(\d+)\/[\w-]+/.exec(value) ?? [];
    if (avatar !== undefined)
      return value.replace(avatar, `/avatar/${this.canonical(Number(userId), 'user_id')}/signed`);
    // The placeholder for a hidden or erased address.
    const own = /^user(\d+)@users\.invalid$/.exec(value)?.[1];
    if (own !== undefined) return value.replace(own, this.canonical(Number(own), 'user_id'));
    return value.replaceAll(this.people.organization.subdomain, 'twin');
  }

  #canonicalNumber(value: number, key: string, parent: string): Json {
    if (TIMES.includes(key)) return 'some time';
    const group = /^(realm_)?can_.*_group$/.test(key) ? 'group' : undefined;
    const kind = key === 'id' ? OWN_ID[parent] : (group ?? KINDS[key]);
    if (kind === undefined || value < 0) return value;
    const known = this.#names.get(`${kind} ${value}`);
    if (known !== undefined) return known;
    // New objects are named by the order in which they first occur.
    this.name(kind, value, `number ${this.#names.size}`);
    return this.#names.get(`${kind} ${value}`);
  }
}

/** Checks that the API reference declares a mutation as the equivalent of the endpoint with this method and address. */
export function expectDeclared(method: string, address: string, mutation: string): void {
  const declared = routes
    .filter(
      (route) => route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(address),
    )
    .flatMap(({ equivalents }) => equivalents.map((equivalent) => equivalent.replace(/\(.*/, '')));
  expect(declared, `${method} ${address}`).toContain(mutation);
}

/** A change that can be made over REST and over GraphQL. Each function receives the `World` of its organization. */
export interface Act<W> {
  readonly rest: (world: W) => Promise<RestReply>;
  /** Resolves with the mutation's result, which is a union, or with the whole response if it has errors outside the union. */
  readonly graphql: (world: W) => Promise<Json>;
  /** Expected error code over both APIs. Default: success. */
  readonly code?: string;
}

/**
 * Makes each change over REST in one organization, and over GraphQL in an equivalent one. Checks that both have the same
 * outcome, events and state.
 *
 * @param furnish Creates and names the objects that the changes need, in each organization.
 */
export async function expectParity<W>(
  furnish: (twin: EquivalentOrganization) => Promise<W>,
  acts: Readonly<Record<string, Act<W>>>,
): Promise<void> {
  const twins = await Promise.all([EquivalentOrganization.make(), EquivalentOrganization.make()]);
  const worlds = [];
  for (const twin of twins) worlds.push(await furnish(twin));
  const [[left, right], [leftWorld, rightWorld]] = [
    twins as [EquivalentOrganization, EquivalentOrganization],
    worlds as [W, W],
  ];
  await Promise.all(twins.map((twin) => twin.listen()));
  for (const [name, { rest, graphql, code }] of Object.entries(acts)) {
    const byRest = ofRest(await rest(leftWorld));
    const byGraphql = ofGraphql(await graphql(rightWorld));
    expect(byGraphql, name).toEqual(byRest);
    if (code === undefined) expect(byRest, name).toBe('success');
    else expect(byRest, name).toMatchObject({ code });
    // Events of a refused change, if any, are compared with those of the next successful one.
    if (code === undefined) expect(await right.received(), name).toEqual(await left.received());
  }
  expect(await right.received(), 'the refusals').toEqual(await left.received());
  expect(await right.state()).toEqual(await left.state());
}

const ofRest = ({ status, body }: RestReply): Outcome => (status === 200 ? 'success' : { code: body.code });

function ofGraphql({ errors, code }: Json): Outcome {
  if (errors?.[0] !== undefined) return { code: errors[0].extensions.code };
  return code === undefined ? 'success' : { code };
}
