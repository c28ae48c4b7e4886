import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ignoresIdempotencyKey } from '../../src/api/graphql/schema/mutation.ts';
import { buildSchema } from '../../src/server/registries/schema.ts';
import { fieldOf, GRAPHQL_CALLS, type GraphQLCall, REFUSALS } from '../helpers/graphql-calls.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { operationBody, type Parameters, type Person } from '../helpers/person.ts';
import { makeScene, type Names, type Scene } from '../helpers/scene.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, toTopic } from '../helpers/talk.ts';

// Tests the log position in the payload of a mutation. It must be the position of the event that the mutation logged.

const schema = buildSchema();

/** Mutations that send no event to clients. Events about revoked keys and sessions are only for the service. */
const SILENT = [
  ...['acknowledgeEvents', 'deleteEventQueue', 'fetchApiKey', 'regenerateApiKey'],
  ...['signIn', 'revokeSession', 'revokeOtherSessions', 'registerPushDevice', 'removePushDevice'],
  ...['configurePushDevice', 'sendTestNotification'],
  ...[
    'requestInvitation',
    'requestOrganization',
    'requestPasswordReset',
    'requestSignUp',
    'sendPasswordReset',
    'beginSecondFactor',
  ],
  ...['beginPasskey', 'beginPasskeySignIn'],
];
/** Mutation whose `position` is the start of its event queue, not the log position of a change. */
const OTHER = 'registerEventQueue';
/** Inputs for the mutations whose usual test calls would change nothing after the earlier calls of this test. */
const IN_EARNEST: Readonly<Record<string, (names: Names) => Parameters>> = {
  markChannelAsRead: ({ channelId }) => ({ channelId }),
  markConversationAsRead: ({ conversationId }) => ({ conversationId }),
  markTopicAsRead: ({ channelId }) => toTopic(channelId, 'unread'),
  removeAlertWords: () => ({ words: ['argo'] }),
  setTopicVisibility: ({ channelId }) => ({ ...toTopic(channelId, 'another'), visibility: 'MUTED' }),
  updateUserSettingsDefaults: () => ({ settings: { twentyFourHourTime: true } }),
};
/** Mutations that run first, because they have no effect after the owner has left the channel or hides their presence. */
const FIRST = [...Object.keys(IN_EARNEST), 'updateMessageFlagsInNarrow', 'recordPresence'];
/** Returns the document of a mutation. It selects the position under an alias, in a fragment. */
function documentOf(call: GraphQLCall): string {
  const field = fieldOf(schema, call);
  const payload = `${call.field[0]?.toUpperCase()}${call.field.slice(1)}Payload`;
  const [outer, inner] = field.args.length === 0 ? ['', ''] : [`($input: ${field.args[0]?.type})`, '(input: $input)'];
  return `mutation ${outer} { done: ${call.field}${inner} { __typename ... on ServiceError { code message } ...Place } }
    fragment Place on ${payload} { at: position }`;
}

async function ask(who: Person, call: GraphQLCall, idempotencyKey?: string): Promise<Json> {
  const extensions = { ...(idempotencyKey !== undefined && { idempotencyKey }) };
  const operation = { query: documentOf(call), variables: call.args, extensions };
  const { headers, body } = operationBody(operation);
  const all = { ...who.headers, ...headers, accept: 'application/graphql-response+json' };
  const { data, errors } = JSON.parse(
    (await send(who.url, { method: 'POST', path: '/graphql', headers: all, body })).text,
  );
  expect(errors, JSON.stringify(call)).toBeUndefined();
  return data.done;
}

/** A client that reads one queue of the owner. */
class Ear {
  readonly #owner: Person;
  #queueId = '';
  #position = 0;

  constructor(owner: Person) {
    this.#owner = owner;
  }

  async open(): Promise<void> {
    const { queue_id, last_event_id } = await this.#owner.register({ fetch_event_types: [] });
    this.#queueId = queue_id;
    this.#position = last_event_id;
  }

