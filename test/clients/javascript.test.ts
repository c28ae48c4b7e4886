import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import type { Json } from '../helpers/http.ts';
import type { HttpServer } from '../helpers/http-server.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization, type Organization, OWNER_PASSWORD, serverOf } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';
import { startRenamingProxy } from './renaming-proxy.ts';

// Tests every method of the published JavaScript client, unmodified, against the service. A proxy translates the names that
// differ between that client and this service.

type Config = Readonly<Record<'realm' | 'username' | 'apiKey' | 'password', string>>;
const startClient: (config: Partial<Config> | { zuliprc: string }) => Promise<Json> = createRequire(import.meta.url)(
  'zulip-js',
);

/** Objects that the tests of the client's methods use. */
interface World extends Organization {
  /** The client, signed in as the owner. */
  readonly client: Json;
  /** URL at which the client reaches the organization, which is that of the proxy. */
  readonly url: string;
  /** A channel to which the owner and the member are subscribed. */
  readonly general: number;
}

let proxy: HttpServer;
let world: World;

beforeAll(async () => {
  const house = await createOrganization({}, { password: OWNER_PASSWORD });
  const { owner, member, organization } = house;
  proxy = await startRenamingProxy({ url: owner.url, host: owner.host });
  const right = { org: organization.subdomain, user: owner.email, right: 'can_create_users' };
  await runCommand(serverOf().dataDir, 'user grant', right);
  const general = await channelOf(owner, 'general', [owner, member]);
  const client = await startClient({ realm: proxy.url, username: owner.email, apiKey: owner.apiKey });
  world = { ...house, client, general, url: proxy.url };
});
afterAll(() => proxy[Symbol.asyncDispose]());

const success = { result: 'success', msg: '' };
/** Response to requests that the REST interface does not have any more. It is the response to any unknown path. */
const gone = { result: 'error', msg: expect.any(String), code: 'BAD_REQUEST' };
const OCTOPUS = { emoji_name: 'octopus', emoji_code: '1f419', reaction_type: 'unicode_emoji' };

const messageOf = async ({ owner }: World, id: number): Promise<Json> =>
  (await owner.ok('GET', `/messages/${id}`, { apply_markdown: false })).message;

const reactionsTo = async (world: World, id: number) =>
  (await messageOf(world, id)).reactions.map(({ emoji_name }: Json) => emoji_name);

const subscribed = async ({ owner }: World): Promise<string[]> =>
  (await owner.ok('GET', '/users/me/subscriptions')).subscriptions.map(({ name }: Json) => name);

