import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

const START = Date.UTC(2026, 10, 20, 12);
let clock = START;
let service: InProcess;

beforeAll(async () => {
  service = await shareInProcess({ counts: true, now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = () => createOrganization({}, { on: service });
const seconds = () => Math.floor(clock / 1000);
const pass = (count: number) => {
  clock += count * 1000;
};
const ping = (person: Person, more: Parameters = {}) =>
  person.ok('POST', '/users/me/presence', { status: 'active', last_update_id: -1, ...more });
const quietly = (person: Person, status = 'active') => ping(person, { status, ping_only: true });
const MODERN = { client_capabilities: { notification_settings_null: true, simplified_presence_events: true } };

describe('POST /users/me/presence', () => {
  test('returns the presence of all users by id, and later only what has changed since', async () => {
    const { owner, member, guest } = await place();
    const first = await ping(member);
    const seen = { active_timestamp: seconds(), idle_timestamp: seconds() };
    expect(first).toEqual({
      ...{ result: 'success', msg: '', server_timestamp: clock / 1000, presence_last_update_id: 1 },
      presences: { [member.id]: seen },
    });
    const { presence_last_update_id: known } = await ping(owner);
    expect((await ping(guest, { last_update_id: known })).presences).toEqual({ [guest.id]: seen });
    expect(await ping(guest, { last_update_id: known + 1 })).toMatchObject({
      ...{ presences: {}, presence_last_update_id: known + 1 },
    });
    expect(Object.keys((await ping(owner, { last_update_id: 0 })).presences).length).toBe(3);
    expect(await quietly(owner)).toEqual({ result: 'success', msg: '' });
  });

  test('returns presence by address to old clients, as registration does', async () => {
    const { owner, member } = await place();
    await quietly(member);
    const plain = (more: Parameters) => owner.ok('POST', '/users/me/presence', { status: 'active', ...more });
    const website = { client: 'website', status: 'active', timestamp: seconds() };
    const legacy = { website: { ...website, pushable: false }, aggregated: website };
    expect(await plain({})).toMatchObject({
      ...{ server_timestamp: clock / 1000, presence_last_update_id: 2 },
      presences: { [owner.email]: legacy, [member.email]: legacy },
    });
    expect((await plain({ slim_presence: false })).presences).toEqual(
      (await owner.register({ fetch_event_types: ['presence'] })).presences,
    );
    const byId = { active_timestamp: seconds(), idle_timestamp: seconds() };
    const modern = { [owner.id]: byId, [member.id]: byId };
    expect((await plain({ slim_presence: true })).presences).toEqual(modern);
    expect((await plain({ last_update_id: -1 })).presences).toEqual(modern);
    expect((await plain({ last_update_id: 0 })).presences).toEqual(modern);
    // A user with a hidden address is identified by a placeholder address.
    await member.ok('PATCH', '/settings', { email_address_visibility: 4 });
    const addresses = Object.keys((await plain({})).presences);
    expect(addresses).toHaveLength(2);
    expect(addresses).not.toContain(member.email);
  });

  test('stores active and idle times separately, and returns one status to old clients', async () => {
    const { owner, member } = await place();
    await quietly(member);
    const active = seconds();
    pass(60);
    await quietly(member, 'idle');
    const read = (id: number | string) => owner.ok('GET', `/users/${id}/presence`);
    const status = (status: string, timestamp: number) => ({ status, timestamp });
    const first = await read(member.id);
    expect(first.server_timestamp).toBe(clock / 1000);
    // Typed clients decode `presence` as a map from clients to statuses, so a number in it would fail.
    expect(first.presence).toEqual({ website: status('active', active), aggregated: status('active', active) });
    pass(60);
    await quietly(member, 'idle');
    const idle = status('idle', active + 120);
    expect((await read(member.email)).presence).toMatchObject({ website: idle, aggregated: idle });
    pass(200);
    expect((await read(member.id)).presence.aggregated).toEqual(idle);
    pass(1);
    expect((await read(member.id)).presence).toMatchObject({
      website: idle,
      aggregated: { ...idle, status: 'offline' },
    });
    const { presences, server_timestamp } = await owner.ok('GET', '/realm/presence');
    const website = { client: 'website', ...idle };
    expect([presences, server_timestamp]).toEqual([
      { [member.email]: { website: { ...website, pushable: false }, aggregated: website } },
      clock / 1000,
    ]);
  });

  test('writes a ping in one statement, and none that changes nothing', async () => {
    const { member } = await place();
    const { id } = member;
    const row = () => service.app.db.presence.findFirst({ where: { userId: id } });
    await quietly(member);
    const first = await row();
    pass(54);
    await quietly(member);
    expect(await row()).toEqual(first);
    // When an idle user becomes active, the service stores the change without delay.
    pass(6);
    await quietly(member, 'idle');
    pass(1);
    await quietly(member);
    expect((await row())?.activeAt).toEqual(new Date(clock));
    pass(60);
    const queries = await service.queriesOf(() => quietly(member));
    // The first statement authenticates the request.
    expect(queries.length, queries.join('\n')).toBe(2);
    expect(await row()).toMatchObject({ activeAt: new Date(clock), idleAt: new Date(clock), updateId: 4n });
  });

  test('omits users who were not seen for the requested number of days', async () => {
    const { owner, member, guest } = await place();
    await quietly(member);
    pass(86_400 * 3);
    await quietly(guest);
    pass(86_400 * 12);
    const idsFor = async (more: Parameters) => Object.keys((await ping(owner, more)).presences).map(Number);
    expect(await idsFor({})).toEqual([guest.id, owner.id].sort((a, b) => a - b));
    expect(await idsFor({ history_limit_days: 1 })).toEqual([owner.id]);
    expect((await idsFor({ history_limit_days: 15 })).length).toBe(3);
    expect((await idsFor({ history_limit_days: 1e9 })).length).toBe(3);
    expect(await ping(owner, { history_limit_days: 0 })).toMatchObject({ presences: {}, presence_last_update_id: -1 });
    // A request with `last_update_id` returns all later changes, regardless of `history_limit_days`.
    expect((await idsFor({ last_update_id: 1, history_limit_days: 1 })).length).toBe(2);
    const registered = (days: number | null) =>
      owner.register({ fetch_event_types: ['presence'], slim_presence: true, presence_history_limit_days: days });
    expect(Object.keys((await registered(null)).presences).length).toBe(2);
    expect(Object.keys((await registered(15)).presences).length).toBe(3);
    expect(await registered(0)).toMatchObject({ presences: {}, presence_last_update_id: -1 });
  });

  test('refuses bots, other values and unknown users', async () => {
    const { owner, member, bot } = await place();
    for (const [person, method, path, parameters, msg] of [
      [bot, 'POST', '/users/me/presence', { status: 'active' }, 'This endpoint does not accept bot requests.'],
      [member, 'POST', '/users/me/presence', { status: 'away' }, 'Invalid status: away'],
      [member, 'POST', '/users/me/presence', { status: '' }, 'Invalid status: '],
      [member, 'GET', `/users/${bot.id}/presence`, {}, 'Presence is not supported for bot users.'],
      [member, 'GET', `/users/${owner.id}/presence`, {}, `No presence data for ${owner.id}`],
      [member, 'GET', `/users/${owner.email}/presence`, {}, `No presence data for ${owner.email}`],
      [member, 'GET', '/users/2000000000/presence', {}, 'No such user'],
    ] as const) {
      const { status, body } = await person.rest(method, path, parameters);
      expect([status, body.code, body.msg]).toEqual([400, 'BAD_REQUEST', msg]);
    }
    const { body } = await member.rest('POST', '/users/me/presence', {});
    expect([body.code, body.var_name]).toEqual(['REQUEST_VARIABLE_MISSING', 'status']);
  });
});

describe('the presences of given users', () => {
  const LIST = `query ($userIds: [ID!], $since: PresencesSinceInput, $first: Int, $after: String) {
    presences(userIds: $userIds, since: $since, first: $first, after: $after) {
      totalCount pageInfo { endCursor } nodes { user { databaseId } status } } }`;
  const ids = (people: readonly { readonly id: number }[]) => people.map(({ id }) => globalId('User', id));
  const list = async (by: Person, variables: Parameters) => (await by.query(LIST, variables)).presences;
  const idsIn = ({ nodes }: Json): number[] => nodes.map(({ user }: Json) => user.databaseId);

  test('are listed in pages, whenever they were present', async () => {
    const { owner, member, guest, moderator, bot } = await place();
    for (const person of [member, guest, moderator]) await quietly(person);
    pass(86_400 * 20);
    await quietly(owner);
    expect(idsIn(await list(owner, {}))).toEqual([owner.id]);
    const asked = ids([owner, guest, member, bot]);
    expect(idsIn(await list(owner, { userIds: asked }))).toEqual([member.id, guest.id, owner.id]);
    expect(await list(owner, { userIds: asked })).toMatchObject({
      totalCount: 3,
      nodes: [{ status: 'OFFLINE' }, {}, {}],
    });
    expect(idsIn(await list(owner, { userIds: asked, since: { days: 14 } }))).toEqual([owner.id]);
    const first = await list(owner, { userIds: asked, first: 2 });
    expect(idsIn(first)).toEqual([member.id, guest.id]);
    const after = first.pageInfo.endCursor;
    expect(idsIn(await list(owner, { userIds: asked, first: 2, after }))).toEqual([owner.id]);
    expect(await list(owner, { userIds: [] })).toMatchObject({ totalCount: 0, nodes: [] });
  });

  test('are empty for unknown users, and refused for more than 500', async () => {
    const [{ owner }, { member: stranger }] = [await place(), await place()];
    await quietly(owner);
    await quietly(stranger);
    const unknown = [...ids([stranger, { id: 2_000_000_000 }]), globalId('Channel', owner.id), 'nonsense'];
    expect(await list(owner, { userIds: unknown })).toMatchObject({ totalCount: 0, nodes: [] });
    const many = (count: number) => Array.from({ length: count }, () => globalId('User', owner.id));
    expect(idsIn(await list(owner, { userIds: many(500) }))).toEqual([owner.id]);
    const { data, errors } = await owner.graphql(LIST, { userIds: many(501) });
    expect(data).toEqual({ presences: null });
    expect(errors).toMatchObject([{ message: 'userIds is too long (limit: 500 items)', path: ['presences'] }]);
  });
});

describe('a client that requests changes since the last reply', () => {
  // Uses the server that all tests share. On PostgreSQL, it writes several pings in one statement.
  test('misses nothing, however many users ping concurrently', async () => {
    const names = Array.from({ length: 24 }, (_, i) => `person ${i}`);
    const made = await createOrganization(Object.fromEntries(names.map((name) => [name, 'member'])));
    const people = names.map((name) => (made as unknown as Record<string, Person>)[name] as Person);
    const read = async (newerThan: number): Promise<[number, number][]> => {
      const { presences } = await made.owner.query(
        'query ($n: LongId!) { presences(first: 100, since: { version: $n }) { edges { node { user { databaseId } version } } } }',
        { n: newerThan },
      );
      return presences.edges.map(({ node }: Json) => [node.user.databaseId, node.version]);
    };
    const seen = new Map<number, number>();
    let known = -1;
    const ask = async () => {
      for (const [userId, updateId] of await read(known)) {
        seen.set(userId, updateId);
        known = Math.max(known, updateId);
      }
    };
    // The first ping of a user inserts a row. Later pings update it.
    for (const status of ['idle', 'active']) {
      let pinging = true;
      const pings = Promise.all(people.map((person) => quietly(person, status))).finally(() => {
        pinging = false;
      });
      while (pinging) await ask();
      await pings;
      await ask();
      expect([...seen].sort()).toEqual((await read(-1)).sort());
      expect(seen.size).toBe(people.length);
    }
    expect(known).toBe(2 * people.length);
  });
});

describe('the event', () => {
  test('is sent when a user comes online, not while they stay online, in the format of the client', async () => {
    const { owner, member, guest } = await place();
    const modern = await owner.receiving(MODERN);
    const legacy = await guest.receiving();
    const slim = await guest.receiving({ slim_presence: true });
    const hear = async () => ({ modern: await modern(), legacy: await legacy(), slim: await slim() });
    await quietly(member, 'idle');
    const first = seconds();
    const coming = await hear();
    for (const status of ['active', 'idle']) {
      pass(60);
      await quietly(member, status);
    }
    expect(await hear()).toEqual({ modern: [], legacy: [], slim: [] });
    pass(200);
    await quietly(member);
    const last = seconds();
    const again = await hear();
    const { joinedAt } = await service.app.db.user.findFirstOrThrow({ where: { id: member.id } });
    const joined = Math.floor(joinedAt.getTime() / 1000);
    const times = (active_timestamp: number, idle_timestamp: number) => ({ active_timestamp, idle_timestamp });
    expect([coming.modern, again.modern]).toEqual([
      [{ type: 'presence', presences: { [member.id]: times(joined, first) } }],
      [{ type: 'presence', presences: { [member.id]: times(last, last) } }],
    ]);
    const told = (status: string, timestamp: number, server_timestamp: number) => ({
      ...{ type: 'presence', user_id: member.id, server_timestamp },
      presence: { website: { client: 'website', status, timestamp, pushable: false } },
    });
    // A new user without activity counts as active at the time they joined.
    const asLegacy = [[told('active', joined, first)], [told('active', last, last)]];
    expect([coming.slim, again.slim]).toEqual(asLegacy);
    const withEmail = asLegacy.map((events) => events.map((event) => ({ ...event, email: member.email })));
    expect([coming.legacy, again.legacy]).toEqual(withEmail);
  });

  test('is sent once if several clients come online together', async () => {
    const { owner, member } = await createOrganization();
    const heard = await owner.receiving(MODERN);
    await Promise.all(Array.from({ length: 6 }, () => quietly(member)));
    expect((await heard()).length).toBe(1);
  });

  test('is not sent to queues registered a minute later, or in organizations of more than 100 users', async () => {
    const people = await place();
    const { owner, member, guest } = people;
    const { queue_id } = await owner.register({ fetch_event_types: [] });
    await quietly(member);
    pass(61);
    expect(await owner.poll(queue_id, -1, { dontBlock: true })).toEqual([]);
    await fillTo(people, 100);
    const heard = await owner.receiving(MODERN);
    await quietly(guest);
    expect((await heard()).length).toBe(1);
    await fillTo(people, 101);
    await quietly(owner);
    expect(await heard()).toHaveLength(1);
    expect(Object.keys((await ping(owner)).presences).length).toBe(3);
  });
});

async function fillTo({ organization }: Organization, count: number): Promise<void> {
  const { db } = service.app;
  const there = await db.user.count({ where: { organizationId: organization.id, isActive: true } });
  await db.user.createMany({
    data: Array.from({ length: count - there }, (_, i) => ({
      ...{
        organizationId: organization.id,
        email: `${count}.${i}@${organization.subdomain}.example`,
        fullName: `Other ${i}`,
      },
      ...{ avatarSource: 'J', joinedAt: new Date(clock) },
    })),
  });
}

describe('a user who hides their presence', () => {
  test('appears offline immediately, and sends no further presence', async () => {
    const { owner, member, guest } = await place();
    await quietly(member);
    const heard = await guest.receiving(MODERN);
    const { presence_last_update_id: known } = await ping(owner);
    await member.ok('PATCH', '/settings', { presence_enabled: false });
    const offline = seconds() - 201;
    const times = { active_timestamp: offline, idle_timestamp: offline };
    expect((await ping(owner, { last_update_id: known })).presences).toMatchObject({ [member.id]: times });
    pass(60);
    await quietly(member);
    expect((await ping(owner)).presences[member.id]).toEqual(times);
    const { presence } = await owner.ok('GET', `/users/${member.id}/presence`);
    expect(presence.aggregated).toEqual({ status: 'offline', timestamp: offline });
    await member.ok('POST', '/users/me/status', { away: false });
    await quietly(member);
    expect((await ping(owner)).presences[member.id].idle_timestamp).toBe(seconds());
    const ownPresence = (await heard()).filter(
      ({ presences, user_id }) => user_id === member.id || presences?.[member.id],
    );
    expect(ownPresence).toEqual([
      { type: 'presence', presences: { [member.id]: times } },
      { type: 'user_status', user_id: member.id, away: true },
      { type: 'presence', presences: { [member.id]: times } },
      { type: 'user_status', user_id: member.id, away: false },
      { type: 'presence', presences: { [member.id]: { active_timestamp: seconds(), idle_timestamp: seconds() } } },
    ]);
  });

  test('stores nothing if they never showed it, nor does any user if the organization disables presence', async () => {
    const { owner, member, guest } = await place();
    await member.ok('PATCH', '/settings', { presence_enabled: false });
    await quietly(member);
    await quietly(guest);
    expect(
      Object.keys((await ping(owner)).presences)
        .map(Number)
        .sort(),
    ).toEqual([owner.id, guest.id].sort());
    await owner.ok('PATCH', '/realm', { presence_disabled: true });
    pass(60);
    const heard = await guest.receiving(MODERN);
    expect(await ping(owner)).toMatchObject({ presences: {}, presence_last_update_id: -1 });
    expect(await heard()).toEqual([]);
    expect((await owner.ok('GET', '/realm/presence')).presences).toEqual({});
    const { body } = await owner.rest('GET', `/users/${guest.id}/presence`);
    expect(body.msg).toBe(`No presence data for ${guest.id}`);
    expect((await owner.register({ fetch_event_types: ['presence'] })).presences).toEqual({});
    const row = await service.app.db.presence.findFirstOrThrow({ where: { userId: owner.id } });
    expect(row.idleAt).toEqual(new Date(clock - 60_000));
    // No presence event is sent for a user who hides their presence, although their presence was stored earlier.
    const told = await owner.receiving({ ...MODERN, event_types: ['presence', 'user_status'] });
    await guest.ok('PATCH', '/settings', { presence_enabled: false });
    expect((await told()).map(({ type }) => type)).toEqual(['user_status']);
  });
});

describe('registration', () => {
  test('contains presence by id for clients that support it, and by address for old ones', async () => {
    const { owner, member } = await place();
    const registered = (more: Parameters) => owner.register({ fetch_event_types: ['presence'], ...more });
    expect(await registered({})).toMatchObject({ presences: {}, presence_last_update_id: -1 });
    await quietly(member);
    await member.ok('PATCH', '/settings', { email_address_visibility: 4 });
    const { user } = await owner.ok('GET', `/users/${member.id}`);
    const website = { client: 'website', status: 'active', timestamp: seconds(), pushable: false };
    expect(await registered({})).toMatchObject({
      ...{ presence_last_update_id: 1, server_timestamp: clock / 1000 },
      presences: {
        [user.email]: { website, aggregated: { client: 'website', status: 'active', timestamp: seconds() } },
      },
    });
    const byId = { [member.id]: { active_timestamp: seconds(), idle_timestamp: seconds() } };
    expect((await registered({ slim_presence: true })).presences).toEqual(byId);
    expect((await registered(MODERN)).presences).toEqual(byId);
  });
});

describe('over GraphQL', () => {
  const PRESENCE = 'user { databaseId } status activeAt idleAt version';

  test('is the same as over REST', async () => {
    const { owner, member, guest, bot } = await place();
    await using stream = await owner.events('... on PresenceChangedEvent { user { id presence { idleAt version } } }');
    const { presence } = await member.mutate('recordPresence', { status: 'IDLE' }, `presence { ${PRESENCE} }`);
    expect(presence).toMatchObject({
      ...{ user: { databaseId: member.id }, idleAt: new Date(clock).toISOString(), version: 1 },
    });
    expect(await stream.next()).toEqual({
      user: { id: globalId('User', member.id), presence: { idleAt: new Date(clock).toISOString(), version: 1 } },
    });
    await guest.mutate('recordPresence', { status: 'ACTIVE' }, 'presence { version }');
    const { users } = await owner.query(
      `{ users { edges { node { databaseId presence { ${PRESENCE} user { fullName } } } } } }`,
    );
    const shown = users.edges.filter(({ node }: { node: { presence: unknown } }) => node.presence !== null);
    expect(shown.map(({ node }: { node: { databaseId: number } }) => node.databaseId)).toEqual([member.id, guest.id]);
    const pageOf = async (args: string) => {
      const { presences } = await owner.query(
        `{ presences(${args}) { edges { cursor node { version user { databaseId } } } pageInfo { hasNextPage } } }`,
      );
      const nodes = presences.edges.map(({ node }: { node: { version: number } }) => node.version);
      return { nodes, more: presences.pageInfo.hasNextPage, cursor: presences.edges[0]?.cursor };
    };
    const first = await pageOf('first: 1');
    expect(first).toMatchObject({ nodes: [1], more: true });
    expect(await pageOf(`first: 5, after: "${first.cursor}"`)).toMatchObject({ nodes: [2], more: false });
    expect(await pageOf('last: 5, since: { version: 1 }')).toMatchObject({ nodes: [2] });
    expect(await pageOf('since: { days: 0 }')).toMatchObject({ nodes: [] });
    expect(await bot.tryMutation('recordPresence', { status: 'ACTIVE' })).toMatchObject({
      ...{ __typename: 'ForbiddenError', code: 'BAD_REQUEST' },
    });
    await member.ok('PATCH', '/settings', { presence_enabled: false });
    const { presence: hidden } = await member.mutate('recordPresence', { status: 'ACTIVE' }, 'presence { status }');
    expect(hidden).toEqual({ status: 'OFFLINE' });
  });
});
