import { expect } from 'vitest';
import { routes } from '../../src/server/registries/endpoints.ts';
import type { Json } from './http.ts';
import type { Person, RestReply } from './person.ts';
import { type Organisation, organisation } from './server.ts';

/** What came of one act, in the words both doors share. */
export type Outcome = { readonly code: string; readonly message: string } | 'success';

/** Which keys of events and state hold ids, and of what. */
const KINDS: Readonly<Record<string, string>> = {
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
  ...{ draft_id: 'draft', saved_snippet_id: 'snippet' },
  ...{ scheduled_message_id: 'scheduled message' },
};
/** What the `id` in an object of this name is of. */
const OWN_ID: Readonly<Record<string, string>> = {
  ...{ channel_folder: 'folder', channel_folders: 'folder', draft: 'draft', drafts: 'draft' },
  ...{ saved_snippet: 'snippet', saved_snippets: 'snippet', group: 'group', realm_user_groups: 'group' },
  ...{ fields: 'field', custom_profile_fields: 'field', custom_profile_field: 'field' },
};
/** Two things are never done at the same time. */
const TIMES = ['date_created', 'date_joined', 'timestamp', 'last_updated', 'server_timestamp', 'muted_topics'];
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** The groups of the state that acts change. */
const GROUPS = [
  ...['realm_user', 'stream', 'subscription', 'default_streams', 'channel_folders', 'drafts', 'saved_snippets'],
  ...['scheduled_messages', 'user_topic', 'realm_emoji', 'custom_profile_fields', 'realm_user_groups'],
  'realm_bot',
];

/** One of two organisations that were made alike: what differs between them by nature is told apart by name. */
export class Twin {
  readonly people: Organisation;
  readonly #names = new Map<string, string>();
  readonly #hearing: Person[];
  /** Each listener's queue, and how far it was read. */
  #queues: { person: Person; id: string; readThrough: number }[] = [];

  private constructor(people: Organisation) {
    this.people = people;
    this.#hearing = [people.owner, people.member, people.guest];
  }

  static async make(): Promise<Twin> {
    const twin = new Twin(await organisation());
    for (const role of ['owner', 'administrator', 'moderator', 'member', 'guest', 'bot'] as const) {
      twin.name('user', twin.people[role].id, role);
    }
    return twin;
  }

  /** Says what an id is of, so that the same thing has the same name in both. */
  name(kind: string, id: number, name: string): number {
    this.#names.set(`${kind} ${id}`, `the ${kind} ${name}`);
    return id;
  }