/** Tests of all methods of the client, by the path of the method. */
const METHODS: Readonly<Record<string, (world: World) => Promise<void>>> = {
  async callEndpoint({ client, owner }) {
    expect(await client.callEndpoint('users/me/status', 'POST', { status_text: 'sailing' })).toEqual(success);
    const { status } = await client.callEndpoint(`/users/${owner.id}/status`);
    expect(status).toEqual({ status_text: 'sailing' });
  },
  async 'accounts.retrieve'({ owner, url }) {
    const client = await startClient({ realm: url, username: owner.email, password: OWNER_PASSWORD });
    expect(client.config.apiKey).toBe(owner.apiKey);
    const account = { ...success, api_key: owner.apiKey, email: owner.email, user_id: owner.id };
    expect(await client.accounts.retrieve()).toEqual(account);
  },
  async 'streams.retrieve'({ client, general }) {
    const { streams } = await client.streams.retrieve({ include_public: true });
    expect(streams.find(({ stream_id }: Json) => stream_id === general)).toMatchObject({ name: 'general' });
  },
  async 'streams.getStreamId'({ client, general }) {
    expect(await client.streams.getStreamId('general')).toEqual({ ...success, stream_id: general });
    expect(await client.streams.getStreamId({ stream: 'nowhere' })).toMatchObject({ code: 'BAD_REQUEST' });
  },
  async 'streams.subscriptions.retrieve'({ client, member }) {
    const { subscriptions } = await client.streams.subscriptions.retrieve({ include_subscribers: true });
    const general = subscriptions.find(({ name }: Json) => name === 'general');
    expect(general).toMatchObject({ is_muted: false, subscribers: [member.id] });
  },
  async 'streams.topics.retrieve'({ client, owner, general }) {
    const id = await say(owner, general, 'topics');
    const { topics } = await client.streams.topics.retrieve({ stream_id: general });
    expect(topics).toContainEqual({ name: 'topics', max_id: id });
  },
  async 'streams.deleteById'({ client, owner }) {
    const stream_id = await channelOf(owner, 'to be archived', [owner]);
    expect((await client.streams.deleteById({ stream_id })).result).toBe('success');
    expect((await owner.ok('GET', `/streams/${stream_id}`)).stream.is_archived).toBe(true);
  },
  async 'messages.send'(world) {
    const { client, owner, member } = world;
    const message = { type: 'stream', to: 'general', subject: 'sent', content: 'Hello **everyone** – 🐙' };
    const { id } = await client.messages.send(message);
    expect(await messageOf(world, id)).toMatchObject({
      subject: 'sent',
      content: message.content,
      client: 'node-fetch',
    });
    const direct = await client.messages.send({ type: 'private', to: [member.email], content: 'just you' });
    const { display_recipient } = await messageOf(world, direct.id);
    expect(display_recipient.map(({ id }: Json) => id)).toEqual([owner.id, member.id]);
  },
  async 'messages.retrieve'({ client, owner, general }) {
    const ids = [await say(owner, general, 'read'), await say(owner, general, 'read')];
    const narrow = [
      { operator: 'stream', operand: 'general' },
      { operator: 'topic', operand: 'read' },
    ];
    const range = { anchor: 'newest', num_before: 10, num_after: 0 };
    const page = await client.messages.retrieve({ ...range, narrow });
    expect(page.messages.map(({ id }: Json) => id)).toEqual(ids);
    expect(page).toMatchObject({ ...success, found_newest: true });
    const latest = await client.messages.retrieve({ anchor: 1_000_000_000, num_before: 1, num_after: 0 });
    expect(latest.messages[0].id).toBe(ids[1]);
  },
  async 'messages.render'({ client }) {
    const rendered = '<p>Hello <strong>you</strong></p>';
    expect(await client.messages.render('Hello **you**')).toEqual({ ...success, rendered });
    expect(await client.messages.render({ content: 'Hello **you**' })).toEqual({ ...success, rendered });
  },
  async 'messages.update'(world) {
    const { client, owner, general } = world;
    const message_id = await say(owner, general, 'update');
    expect((await client.messages.update({ message_id, content: 'Edited' })).result).toBe('success');
    await client.messages.update({ message_id, topic: 'moved', propagate_mode: 'change_all' });
    expect(await messageOf(world, message_id)).toMatchObject({ content: 'Edited', subject: 'moved' });
  },
  async 'messages.flags.add'(world) {
    const { client, member, general, owner } = world;
    const messages = [await say(member, general, 'flags'), await say(member, general, 'flags')];
    expect((await client.messages.flags.add({ messages, flag: 'starred' })).messages).toEqual(messages);
    const { starred_messages } = await owner.register({ fetch_event_types: ['starred_messages'] });
    expect(starred_messages).toEqual(expect.arrayContaining(messages));
  },
  async 'messages.flags.remove'(world) {
    const { client, member, general } = world;
    const id = await say(member, general, 'flags');
    await client.messages.flags.add({ messages: [id], flag: 'read' });
    expect((await messageOf(world, id)).flags).toContain('read');
    expect((await client.messages.flags.remove({ messages: [id], flag: 'read' })).messages).toEqual([id]);
    expect((await messageOf(world, id)).flags).not.toContain('read');
  },
  async 'messages.getById'({ client, owner, general }) {
    const message_id = await say(owner, general, 'one');
    const reply = await client.messages.getById({ message_id, apply_markdown: false });
    expect(reply.message).toMatchObject({ id: message_id, subject: 'one', sender_id: owner.id });
    expect(await client.messages.getById({ message_id: 2_000_000_000 })).toMatchObject({ code: 'BAD_REQUEST' });
  },
  async 'messages.getHistoryById'({ client, owner, general }) {
    const message_id = await say(owner, general, 'history');
    await owner.ok('PATCH', `/messages/${message_id}`, { content: 'changed' });
    const { message_history } = await client.messages.getHistoryById({ message_id });
    expect(message_history).toHaveLength(2);
    expect(message_history[1]).toMatchObject({ content: 'changed', prev_content: message_history[0].content });
  },
  async 'messages.deleteReactionById'(world) {
    const { client, owner, general } = world;
    const message_id = await say(owner, general, 'reactions');
    await owner.ok('POST', `/messages/${message_id}/reactions`, { ...OCTOPUS });
    const reply = await client.messages.deleteReactionById({ message_id, emoji_name: 'octopus' });
    expect(reply.result).toBe('success');
    expect(await reactionsTo(world, message_id)).toEqual([]);
  },
  async 'messages.deleteById'({ client, owner, general }) {
    const message_id = await say(owner, general, 'gone');
    expect((await client.messages.deleteById({ message_id })).result).toBe('success');
    expect((await owner.rest('GET', `/messages/${message_id}`)).status).toBe(400);
  },
  async 'queues.register'({ client }) {
    const queue = await client.queues.register({ event_types: ['message'], apply_markdown: 'true' });
    expect(queue).toMatchObject({
      ...{ ...success, queue_id: expect.any(String), last_event_id: expect.any(Number) },
      // The proxy renames these fields. Without it, they would have the names of this service.
      ...{ zulip_feature_level: 496, zulip_version: expect.any(String), zulip_merge_base: expect.any(String) },
    });
    expect(queue).not.toHaveProperty('realm_users');
    const whole = await client.queues.register({});
    expect(whole).toMatchObject({ realm_zulip_update_announcements_stream_id: -1, muted_topics: [] });
    expect(JSON.stringify(whole)).not.toMatch(/"(realm_)?service_/);
  },
  async 'queues.deregister'({ client }) {
    const { queue_id } = await client.queues.register({ event_types: ['message'] });
    expect(await client.queues.deregister({ queue_id })).toEqual(success);
    expect(await client.queues.deregister({ queue_id })).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID', queue_id });
  },
  async 'events.retrieve'({ client, owner, general }) {
    const { queue_id, last_event_id } = await client.queues.register({ event_types: ['message', 'reaction'] });
    const id = await say(owner, general, 'events');
    await owner.ok('POST', `/messages/${id}/reactions`, { ...OCTOPUS });
    const reply = await client.events.retrieve({ queue_id, last_event_id, dont_block: true });
    expect(reply).toMatchObject({
      queue_id,
      events: [
        { type: 'message', message: { id, subject: 'events' }, flags: [] },
        { type: 'reaction', op: 'add', message_id: id, ...OCTOPUS, user: { id: owner.id, full_name: 'owner' } },
      ],
    });
    // The queue has no further event, so the next request waits for one.
    const waiting = client.events.retrieve({ queue_id, last_event_id: reply.events[1].id });
    await sleep(50);
    const next = await say(owner, general, 'events');
    expect((await waiting).events).toMatchObject([{ type: 'message', message: { id: next } }]);
  },
  async 'users.retrieve'({ client, owner, bot }) {
    const { members } = await client.users.retrieve({ client_gravatar: true });
    expect(members).toContainEqual(expect.objectContaining({ user_id: owner.id, is_owner: true, is_bot: false }));
    expect(members).toContainEqual(expect.objectContaining({ user_id: bot.id, is_bot: true }));
  },
  async 'users.create'({ client, owner }) {
    const account = { email: 'new@client.example', password: 'correct horse', full_name: 'New One' };
    const { user_id } = await client.users.create(account);
    const { user } = await owner.ok('GET', `/users/${user_id}`);
    expect(user).toMatchObject({ full_name: 'New One', delivery_email: account.email, is_imported_stub: true });
  },
  // The pointer to the last read message was removed from the interface. Read states of messages have replaced it.
  async 'users.me.pointer.retrieve'({ client }) {
    expect(await client.users.me.pointer.retrieve()).toEqual(gone);
  },
  async 'users.me.pointer.update'({ client }) {
    expect(await client.users.me.pointer.update(1)).toEqual(gone);
  },
  async 'users.me.getProfile'({ client, owner }) {
    const profile = { user_id: owner.id, email: owner.email, full_name: 'owner', is_owner: true, role: 100 };
    expect(await client.users.me.getProfile()).toMatchObject(profile);
  },
  async 'users.me.subscriptions.add'(world) {
    const { client, owner } = world;
    const subscriptions = JSON.stringify([{ name: 'brand new', description: 'by the client' }]);
    const reply = await client.users.me.subscriptions.add({ subscriptions });
    expect(reply).toMatchObject({ ...success, subscribed: { [owner.id]: ['brand new'] }, already_subscribed: {} });
    expect(await subscribed(world)).toContain('brand new');
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['brand new'] });
  },
  async 'users.me.subscriptions.remove'(world) {
    const { client, owner } = world;
    await channelOf(owner, 'to be left', [owner]);
    const reply = await client.users.me.subscriptions.remove({ subscriptions: JSON.stringify(['to be left']) });
    expect(reply).toEqual({ ...success, removed: ['to be left'], not_removed: [] });
    expect(await subscribed(world)).not.toContain('to be left');
  },
  async 'users.me.alertWords.retrieve'({ client, owner }) {
    await owner.ok('POST', '/users/me/alert_words', { alert_words: ['release'] });
    expect(await client.users.me.alertWords.retrieve()).toEqual({ ...success, alert_words: ['release'] });
  },
  async 'emojis.retrieve'({ client, owner }) {
    await owner.ok('POST', '/realm/emoji/dory', { file: PNG });
    const { emoji } = await client.emojis.retrieve();
    expect(Object.values(emoji)).toMatchObject([{ name: 'dory', deactivated: false, author_id: owner.id }]);
  },
  async 'typing.send'({ client, member, owner }) {
    const heard = await member.receiving({ event_types: ['typing'] });
    expect((await client.typing.send({ to: [member.id], op: 'start' })).result).toBe('success');
    expect((await client.typing.send({ to: [member.id, owner.id], op: 'stop' })).result).toBe('success');
    expect(await heard()).toMatchObject([
      { type: 'typing', op: 'start', sender: { user_id: owner.id } },
      { type: 'typing', op: 'stop', sender: { user_id: owner.id } },
    ]);
  },
  async 'reactions.add'(world) {
    const { client, owner, general } = world;
    const message_id = await say(owner, general, 'reactions');
    expect(await client.reactions.add({ message_id, ...OCTOPUS })).toEqual(success);
    // Name and code of the emoji are from the client's own table.
    await client.reactions.add({
      message_id,
      emoji_name: 'smile',
      emoji_code: '1f642',
      reaction_type: 'unicode_emoji',
    });
    const own = { emoji_name: 'zulip', emoji_code: 'zulip', reaction_type: 'zulip_extra_emoji' };
    expect(await client.reactions.add({ message_id, ...own })).toEqual(success);
    expect(await reactionsTo(world, message_id)).toEqual(['octopus', 'smile', 'team_chat']);
    const { message } = await client.messages.getById({ message_id });
    expect(message.reactions[2]).toMatchObject({ ...own, user: { id: owner.id } });
    expect(await client.reactions.add({ message_id, ...OCTOPUS })).toMatchObject({ code: 'REACTION_ALREADY_EXISTS' });
  },
  async 'reactions.remove'(world) {
    const { client, owner, general } = world;
    const message_id = await say(owner, general, 'reactions');
    await client.reactions.add({ message_id, ...OCTOPUS });
    const { emoji_code, reaction_type } = OCTOPUS;
    expect(await client.reactions.remove({ message_id, emoji_code, reaction_type })).toEqual(success);
    expect(await reactionsTo(world, message_id)).toEqual([]);
  },
  async 'server.settings'({ client, organization }) {
    const settings = await client.server.settings();
    expect(settings).toMatchObject({ ...success, zulip_feature_level: 496, realm_name: organization.name });
    expect(settings.authentication_methods.password).toBe(true);
    expect(JSON.stringify(settings)).not.toContain('"service_');
  },
  // Filters were removed from the interface. Linkifiers have replaced them, of which a registration returns an empty list.
  async 'filters.retrieve'({ client }) {
    expect(await client.filters.retrieve()).toEqual(gone);
  },
  async callOnEachEvent({ url, owner, member, general }) {
    const env = { ...process.env, REALM: url, USERNAME: owner.email, API_KEY: owner.apiKey };
    const child = spawn(process.execPath, [join(import.meta.dirname, 'listen.cjs')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => {
        for (;;) {
          const event = JSON.parse(String((await lines.next()).value));
          if (event.type !== 'heartbeat') return event;
        }
      };
      // The client receives only events that happen after it has created its queue. So the test sends messages until one
      // arrives.
      const first = next();
      let sent: number[] = [];
      let heard: Json;
      while (heard === undefined) {
        sent = [...sent, await say(member, general, 'loop')];
        heard = await Promise.race([first, sleep(300)]);
      }
      expect(sent).toContain(heard.message.id);
      const last = await say(member, general, 'the last');
      for (let event = heard; event.message.id !== last; ) event = await next();
      await member.ok('POST', `/messages/${last}/reactions`, { ...OCTOPUS });
      expect(await next()).toMatchObject({ type: 'reaction', op: 'add', message_id: last, user_id: member.id });
    } finally {
      child.kill('SIGKILL');
    }
  },
};

