import { beforeAll, describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Method } from '../helpers/person.ts';
import { pathOf, REST_CALLS, type RestCall } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';
import { createOrganization } from '../helpers/server.ts';
import { failure, refused, success, text } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';
import { ENDPOINTS, isIntegrated, OPEN_ENDPOINTS } from '../helpers/the-22.ts';

const { owner, member, guest, anonymous } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member, guest]);

describe.concurrent('1.1 Conventions: 1 requests', () => {
  const form = (fields: Record<string, string>) => ({
    body: { type: 'application/x-www-form-urlencoded', content: new URLSearchParams(fields).toString() },
  });

  test('reads the parameters of POST, PATCH and DELETE from a form in the body', async () => {
    const snippets = '/saved_snippets';
    const { saved_snippet_id: id } = await guest.ok('POST', snippets, {}, form({ title: 'a b&c', content: '1+1=2' }));
    await guest.ok('PATCH', `${snippets}/${id}`, {}, form({ title: 'é %' }));
    const { saved_snippets } = await guest.ok('GET', snippets);
    expect(saved_snippets).toMatchObject([{ title: 'é %', content: '1+1=2' }]);
    await guest.ok('POST', '/users/me/alert_words', {}, form({ alert_words: '["a","b"]' }));
    expect(await guest.ok('DELETE', '/users/me/alert_words', {}, form({ alert_words: '["a"]' }))).toMatchObject({
      alert_words: ['b'],
    });
  });

  test('reads the parameters of GET from the query string', async () => {
    expect(await member.ok('GET', '/get_stream_id', {}, { query: { stream: 'general' } })).toEqual(
      success({ stream_id: general }),
    );
  });

  test('accepts arrays and objects as JSON text in one field', async () => {
    const drafts = '[{"type":"","to":[],"topic":"","content":"as JSON"}]';
    expect((await member.ok('POST', '/drafts', {}, form({ drafts }))).ids).toHaveLength(1);
    const capabilities = '{"notification_settings_null":true}';
    const { queue_id } = await member.ok('POST', '/register', {}, form({ client_capabilities: capabilities }));
    expect(queue_id).toEqual(text);
  });

  test.for(['1,2', '1', '[1', '(1,2)', 'ab'])('rejects %s instead of an array', async (user_ids) => {
    expect(await member.rest('GET', '/users', { user_ids })).toMatchObject(refused());
  });

  test('reads path parameters from the path', async () => {
    expect((await member.ok('GET', `/users/${guest.id}`)).user).toMatchObject({ user_id: guest.id });
  });

  test('ignores path parameters elsewhere', async () => {
    const { user, ignored_parameters_unsupported } = await member.ok('GET', `/users/${guest.id}`, {
      user_id: owner.id,
    });
    expect([user.user_id, ignored_parameters_unsupported]).toEqual([guest.id, ['user_id']]);
  });
});

describe.concurrent('1.1 Conventions: 2 the envelope', () => {
  test.for<[Method, string, object]>([
    ['GET', '/server_settings', {}],
    ['GET', '/users/me', {}],
    ['POST', '/drafts', { drafts: [] }],
    ['POST', '/register', { fetch_event_types: [] }],
    ['GET', '/events', { dont_block: true }],
  ])('%s %s reports success in "result", with an empty "msg"', async ([method, path, parameters]) => {
    expect(await member.ok(method, path, { ...parameters })).toMatchObject({ result: 'success', msg: '' });
  });

  test.for<[string, Method, string, number]>([
    ['a bad request', 'GET', '/users/2000000000', 400],
    ['a missing parameter', 'POST', '/scheduled_messages', 400],
    ['an unknown object', 'DELETE', '/drafts/2000000000', 404],
    ['an unknown path', 'GET', '/nothing', 404],
    ['a method that is not allowed', 'DELETE', '/server_settings', 405],
  ])('%s is reported as an error in "result", with a "msg" and a "code"', async ([, method, path, status]) => {
    const reply = await member.rest(method, path);
    expect(reply).toMatchObject({
      status,
      body: { result: 'error', msg: expect.stringMatching(/./), code: expect.any(String) },
    });
    expect(reply.headers['content-type']).toMatch(/^application\/json/);
  });

  test('missing authentication is reported as an error', async () => {
    expect((await anonymous.rest('GET', '/users/me')).body).toEqual(failure('UNAUTHORIZED'));
  });
});