  async listen(): Promise<void> {
    const parameters = { include_subscribers: 'true', fetch_event_types: [] };
    this.#queues = await Promise.all(
      this.#hearing.map(async (person) => {
        const { queue_id: id, last_event_id: readThrough } = await person.register(parameters);
        return { person, id, readThrough };
      }),
    );
  }

  /** What the owner, the member and the guest heard since `listen`, or since they were asked last. */
  async heard(): Promise<Json> {
    const events = await Promise.all(
      this.#queues.map(async (queue) => {
        const page = await queue.person.poll(queue.id, queue.readThrough, { dontBlock: true });
        queue.readThrough = page.at(-1)?.id ?? queue.readThrough;
        return page.map(({ id: _, ...event }) => event);
      }),
    );
    return this.canonical(events);
  }

  /** What they would fetch now. */
  async state(): Promise<Json> {
    const parameters = { fetch_event_types: GROUPS, include_subscribers: 'true' };
    const replies = await Promise.all(this.#hearing.map((person) => person.register(parameters)));
    return this.canonical(replies.map(({ queue_id: _, last_event_id: _id, ...state }) => state));
  }

  /** A message without what differs by nature. */
  message(text: string): string {
    return text
      .replaceAll(UUID, 'some queue')
      .replaceAll(/(?<=\bUser )\d+/g, (id) => this.#names.get(`user ${id}`) ?? id)
      .replaceAll(/(?<=\bUser group )\d+/g, (id) => this.#names.get(`group ${id}`) ?? id)
      .replaceAll(/(?<=\bField id )\d+/g, (id) => this.#names.get(`field ${id}`) ?? id)
      .replaceAll(/(?<=\bID:? )\d+/g, (id) => this.#nameOfAny(Number(id)) ?? id);
  }

  canonical(value: Json, key = '', parent = ''): Json {
    if (Array.isArray(value)) return value.map((element) => this.canonical(element, key, parent));
    if (typeof value === 'string') return this.#canonicalText(value, key);
    if (typeof value === 'number') return this.#canonicalNumber(value, key, parent);
    if (typeof value !== 'object' || value === null) return value;
    // By ids, which are texts.
    if (key === 'realm_emoji') return Object.values<Json>(value).map(({ id: _, ...emoji }) => this.canonical(emoji));
    const fields = Object.entries(value).map(([name, field]) => {
      if (key === 'profile_data') return [this.canonical(Number(name), 'id', 'fields'), this.canonical(field)];
      // Fields are listed in their order; a new one's number is its id, which may be any.
      if (name === 'order' && 'field_data' in value) return [name, 'as listed'];
      // A new folder's place is its own id; what the value of an update is depends on the property.
      if (name === 'order' && field === value.id) return [name, 'last'];
      // Whom a draft is for.
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
    // Of a field of users.
    if (/^\[\d+(,\d+)*\]$/.test(value)) return this.canonical(JSON.parse(value), 'user_ids');
    if (value.startsWith('/emoji/')) return value.replace(UUID, 'some image');
    const avatar = /^\/avatar\/(\d+)/.exec(value)?.[1];
    if (avatar !== undefined) return value.replace(avatar, this.canonical(Number(avatar), 'user_id'));
    return value.replaceAll(this.people.realm.subdomain, 'twin');
  }

  #canonicalNumber(value: number, key: string, parent: string): Json {
    if (TIMES.includes(key)) return 'some time';
    const group = /^(realm_)?can_.*_group$/.test(key) ? 'group' : undefined;
    const kind = key === 'id' ? OWN_ID[parent] : (group ?? KINDS[key]);
    if (kind === undefined || value < 0) return value;
    const known = this.#names.get(`${kind} ${value}`);
    if (known !== undefined) return known;
    // Things made by the acts are known by the order in which they come up.
    this.name(kind, value, `number ${this.#names.size}`);
    return this.#names.get(`${kind} ${value}`);
  }

  #nameOfAny(id: number): string | undefined {
    const entry = [...this.#names].find(([name]) => name.endsWith(` ${id}`));
    return entry?.[1];
  }
}

/** Checks that the reference tells of the endpoint at an address that this mutation does the same. */
export function expectDeclared(method: string, address: string, mutation: string): void {
  const declared = routes
    .filter(
      (route) => route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(address),
    )
    .flatMap(({ twins }) => twins.map((twin) => twin.replace(/\(.*/, '')));
  expect(declared, `${method} ${address}`).toContain(mutation);
}

/** The same act by each door. Each is given the world its organisation was furnished with. */
export interface Act<W> {
  readonly rest: (world: W) => Promise<RestReply>;
  /** A mutation's union, or a whole reply. */
  readonly graphql: (world: W) => Promise<Json>;
  /** What both must answer. Default: success. */
  readonly code?: string;
}

/**
 * Checks that each act, done over REST in one organisation and over GraphQL in its twin, has the same outcome, is told
 * by the same events, and leaves the same rows.
 *
 * @param furnish Makes what the acts need, in each of the two; it names what it makes.
 */
export async function expectParity<W>(
  furnish: (twin: Twin) => Promise<W>,
  acts: Readonly<Record<string, Act<W>>>,
): Promise<void> {
  const twins = await Promise.all([Twin.make(), Twin.make()]);
  const worlds = [];
  for (const twin of twins) worlds.push(await furnish(twin));
  const [[left, right], [leftWorld, rightWorld]] = [twins as [Twin, Twin], worlds as [W, W]];
  await Promise.all(twins.map((twin) => twin.listen()));
  for (const [name, { rest, graphql, code }] of Object.entries(acts)) {
    const byRest = ofRest(left, await rest(leftWorld));
    const byGraphql = ofGraphql(right, await graphql(rightWorld));
    expect(byGraphql, name).toEqual(byRest);
    if (code === undefined) expect(byRest, name).toBe('success');
    else expect(byRest, name).toMatchObject({ code });
    // What a refusal told, if anything, is heard with what comes next.
    if (code === undefined) expect(await right.heard(), name).toEqual(await left.heard());
  }
  expect(await right.heard(), 'the refusals').toEqual(await left.heard());
  expect(await right.state()).toEqual(await left.state());
}

function ofRest(twin: Twin, { status, body }: RestReply): Outcome {
  return status === 200 ? 'success' : { code: body.code, message: twin.message(body.msg) };
}

function ofGraphql(twin: Twin, result: Json): Outcome {
  const failure = result.errors?.[0];
  if (failure !== undefined) return { code: failure.extensions.code, message: twin.message(failure.message) };
  return result.code === undefined ? 'success' : { code: result.code, message: twin.message(result.message) };
}
