import { buildSchema } from '../../src/server/registries/schema.ts';
import { documentOf, GRAPHQL_CALLS } from './graphql-calls.ts';
import { send } from './http.ts';
import type { InProcess } from './in-process.ts';
import type { Method, Person } from './person.ts';
import { pathOf, REST_CALLS } from './rest-calls.ts';
import { makeScene, type Scene } from './scene.ts';
import { OWNER_PASSWORD } from './server.ts';

const isCall = (call: object): call is { as?: 'guest' | 'moderator' } => 'as' in call;
const callerOf = (scene: Scene, call: object): Person => scene[(isCall(call) ? call.as : undefined) ?? 'owner'];

/**
 * Makes every call that is possible in an organization, in an order in which they succeed.
 *
 * @param options.payload Whether mutations also select their payload.
 * @param options.beginning Called before each call, with its name.
 * @returns Number of successful REST calls.
 */
export async function doEverything(
  scene: Scene,
  {
    payload = false,
    beginning = () => {},
  }: { readonly payload?: boolean; readonly beginning?: (call: string) => void } = {},
): Promise<number> {
  const schema = buildSchema();
  let done = 0;
  for (const [name, calls] of Object.entries(REST_CALLS)) {
    const [method, path] = name.split(' ') as [Method, string];
    for (const call of calls(scene.names)) {
      beginning(name);
      const { status } = await callerOf(scene, call).rest(method, pathOf(path, call), call.parameters);
      if (status === 200) done += 1;
    }
  }
  for (const [name, calls] of Object.entries(GRAPHQL_CALLS)) {
    for (const call of calls(scene.names)) {
      beginning(name);
      await callerOf(scene, call).graphql(documentOf(schema, call, { payload }), call.args);
    }
  }
  return done;
}

/** Makes changes that the calls of the features do not include, and reads the changed data in several ways. */
export async function doMore(scene: Scene): Promise<void> {
  const { owner, member, guest, names, organization } = scene;
  const toChannel = { type: 'channel', to: names.channelId, topic: 'talk' };
  const words = `@**all** @*group of ${organization.subdomain}* #**${names.channelName}>talk** @**topic** release`;
  const headers = { 'idempotency-key': 'once' };
  for (const _ of [1, 2]) await owner.ok('POST', '/messages', { ...toChannel, content: words }, { headers });
  const { id } = await member.ok('POST', '/messages', { ...toChannel, content: 'hello' });
  await member.ok('PATCH', `/messages/${id}`, { content: `hello @**${owner.name}**` });
  await owner.ok('GET', `/messages/${id}/read_receipts`);
  await owner.ok('PATCH', `/messages/${id}`, { topic: '✔ talk', propagate_mode: 'change_all' });
  const elsewhere = { stream_id: names.moderationChannelId, topic: 'talk', propagate_mode: 'change_one' };
  await owner.ok('PATCH', `/messages/${id}`, elsewhere);
  for (const person of [owner, member, guest]) {
    const { queue_id, last_event_id } = await person.register({ include_subscribers: 'partial' });
    await person.poll(queue_id, last_event_id, { dontBlock: true });
    await person.ok('GET', '/messages', { anchor: 'newest', num_before: 9, narrow: [['search', 'hello']] });
    await person.ok('GET', '/messages', { anchor: 'first_unread', num_before: 9, num_after: 9 });
    await person.ok('GET', '/users', { include_custom_profile_fields: true });
    await person.ok('GET', '/users/me/subscriptions', { include_subscribers: true });
    await person.ok('POST', '/mark_all_as_read');
    await using _ = await person.events('... on MessageSentEvent { message { id } }');
    await owner.ok('POST', '/messages', { ...toChannel, content: 'hello' });
  }
  for (const path of [`/avatar/${owner.id}`, `/avatar/${member.id}`])
    await send(owner.url, { method: 'GET', path, headers: { host: organization.host } });
  const login = { username: names.username, password: OWNER_PASSWORD };
  const signedIn = await owner.as(undefined).rest('POST', '/sessions', login);
  const cookie = [signedIn.headers['set-cookie'] ?? []]
    .flat()
    .map((one) => one.split(';')[0])
    .join('; ');
  await owner.as(undefined).rest('GET', '/users/me', {}, { headers: { cookie } });
}

const recorded = new WeakMap<InProcess['app'], Promise<readonly string[]>>();

/**
 * Returns the SQL of all statements that the service sends for all calls in an organization, without duplicates. Test files that
 * share a service share the recording.
 */
export function recordedStatements(service: InProcess): Promise<readonly string[]> {
  const made = recorded.get(service.app) ?? record(service);
  recorded.set(service.app, made);
  return made;
}

async function record(service: InProcess): Promise<readonly string[]> {
  const [scene, another] = [await makeScene({ on: service }), await makeScene({ on: service })];
  const made = await service.queriesOf(async () => {
    await doMore(another);
    await doEverything(scene);
  });
  return [...new Set(made)].filter((one) => /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(one));
}