describe('1.1 Conventions: 3 ignored_parameters_unsupported', () => {
  // Omits endpoints that need a key or a video provider. Their own tests cover them.
  const endpoints = ENDPOINTS.filter((name) => !isIntegrated(name));
  /** Results of all calls of each endpoint: number of the call, and `ignored_parameters_unsupported` of the response. */
  const ignored = new Map<string, Json[]>();
  const slotOf = (path: string) => /\{(\w+)\}/.exec(path)?.[1] ?? 'slot';
  /**
   * Returns parameter sets with no, one and several unsupported parameters. They include an array, and the name of a variable
   * in the path.
   */
  const surplus = (path: string) => [{}, { unknown: 1 }, { zebra: 'z', 'apple[]': 'a', [slotOf(path)]: 1 }];

  const call = (scene: Scene, name: string, extra: object) => {
    const [method, path] = name.split(' ') as [Method, string];
    const { slots = {}, parameters }: RestCall = REST_CALLS[name]?.(scene.names)[0] ?? {};
    const caller = name in OPEN_ENDPOINTS ? scene.anonymous : scene.owner;
    return caller.rest(method, pathOf(path, { slots }), { ...parameters, ...extra });
  };

  beforeAll(async () => {
    await Promise.all(
      [0, 1, 2].map(async (i) => {
        // Creates an organization for each round, because calls can use up the objects that they name.
        const scene = await makeScene();
        for (const name of endpoints) {
          const { status, body } = await call(scene, name, surplus(name)[i] ?? {});
          const told = status === 200 ? (body.ignored_parameters_unsupported ?? 'nothing') : body;
          ignored.set(name, [...(ignored.get(name) ?? []), [i, told]]);
        }
      }),
    );
  });

  test.for(endpoints)('%s lists exactly the ignored parameters', (name) => {
    const several = ['apple[]', slotOf(name), 'zebra'].toSorted();
    expect(ignored.get(name)?.toSorted()).toEqual([
      [0, 'nothing'],
      [1, ['unknown']],
      [2, several],
    ]);
  });

  test('is absent from errors', async () => {
    const { body } = await member.rest('GET', '/users/2000000000', { unknown: 1 });
    expect(body).toEqual(failure('BAD_REQUEST'));
  });

  test('does not contain known parameters that have no effect', async () => {
    const later = { scheduled_delivery_timestamp: 4_102_444_800 };
    const direct = { type: 'direct', to: [owner.id], content: 'x', topic: 'of no use', ...later };
    expect(await member.ok('POST', '/scheduled_messages', direct)).not.toHaveProperty('ignored_parameters_unsupported');
  });
});

describe.concurrent('1.1 Conventions: 4 topic naming', () => {
  test('registration returns the display name of the empty topic', async () => {
    const { realm_empty_topic_display_name } = await member.register({ fetch_event_types: ['realm'] });
    expect(realm_empty_topic_display_name).toBe('general chat');
  });

  // Names by which clients address the empty topic.
  const EMPTY = ['', '(no topic)', 'general chat'];
  const topicsOf = async (allow_empty_topic_name: boolean) =>
    (await guest.ok('GET', `/users/me/${general}/topics`, { allow_empty_topic_name })).topics.map(
      ({ name }: { name: string }) => name,
    );

  test.for(EMPTY)('a message sent to "%s" is in the empty topic', async (topic) => {
    const id = await say(member, general, topic);
    const { message } = await member.ok('GET', `/messages/${id}`, { allow_empty_topic_name: true });
    expect(message.subject).toBe('');
    expect(await topicsOf(true)).toContain('');
    expect(await topicsOf(true)).not.toContain('(no topic)');
  });

  test.for(EMPTY)('a message moved to "%s" is in the empty topic', async (topic) => {
    const id = await say(owner, general, `before ${topic}`);
    await owner.ok('PATCH', `/messages/${id}`, { topic, send_notification_to_new_thread: false });
    const { message } = await owner.ok('GET', `/messages/${id}`, { allow_empty_topic_name: true });
    expect(message.subject).toBe('');
  });

  test.for(EMPTY)('a draft for "%s" is for the empty topic', async (topic) => {
    const draft = { type: 'stream', to: [general], topic, content: `to ${topic}` };
    const { ids } = await owner.ok('POST', '/drafts', { drafts: [draft] });
    const { drafts } = await owner.ok('GET', '/drafts');
    expect(drafts.find(({ id }: { id: number }) => id === ids[0]).topic).toBe('');
  });

  test.for(EMPTY)('"%s" matches the empty topic in a narrow', async (topic) => {
    const id = await say(member, general, '', `found as ${topic}`);
    const narrow = [
      { operator: 'channel', operand: general },
      { operator: 'topic', operand: topic },
    ];
    const { messages } = await guest.ok('GET', '/messages/matches_narrow', { msg_ids: [id], narrow });
    expect(Object.keys(messages)).toEqual([String(id)]);
  });

  test.for(EMPTY)('the visibility of "%s" is that of the empty topic', async (topic) => {
    const channel = await channelOf(owner, `seen as ${topic}`, [member]);
    await member.ok('POST', '/user_topics', { stream_id: channel, topic, visibility_policy: 3 });
    const { user_topics } = await member.register({
      client_capabilities: { notification_settings_null: true, empty_topic_name: true },
      fetch_event_types: ['user_topic'],
    });
    const here = user_topics.filter(({ stream_id }: { stream_id: number }) => stream_id === channel);
    expect(here).toMatchObject([{ topic_name: '', visibility_policy: 3 }]);
  });
});

describe.concurrent('1.1 Conventions: 5 flavored Markdown', () => {
  test.for([
    ['**bold**', '<p><strong>bold</strong></p>'],
    ['a < b', '<p>a &lt; b</p>'],
    ['<b>no</b>', '<p>&lt;b&gt;no&lt;/b&gt;</p>'],
  ] as const)('%s is rendered to HTML', async ([content, rendered]) => {
    expect(await member.ok('POST', '/messages/render', { content })).toEqual(success({ rendered }));
  });

  test('rendered fields are returned in addition to the source', async () => {
    const { id } = await owner.ok('POST', '/channels/create', {
      ...{ name: 'marked', subscribers: [], description: 'A *new* one' },
    });
    expect((await owner.ok('GET', `/streams/${id}`)).stream).toMatchObject({
      ...{ description: 'A *new* one', rendered_description: '<p>A <em>new</em> one</p>' },
    });
  });
});