  /** Reads the events that arrived since the previous call. @returns Their positions. */
  async received(): Promise<number[]> {
    const events = await this.#owner.poll(this.#queueId, this.#position, { dontBlock: true });
    const positions: number[] = events.map(({ id }) => id);
    this.#position = positions.at(-1) ?? this.#position;
    return positions;
  }
}

/** Ways in which each mutation is sent: without an idempotency key, and under a key. Under the key, it is then repeated. */
const WAYS = ['without a key', 'under a key'];

describe('the position in the payload of a mutation', () => {
  let service: InProcess;
  const scenes: Record<string, { readonly scene: Scene; readonly ear: Ear }> = {};
  beforeAll(async () => {
    service = await startOnDatabaseOfRun();
    for (const name of WAYS) {
      const scene = await makeScene({ on: service });
      const ear = new Ear(scene.owner);
      await ear.open();
      scenes[name] = { scene, ear };
    }
  });
  afterAll(() => service[Symbol.asyncDispose]());

  async function lastId(organizationId: number): Promise<number> {
    // `findUnique` can be batched with look-ups of a transaction of the service, which must not use this client.
    const { lastId } = await service.app.db.eventCounter.findFirstOrThrow({ where: { organizationId } });
    return Number(lastId);
  }

  /** Returns the position of the last event that has recipients. Null if there is none after `since`. */
  async function lastEvent(organizationId: number, since: number): Promise<number | null> {
    const [row] = await service.app.db.$queryRaw<{ last: bigint | null }[]>`
      SELECT max(id) AS last FROM event WHERE realm_id = ${organizationId} AND id > ${since}
        AND (max_role IS NOT NULL OR channel_ids <> '{}' OR user_ids <> '{}' OR public_channel_id IS NOT NULL)`;
    return row?.last == null ? null : Number(row.last);
  }

  /** Creates unread messages and an alert word, which later mutations need. */
  async function toBeDone({ owner, member, names }: Scene): Promise<void> {
    const message = { type: 'channel', to: names.channelId, topic: 'unread', content: 'unread' };
    await member.ok('POST', '/messages', message);
    await member.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'unread' });
    await owner.ok('POST', '/users/me/alert_words', { alert_words: ['argo'] });
  }

  const told = new Set<string>();
  const counts = { heard: 0, null: 0 };

  /** The mutation that is not repeated, because it deactivates the user who sends it. */
  const LEAVES = 'deactivateOwnAccount';
  const isFirst = (name: string) => Number(FIRST.includes(name.slice('Mutation.'.length)));
  const mutations = Object.entries(GRAPHQL_CALLS)
    .filter(([name]) => name.startsWith('Mutation.'))
    .toSorted(([a], [b]) => isFirst(b) - isFirst(a));
  describe.for(WAYS)('%s', (how) => {
    test.for(mutations)('%s', async ([name, make]) => {
      const { scene, ear } = scenes[how] as { scene: Scene; ear: Ear };
      const field = name.slice('Mutation.'.length);
      const input = IN_EARNEST[field]?.(scene.names);
      const calls = make(scene.names);
      if (input !== undefined) await toBeDone(scene);
      for (const call of input === undefined
        ? calls
        : [{ operation: 'mutation', field, args: { input } } as const, ...calls]) {
        const said = JSON.stringify(call);
        const who = scene[call.as ?? 'owner'];
        const before = await lastId(scene.organization.id);
        const key = how === 'under a key' ? randomUUID() : undefined;
        const result = await ask(who, call, key);
        expect(result.code !== undefined, `${said} ${JSON.stringify(result)}`).toBe(REFUSALS[call.field] !== undefined);
        if (result.code !== undefined || field === OTHER) continue;
        const last = await lastEvent(scene.organization.id, before);
        expect(result.at, said).toBe(last);
        if (last === null) counts.null++;
        else told.add(call.field);
        const heard = await ear.received();
        if (heard.length > 0) expect(heard.at(-1), said).toBeLessThanOrEqual(last ?? 0);
        if (last !== null && heard.at(-1) === last) counts.heard++;
        if (key === undefined || ignoresIdempotencyKey(fieldOf(schema, call)) || field === LEAVES) continue;
        const after = await lastId(scene.organization.id);
        expect(await ask(who, call, key), said).toEqual(result);
        expect(await lastId(scene.organization.id), said).toBe(after);
      }
    });
  });

  test('is returned by all mutations with events, and usually the user receives one', () => {
    const names = mutations.map(([name]) => name.slice('Mutation.'.length));
    const others = [...SILENT, OTHER, ...Object.keys(REFUSALS)];
    expect(names.filter((name) => !told.has(name) && !others.includes(name))).toEqual([]);
    expect([...told].filter((name) => others.includes(name))).toEqual([]);
    expect(counts.heard).toBeGreaterThan(told.size);
    expect(counts.null).toBeGreaterThan(SILENT.length);
  });

  test('is separate for each mutation of an operation', async () => {
    const { member, organization } = await createOrganization({}, { on: service });
    const query = `mutation ($a: CreateSavedSnippetInput!, $b: CreateSavedSnippetInput!, $c: DeleteDraftInput!) {
      a: createSavedSnippet(input: $a) { ... on CreateSavedSnippetPayload { position } }
      b: createSavedSnippet(input: $b) { ... on CreateSavedSnippetPayload { position again: position } }
      c: deleteDraft(input: $c) { __typename ... on DeleteDraftPayload { position } } }`;
    const before = await lastId(organization.id);
    const { data } = await member.graphql(query, {
      ...{ a: { title: 'a', content: 'a' }, b: { title: 'b', content: 'b' }, c: { draftId: 1 } },
    });
    expect(data).toMatchObject({
      a: { position: before + 1 },
      b: { position: before + 2, again: before + 2 },
      c: { __typename: 'NotFoundError' },
    });
  });

  test.for([undefined, 'sent once'])(
    'includes the further changes of a message, if there are any (under the key %s)',
    async (key) => {
      const { owner } = await createOrganization({}, { on: service });
      const channelId = await channelOf(owner, 'deck', [owner]);
      // With this setting, the user automatically follows topics in which they write.
      await owner.ok('PATCH', '/settings', { automatically_follow_topics_policy: 3 });
      const ear = new Ear(owner);
      await ear.open();
      const input = { to: toTopic(channelId, 'new'), content: 'hello' };
      const send = () => ask(owner, { operation: 'mutation', field: 'sendMessage', args: { input } }, key);
      const { at } = await send();
      const heard = await ear.received();
      expect(heard).toHaveLength(2);
      expect(at).toBe(heard.at(-1));
      if (key !== undefined) expect((await send()).at).toBe(at);
    },
  );

  test('takes one statement while the event counter is locked, only if it is selected', async () => {
    const { owner } = await createOrganization({}, { on: service });
    const statements = async (selection: string) => {
      const query = `mutation ($input: CreateSavedSnippetInput!) { createSavedSnippet(input: $input) {
        __typename ... on CreateSavedSnippetPayload { ${selection} } } }`;
      const variables = { input: { title: selection, content: 'content' } };
      const operation = { query, variables, extensions: { idempotencyKey: selection } };
      const { headers, body } = operationBody(operation);
      const request = { method: 'POST', path: '/graphql', headers: { ...owner.headers, ...headers }, body } as const;
      const made = await service.queriesOf(() => send(owner.url, request));
      return made.filter((sql) => /UPDATE event_counter|UPDATE idempotency_record/.test(sql)).map(kindOf);
    };
    const kindOf = (sql: string) => /event_counter|idempotency_record/.exec(sql)?.[0];
    expect(await statements('__typename')).toEqual(['idempotency_record', 'event_counter']);
    expect(await statements('position')).toEqual(['event_counter', 'idempotency_record']);
  });
});
