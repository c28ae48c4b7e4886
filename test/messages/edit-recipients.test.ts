import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definedEvents } from '../../src/events/define.ts';
import { transact } from '../../src/events/log.ts';
import { recipientsOf, recipientsOfMove } from '../../src/messages/audience.ts';
import { OF_OTHER_MESSAGES } from '../../src/messages/edits/publish.ts';
import { readFlagsAndReactions } from '../../src/messages/edits/recipient-flags.ts';
import type { Tx } from '../../src/platform/db/client.ts';
import { routes } from '../../src/server/registries/endpoints.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';

/**
 * Event types that can change the recipients of an edit or their relation to the message, or for which this cannot be ruled
 * out. An edit repeats its reads if such an event was committed meanwhile. Each event type must be in exactly one of the two
 * lists.
 */
const READ_AGAIN = [
  ...['alert_words', 'channel_folder', 'custom_profile_fields', 'default_streams', 'delete_message', 'drafts'],
  ...['has_videoprovider_token', 'internal', 'muted_topics', 'navigation_view', 'reaction', 'realm', 'realm_bot'],
  ...['realm_domains', 'realm_emoji', 'realm_user', 'realm_user_settings_defaults', 'reminders', 'restart'],
  ...['saved_snippets', 'scheduled_messages', 'stream', 'subscription', 'typing_edit_message', 'update_message_flags'],
  ...['user_group', 'user_settings', 'user_status', 'user_topic'],
];

test('every type of event is classified as requiring edits to repeat their reads, or not', () => {
  // Ignores event types that test files defined which ran earlier in this worker.
  const types = [...new Set(definedEvents().map(({ type }) => type))].filter((type) => !type.startsWith('test_'));
  expect(types.sort()).toEqual([...OF_OTHER_MESSAGES, ...READ_AGAIN].sort());
});

/** Maximum number of calls for each endpoint. More calls, which differ only in a value, would test nothing new. */
const MOST_CALLS = 3;