/** Returns the paths of all methods of a client, for example "users.me.pointer.update". */
function methodsOf(client: Json, place = ''): string[] {
  return Object.entries<Json>(client).flatMap(([name, value]) => {
    if (typeof value === 'function') return [place + name];
    return name === 'config' ? [] : methodsOf(value, `${place}${name}.`);
  });
}

describe('the JavaScript client', () => {
  test('has exactly the methods that are tested here', () => {
    expect(Object.keys(METHODS).sort()).toEqual(methodsOf(world.client).sort());
  });

  test('signs in with a configuration file that contains the URL and the credentials', async () => {
    const { owner, url } = world;
    const directory = mkdtempSync(join(tmpdir(), 'chat-test-'));
    try {
      const zuliprc = join(directory, 'rc');
      writeFileSync(zuliprc, `[api]\nemail=${owner.email}\nkey=${owner.apiKey}\nsite=${url}\n`);
      const client = await startClient({ zuliprc });
      expect((await client.users.me.getProfile()).user_id).toBe(owner.id);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test('gets an error for wrong credentials', async () => {
    const client = await startClient({ realm: world.url, username: world.owner.email, apiKey: 'x'.repeat(32) });
    expect(await client.users.me.getProfile()).toMatchObject({ result: 'error', code: 'INVALID_API_KEY' });
  });

  test.for(Object.entries(METHODS))('%s', ([, act]) => act(world));
});
