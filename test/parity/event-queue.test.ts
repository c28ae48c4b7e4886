import { describe, expect, test } from 'vitest';
import { bothDoors, furnish, note, type Who } from '../helpers/both-doors.ts';
import { type EquivalentOrganization, expectParity } from '../helpers/equivalents.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

describe('event queues', () => {
  const lost = 'BAD_EVENT_QUEUE_ID';
  const absent = '00000000-0000-4000-8000-000000000000';

  test.concurrent('POST /register and registerEventQueue', async () => {
    const act = (who: Who, rest: object, graphql: object, code?: string) =>
      bothDoors('POST', '/register', 'registerEventQueue')(
        who,
        () => rest,
        () => graphql,
        code,
      );
    const narrow = (operator: string, operand: string) => [[operator, operand]];
    await expectParity(furnish, {
      plain: act('guest', {}, {}),
      'with options': act(
        'member',
        {
          event_types: ['drafts'],
          narrow: narrow('channel', 'general'),
          idle_queue_timeout: 60,
          all_public_streams: true,
        },
        {
          ...{ eventTypes: ['DRAFTS'], idleTimeoutSeconds: 60, allPublicChannels: true },
          narrow: { channel: { name: 'general' } },
        },
      ),
      'all public channels, as a guest': act(
        'guest',
        { all_public_streams: true },
        { allPublicChannels: true },
        'BAD_REQUEST',
      ),
      'a narrow of more terms than anybody needs': act(
        'member',
        { narrow: Array.from({ length: 21 }, () => ['is', 'dm']) },
        { narrow: { is: Array.from({ length: 21 }, () => 'DIRECT') } },
        'BAD_REQUEST',
      ),
    });
  });

  test.concurrent('DELETE /events and deleteEventQueue', async () => {
    const queue = async (twin: EquivalentOrganization) => ({
      ...(await furnish(twin)),
      ...(await twin.people.member.register()),
    });
    const act = (who: Who, id: (world: Json) => string, code?: string) =>
      bothDoors('DELETE', '/events', 'deleteEventQueue')(
        who,
        (world) => ({ queue_id: id(world) }),
        (world) => ({ queueId: id(world) }),
        code,
      );
    // The ids in the messages differ by nature, so codes and reasons are compared below.
    await expectParity(queue, { one: act('member', ({ queue_id }) => queue_id) });
    await expectParity(queue, { 'one that is not there': act('member', () => absent, lost) });
  });

  test.concurrent('GET /events and events: the same code and the same reason for every loss', async () => {
    const { member, owner } = await createOrganization();
    const { queue_id, last_event_id } = await member.register();
    const ended = await member.register();
    await member.ok('DELETE', '/events', { queue_id: ended.queue_id });
    const both = async (person: Person, queueId: string, after: number) => {
      const parameters = { queue_id: queueId, last_event_id: after, dont_block: true };
      const { body } = await person.rest('GET', '/events', parameters);
      const query = 'query ($q: String!, $a: LongId) { events(queueId: $q, after: $a) { events { position } } }';
      const { errors } = await person.graphql(query, { q: queueId, a: after });
      const [failure] = errors ?? [];
      expect([failure.extensions.code, failure.extensions.reason, failure.message]).toEqual([
        body.code,
        body.reason,
        body.msg,
      ]);
      return [body.code, body.reason];
    };
    expect(await both(member, absent, -1)).toEqual([lost, 'unknown']);
    expect(await both(member, 'nonsense', -1)).toEqual([lost, 'unknown']);
    expect(await both(owner, queue_id, last_event_id)).toEqual([lost, 'unknown']);
    expect(await both(member, ended.queue_id, ended.last_event_id)).toEqual([lost, 'expired']);
    expect(await both(member, queue_id, last_event_id + 1_000)).toEqual([lost, 'from_future']);
  });

  test.concurrent('GET /events and events: both return every event, with the same data', async () => {
    const { owner, administrator, member, guest } = await createOrganization();
    const { queue_id, last_event_id } = await member.register();
    const { id } = await owner.ok('POST', '/channels/create', {
      name: 'a',
      subscribers: [guest.id],
      is_default_stream: true,
    });
    const { id: shut } = await member.ok('POST', '/channels/create', {
      name: 'b',
      subscribers: [member.id],
      invite_only: true,
    });
    const one = { stream_id: shut, property: 'is_muted', value: true };
    await member.ok('POST', '/users/me/subscriptions/properties', {
      subscription_data: [one, { ...one, property: 'color', value: '#000000' }],
    });
    await owner.ok('PATCH', `/streams/${id}`, {
      new_name: 'c',
      description: 'd',
      is_default_stream: false,
      is_private: undefined,
    });
    await owner.ok('DELETE', '/users/me/subscriptions', {
      subscriptions: ['c', 'b'],
      principals: [guest.id, member.id],
    });
    await owner.ok('PATCH', `/users/${guest.id}`, { full_name: 'Gia', role: 400 });
    await owner.ok('POST', '/users', { email: 'new@example.com', password: 'correct horse', full_name: 'New' });
    const { channel_folder_id } = await administrator.ok('POST', '/channel_folders/create', {
      name: 'F',
      description: '',
    });
    await administrator.ok('PATCH', `/channel_folders/${channel_folder_id}`, { name: 'G' });
    await administrator.ok('PATCH', '/channel_folders', { order: [channel_folder_id] });
    const { ids } = await member.ok('POST', '/drafts', { drafts: [note] });
    await member.ok('PATCH', `/drafts/${ids[0]}`, { draft: note });
    await member.ok('DELETE', `/drafts/${ids[0]}`);
    const { saved_snippet_id } = await member.ok('POST', '/saved_snippets', { title: 'a', content: 'b' });
    await member.ok('PATCH', `/saved_snippets/${saved_snippet_id}`, { title: 'c' });
    await member.ok('DELETE', `/saved_snippets/${saved_snippet_id}`);
    await guest.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
    await owner.ok('PATCH', '/realm/user_settings_defaults', { color_scheme: 2 });
    const heard = await member.poll(queue_id, last_event_id, { dontBlock: true });
    const kinds = new Set(heard.map(({ type, op }) => `${type} ${op ?? ''}`.trim()));
    expect(kinds.size).toBeGreaterThan(18);
    const read = async (selection: string) => {
      const query = `query ($q: String!, $a: LongId) { events(queueId: $q, after: $a) {
        hasMore events { __typename position type ${selection} } } }`;
      return (await member.query(query, { q: queue_id, a: last_event_id })).events;
    };
    const { events: shown, hasMore } = await read('');
    expect(hasMore).toBe(false);
    expect(shown.map(({ position }: Json) => position)).toEqual(heard.map(({ id }) => id));
    const types = new Map(heard.map(({ type }, i) => [type, shown[i].type]));
    expect(shown.map(({ type }: Json) => type)).toEqual(heard.map(({ type }) => types.get(type)));
    expect([types.get('drafts'), types.get('realm_user_settings_defaults')]).toEqual([
      'DRAFTS',
      'USER_SETTINGS_DEFAULTS',
    ]);
    expect(new Set(types.values()).size).toBe(types.size);
    // Each REST type and op has its own GraphQL type, with more fields than id and type.
    const names = new Map(heard.map(({ type, op }, i) => [`${type} ${op ?? ''}`.trim(), shown[i].__typename]));
    expect(new Set(names.values()).size).toBe(kinds.size);
    const selectionOf = await selections(member);
    for (const [kind, name] of names) {
      const { events } = await read(`... on ${name} { ${selectionOf(name)} }`);
      for (const [i, { type, op }] of heard.entries()) {
        const { __typename, position: _, type: _type, ...fields } = events[i];
        if (`${type} ${op ?? ''}`.trim() !== kind) continue;
        expect(__typename).toBe(name);
        expect(Object.keys(fields).length, name).toBeGreaterThan(0);
      }
    }
  });
});

/** Returns a function that selects all fields of a GraphQL type, recursively. Of nested entities, it selects only the id. */
async function selections(person: Person): Promise<(type: string) => string> {
  const { __schema } = await person.query(`{ __schema { types { kind name
    fields { name type { ...T ofType { ...T ofType { ...T ofType { ...T } } } } } } } }
    fragment T on __Type { kind name }`);
  const types = new Map<string, Json>(__schema.types.map((type: Json) => [type.name, type]));
  const named = (type: Json): Json => (type.ofType == null ? types.get(type.name) : named(type.ofType));
  const isEntity = ({ fields }: Json) => fields.some(({ name }: Json) => name === 'id');
  const selectionOf = (name: string): string =>
    types
      .get(name)
      .fields.map(({ name, type }: Json) => {
        const inner = named(type);
        if (inner.kind !== 'OBJECT') return name;
        return `${name} { ${isEntity(inner) ? '__typename id' : selectionOf(inner.name)} }`;
      })
      .join(' ');
  return selectionOf;
}
