import { type GraphQLObjectType, isInterfaceType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../../src/server/registries/features.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { doEverything } from '../helpers/everything.ts';
import { documentOf, GRAPHQL_CALLS, nodeIds } from '../helpers/graphql-calls.ts';
import { type Json, send } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { contentsOf, makeScene, type Names, nothing, type Scene } from '../helpers/scene.ts';

// Tests two organizations on one server. Changes in one must not be delivered to, found in or displayed in the other.

const schema = buildSchema();

let quiet: Scene;
let busy: Scene;

describe('an organization on the same server', () => {
  beforeAll(async () => {
    [quiet, busy] = await Promise.all([makeScene(), makeScene()]);
  });

  test('refuses credentials of another, at every endpoint and field', async () => {
    const stranger = quiet.anonymous.as(busy.owner.authorization);
    const refused = [401, 'INVALID_API_KEY'];
    for (const { method, path, auth } of routes) {
      if (auth === 'none') continue;
      const [call] = REST_CALLS[`${method} ${path}`]?.(quiet.names) ?? [];
      const { status, body } = await stranger.rest(method, pathOf(path, call ?? {}), call?.parameters);
      expect([status, body.code], `${method} ${path}`).toEqual(refused);
    }
    for (const authorization of [busy.owner.authorization, `Bearer ${busy.owner.apiKey}`]) {
      for (const [name, calls] of Object.entries(GRAPHQL_CALLS)) {
        const [call] = calls(quiet.names);
        if (call === undefined) continue;
        const { errors } = await quiet.anonymous.as(authorization).graphql(documentOf(schema, call), call.args);
        expect(errors?.[0]?.extensions.code, name).toBe('INVALID_API_KEY');
      }
    }
  });

  test('does not mix up its idempotency keys with those of another', async () => {
    const drafts = [{ type: '', to: [], topic: '', content: 'the same' }];
    const save = (person: Person) =>
      person.ok('POST', '/drafts', { drafts }, { headers: { 'idempotency-key': 'the same' } });
    const [ofBusy, ofQuiet] = [await save(busy.owner), await save(quiet.owner)];
    const inside = async (person: Person, id: number) =>
      (await person.ok('GET', '/drafts')).drafts.some((draft: Json) => draft.id === id);
    expect(await inside(busy.owner, ofBusy.ids[0])).toBe(true);
    expect(await inside(quiet.owner, ofQuiet.ids[0])).toBe(true);
    expect((await save(quiet.owner)).ids).toEqual(ofQuiet.ids);
  });

  test('finds no objects of another in rendered content', async () => {
    const stranger = await busy.signUp('Zebedee');
    const group = `group of ${busy.organization.subdomain}`;
    const forms = ({ channelName, channelId, emojiName, messageId }: Names, name: string, id: number, team: string) => [
      ...[`@**${name}**`, `@_**${name}**`, `@**|${id}**`, `@**${name}|${id}**`, `@**x|${id}**`, `@*${team}*`],
      ...[`#**${channelName}**`, `#**${channelName}>greetings**`, `#**${channelName}>greetings@${messageId}**`],
      ...[`:${emojiName}:`, `#narrow/channel/${channelId}`, `[x](#narrow/channel/${channelId}-x/near/${messageId})`],
    ];
    const none = nothing();
    const theirs = forms(busy.names, 'Zebedee', stranger.id, group);
    const nobodys = forms(none, 'Nobody-by-that', none.userId, 'no group');
    for (const [i, content] of theirs.entries()) {
      const shown = async (text: string) =>
        (await quiet.owner.ok('POST', '/messages/render', { content: text })).rendered;
      const bare = (html: string, names: Names, others: readonly string[]) =>
        [names.channelName, names.emojiName, ...others, ...[names.channelId, names.messageId].map(String)].reduce(
          (text, name) => text.replaceAll(name, '_'),
          html,
        );
      const found = bare(await shown(content), busy.names, ['Zebedee', group, String(stranger.id)]);
      const nothingFound = bare(await shown(nobodys[i] ?? ''), none, ['Nobody-by-that', 'no group', '2000000000']);
      expect(found, content).toBe(nothingFound);
    }
    // In the organization that contains the objects, all of them are found.
    const { rendered } = await busy.owner.ok('POST', '/messages/render', { content: theirs.join(' ') });
    expect(
      rendered.match(/class="(user-mention|user-group-mention|stream|stream-topic|message-link|emoji)/g)?.length,
    ).toBeGreaterThan(7);
  });

  test('searches only its own messages', async () => {
    const word = `unmistakable${busy.organization.subdomain}`;
    await busy.owner.ok('POST', '/messages', { type: 'direct', to: [busy.member.id], content: word });
    const found = async (person: Person) =>
      (await person.ok('GET', '/messages', { anchor: 'newest', num_before: 9, narrow: [['search', word]] })).messages;
    expect(await found(busy.member)).toHaveLength(1);
    for (const person of [quiet.owner, quiet.member]) expect(await found(person)).toEqual([]);
  });

  test('serves no pictures of another', async () => {
    const { names } = busy;
    const emoji = Object.values<Json>((await busy.owner.ok('GET', '/realm/emoji')).emoji)[0];
    const ofUser = (id: number) => [
      ...[`/avatar/${id}`, `/avatar/${id}/medium`, `/avatar/${id}?v=1`, `/avatar/${id}/medium?v=1`],
      ...[`/api/v1/users/${id}/avatar`, `/api/v1/users/${id}/avatar/medium`],
    ];
    const signed = async (id: number): Promise<string> => (await busy.owner.ok('GET', `/users/${id}`)).user.avatar_url;
    const own = [await signed(names.userId), await signed(names.botId), emoji.source_url];
    const theirs = [...ofUser(names.userId), ...ofUser(names.botId), ...own, `${emoji.source_url}/still`];
    const unknown = `/emoji/${crypto.randomUUID()}`;
    const unsigned = `/avatar/2000000000/${'A'.repeat(22)}?v=1`;
    const nobodys = [
      ...ofUser(2_000_000_000),
      ...ofUser(2_000_000_000),
      unsigned,
      unsigned,
      unknown,
      `${unknown}/still`,
    ];
    const picture = async (host: string, path: string) => {
      const { status, text, headers } = await send(quiet.owner.url, { method: 'GET', path, headers: { host } });
      return {
        status,
        text: text.replaceAll(path, '_'),
        location: headers['location'],
        cache: headers['cache-control'],
      };
    };
    for (const [i, path] of theirs.entries()) {
      const found = await picture(quiet.owner.host, path);
      expect(found, path).toEqual(await picture(quiet.owner.host, nobodys[i] ?? ''));
      if (own.includes(path)) expect(await picture(busy.owner.host, path), path).not.toEqual(found);
    }
  });

  test('paginates only its own objects, from any cursor', async () => {
    const fields = Object.values(schema.getQueryType()?.getFields() ?? {});
    const paged = fields.filter(
      ({ args }) => args.some(({ name }) => name === 'after') && args.some(({ name }) => name === 'first'),
    );
    expect(paged.length).toBeGreaterThan(10);
    for (const { name: field } of paged) {
      // Reads few objects at a time, because all of their fields are requested.
      const edgesOf = async (person: Person, args: Json): Promise<Json[]> => {
        const { data, errors } = await person.graphql(documentOf(schema, { operation: 'query', field, args }), args);
        expect(errors, field).toBeUndefined();
        return data[field].edges;
      };
      // Temporary addresses differ between requests.
      const shown = ({ temporaryUrl: _expires, ...node }: Json) => JSON.stringify(node);
      const own = new Set<string>();
      for (let page = await edgesOf(quiet.owner, { first: 5 }); page.length > 0; ) {
        for (const { node } of page) own.add(shown(node));
        page = await edgesOf(quiet.owner, { first: 5, after: page.at(-1).cursor });
      }
      const cursors = (await edgesOf(busy.owner, { first: 3 })).map(({ cursor }) => cursor);
      expect(cursors.length, field).toBeGreaterThan(0);
      for (const cursor of cursors) {
        const after = await edgesOf(quiet.owner, { first: 5, after: cursor });
        const before = await edgesOf(quiet.owner, { last: 5, before: cursor });
        for (const { node } of [...after, ...before]) expect(own, field).toContain(shown(node));
      }
    }
  });

  test('contains an object of every type that implements Node', () => {
    const node = schema.getType('Node');
    if (!isInterfaceType(node)) throw new Error('Node is an interface');
    const types = schema.getPossibleTypes(node).map((type: GraphQLObjectType) => type.name);
    expect(
      nodeIds(nothing())
        .map((id) => atob(id).split(':')[0])
        .toSorted(),
    ).toEqual(types.toSorted());
  });

  test('lets no user subscribe to a queue of another', async () => {
    const { queue_id } = await busy.owner.register({ fetch_event_types: [] });
    for (const name of Object.keys(schema.getSubscriptionType()?.getFields() ?? {})) {
      const tried = async (queueId: string) => {
        const query = `subscription ($queueId: String!) { ${name}(queueId: $queueId) { __typename } }`;
        const told = await quiet.owner.graphqlOverSocket(query, { queueId }).catch((error: unknown) => error);
        return JSON.stringify(told).replaceAll(queueId, '<queue>');
      };
      expect(await tried(queue_id)).toBe(await tried(crypto.randomUUID()));
    }
  });

  // This test must run last, because it deletes most objects.
  test('receives no event of another organization, and does not change', async () => {
    const before = await contentsOf(quiet);
    const listeners = [quiet.owner, quiet.member, quiet.guest, quiet.bot];
    const heard = await Promise.all(
      listeners.map((person) => person.receiving({ all_public_streams: person !== quiet.guest })),
    );
    const { queue_id, last_event_id } = await busy.member.register({ fetch_event_types: [] });
    expect(await doEverything(busy)).toBeGreaterThan(150);
    const there = await busy.member.rest('GET', '/events', { queue_id, last_event_id, dont_block: true });
    expect(there.body.events?.length ?? 0).toBeGreaterThan(100);
    for (const events of heard) expect(await events()).toEqual([]);
    expect(await contentsOf(quiet)).toEqual(before);
  });
});