describe('what an edit tells stays as it is through events that it passes over', () => {
  let service: InProcess;
  let scene: Scene;
  /** Ids of three messages: in a public channel, in a private channel with protected history, and in a direct conversation. */
  let watched: readonly number[];
  let outsider: Person;
  /** Event types that were logged. `causes` has the types that were logged alone when the recipients of an edit changed. */
  const logged = new Set<string>();
  const causes = new Set<string>();

  beforeAll(async () => {
    service = await shareInProcess();
    scene = await makeScene({ on: service });
    const { owner, member, moderator, names } = scene;
    outsider = moderator;
    const guarded = { invite_only: true, history_public_to_subscribers: false };
    const subscribers = [owner.id, member.id];
    const { id: guardedId } = await owner.ok('POST', '/channels/create', {
      name: 'guarded',
      subscribers,
      ...guarded,
    });
    const send = async (to: object) =>
      (await owner.ok('POST', '/messages', { topic: 'watched', content: 'x', ...to })).id;
    watched = [
      await send({ type: 'channel', to: names.channelId }),
      await send({ type: 'channel', to: guardedId }),
      await send({ type: 'direct', to: [member.id] }),
    ];
  }, 60_000);
  afterAll(() => service[Symbol.asyncDispose]());

  const log = (after: bigint) =>
    service.app.db.event.findMany({ where: { realmId: scene.realm.id, id: { gt: after } }, orderBy: { id: 'asc' } });

  const sorted = (facts: object) =>
    JSON.stringify(facts, (_, value) => (Array.isArray(value) ? [...value].sort((a, b) => a - b) : value));

  /**
   * Returns the recipients of an edit of a watched message, or of its move to the private channel, as text. Undefined if the
   * message was deleted.
   */
  async function typingChange(tx: Tx, id: number): Promise<string | undefined> {
    const include = { channel: true, conversation: true };
    const message = await tx.message.findFirst({ where: { realmId: scene.realm.id, id }, include });
    if (message === null) return undefined;
    const realm = await tx.realm.findUniqueOrThrow({ where: { id: scene.realm.id } });
    const { channel, conversation } = message;
    const hearings = await recipientsOf(tx, realm, { channel, conversation, ids: [id] }, scene.owner.id);
    if (channel !== null) {
      const to = await tx.channel.findFirstOrThrow({ where: { id: scene.names.moderationChannelId } });
      const at = { realm, now: service.app.now() };
      const { moved, gone } = await recipientsOfMove(tx, at, { from: channel, to, ids: [id] }, scene.owner.id);
      hearings.push(...moved, ...gone);
    }
    const flags = [];
    for (const { audience } of hearings) flags.push((await readFlagsAndReactions(tx, realm.id, id, audience)).flags);
    return sorted({ hearings, flags });
  }

  const told = () =>
    service.app.db.$transaction(async (tx) => {
      const all: (string | undefined)[] = [];
      for (const id of watched) all.push(await typingChange(tx, id));
      return all;
    });

  /**
   * Returns whether an event changes the given message. An edit locks its message, so such events are committed before or after
   * the edit.
   */
  const isOf = (message: number | undefined) => (event: { type: string; payload: unknown }) =>
    (event.type === 'update_message' || event.type === 'delete_message') &&
    ((event.payload as Json).ids as readonly number[]).includes(message ?? 0);

  async function expectRight(what: string, act: () => Promise<unknown>): Promise<void> {
    const before = await told();
    const { lastId } = await service.app.db.eventCounter.findUniqueOrThrow({ where: { realmId: scene.realm.id } });
    await act();
    const after = await told();
    const events = await log(lastId);
    const types = [...new Set(events.map(({ type }) => type))];
    for (const type of types) logged.add(type);
    for (const [i, id] of watched.entries()) {
      if (before[i] === after[i] || events.some(isOf(id))) continue;
      if (types.length === 1) causes.add(types[0] ?? '');
      const why = `${what} changed ${before[i]} to ${after[i]}`;
      expect(
        types.filter((type) => !OF_OTHER_MESSAGES.includes(type)),
        why,
      ).not.toEqual([]);
    }
  }

  test('and is computed again after each other type of event, but not after these', async () => {
    const { app } = service;
    const { id: realmId } = scene.realm;
    for (const type of [...OF_OTHER_MESSAGES, ...READ_AGAIN, 'of a later version']) {
      let reads = 0;
      await transact({ app, realmId }, async (_, emit) => {
        emit.reading(async (tx) => {
          // Simulates a concurrent commit. The embedded database has only one connection.
          if (++reads === 1)
            await tx.$executeRaw`
              WITH counter AS (UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = ${realmId} RETURNING last_id)
              INSERT INTO event (realm_id, id, type, payload) SELECT ${realmId}, last_id, ${type}, '{}' FROM counter`;
          return [];
        }, OF_OTHER_MESSAGES);
      });
      expect([type, reads]).toEqual([type, OF_OTHER_MESSAGES.includes(type) ? 1 : 2]);
    }
  });

  test('while other users act on the same message', async () => {
    const { member, owner, names } = scene;
    const [open, , direct] = watched;
    const flag = (who: Person, message: unknown, op: string, name: string) =>
      who.rest('POST', '/messages/flags', { messages: [message], op, flag: name });
    const join = { subscriptions: [{ name: names.channelName }] };
    const acts: Readonly<Record<string, () => Promise<unknown>>> = {
      'a reaction': () => outsider.ok('POST', `/messages/${open}/reactions`, { emoji_name: 'octopus' }),
      'a reaction gone': () => outsider.ok('DELETE', `/messages/${open}/reactions`, { emoji_name: 'octopus' }),
      'a star': () => flag(outsider, open, 'add', 'starred'),
      reading: () => flag(member, open, 'add', 'read'),
      'reading in private': () => flag(member, direct, 'add', 'read'),
      unreading: () => flag(member, open, 'remove', 'read'),
      'reading all': () => member.ok('POST', '/mark_all_as_read'),
      joining: () => outsider.ok('POST', '/users/me/subscriptions', join),
      'a topic of the same name': () =>
        member.ok('POST', '/messages', {
          type: 'channel',
          to: names.channelId,
          topic: 'watched',
          content: '@**all** x',
        }),
      'a word to the sender': () =>
        member.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: `@_**${owner.name}** ` }),
      typing: () => member.ok('POST', '/typing', { op: 'start', to: [owner.id] }),
      'typing in an edit': () => owner.ok('POST', `/messages/${open}/typing`, { op: 'start' }),
      'a default of new users': () =>
        owner.ok('PATCH', '/realm/user_settings_defaults', { twenty_four_hour_time: true }),
      presence: () => member.ok('POST', '/users/me/presence', { status: 'active' }),
      leaving: () => outsider.ok('DELETE', '/users/me/subscriptions', { subscriptions: [names.channelName] }),
      'another role': () => owner.ok('PATCH', `/users/${outsider.id}`, { role: 600 }),
      'the old role': () => owner.ok('PATCH', `/users/${outsider.id}`, { role: 300 }),
    };
    for (const [what, act] of Object.entries(acts)) await expectRight(what, act);
    // Events of each of these types change the recipients even if no other event is logged.
    expect([...causes]).toEqual(expect.arrayContaining(['reaction', 'subscription', 'update_message_flags']));
  });

  test('while other messages are edited or moved, in the same topic and in others', async () => {
    const { owner, member, names } = scene;
    const place = { type: 'channel', to: names.channelId };
    for (const topic of ['watched', 'another']) {
      const message = { ...place, topic, content: 'x' };
      const { id } = await owner.ok('POST', '/messages', message);
      const edit = (changes: object) => () => owner.ok('PATCH', `/messages/${id}`, { ...changes });
      await expectRight('an edit', edit({ content: `@**${member.name}** @**all** y` }));
      await expectRight('an edit back', edit({ content: 'y' }));
      await expectRight('a topic', edit({ topic: 'elsewhere' }));
      await expectRight('a channel', edit({ stream_id: names.moderationChannelId }));
      await expectRight('the way back', edit({ stream_id: names.channelId, topic: 'watched' }));
      await expectRight('the end', () => owner.ok('DELETE', `/messages/${id}`));
    }
  });

  const writes = routes
    .filter(({ method }) => method !== 'GET')
    .map((route) => [`${route.method} ${route.path}`, route] as const);
  const inOrder = Object.keys(REST_CALLS).flatMap((name) => writes.filter(([each]) => each === name));

  test.for(inOrder)('on %s', async ([name, { method, path, auth }]) => {
    for (const call of (REST_CALLS[name]?.(scene.names) ?? []).slice(0, MOST_CALLS)) {
      const caller = auth === 'none' ? scene.anonymous : scene[call.as ?? 'owner'];
      await expectRight(name, () => caller.rest(method, pathOf(path, call), call.parameters));
    }
  });

  test('the tests cover events of nearly all types', () => {
    // These events are logged by operator commands or when access is revoked. They change no row that an edit reads.
    const never = ['has_videoprovider_token', 'internal', 'restart'];
    const all = [...OF_OTHER_MESSAGES, ...READ_AGAIN].filter((type) => !never.includes(type));
    expect([...logged].sort()).toEqual(expect.arrayContaining(all.sort()));
  });
});
