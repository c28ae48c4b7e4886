import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definedEvents } from '../../src/events/define.ts';
import { transact } from '../../src/events/log.ts';
import { recipientsOf, recipientsOfMove } from '../../src/messages/audience.ts';
import { OF_OTHER_MESSAGES } from '../../src/messages/edits/publish.ts';
import { readFlagsAndReactions } from '../../src/messages/edits/recipient-flags.ts';
import type { Tx } from '../../src/platform/db/client.ts';
import { routes } from '../../src/server/registries/features.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { makeScene, type Scene } from '../helpers/scene.ts';

/**
 * Types of events that can change the recipients of an edit or their relation to the message. They are all event types except
 * `OF_OTHER_MESSAGES`. If such an event is committed meanwhile, an edit repeats its reads. Test files that ran earlier in this
 * worker can have defined further types, which are excluded.
 */
const READ_AGAIN = [...new Set(definedEvents().map(({ type }) => type))].filter(
  (type) => !type.startsWith('test_') && !OF_OTHER_MESSAGES.includes(type),
);

/** Maximum number of calls for each endpoint. Further calls differ only in a value and would test nothing new. */
const MOST_CALLS = 3;

describe('events after which an edit does not repeat its reads do not change its recipients', () => {
  let service: InProcess;
  let scene: Scene;
  /**
   * Ids of three messages: one in a public channel, one in a private channel with protected history, and one in a direct
   * conversation.
   */
  let watched: readonly number[];
  let outsider: Person;
  /** Event types that were logged. `causes` has the types of single events that changed the recipients of an edit. */
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
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const log = (after: bigint) =>
    service.app.db.event.findMany({
      where: { organizationId: scene.organization.id, id: { gt: after } },
      orderBy: { id: 'asc' },
    });

  const sorted = (facts: object) =>
    JSON.stringify(facts, (_, value) => (Array.isArray(value) ? [...value].sort((a, b) => a - b) : value));

  /**
   * Returns, as text, the recipients of an edit of a watched message and of its move to the private channel. Undefined if the
   * message was deleted.
   */
  async function typingChange(tx: Tx, id: number): Promise<string | undefined> {
    const include = { channel: true, conversation: true };
    const message = await tx.message.findFirst({ where: { organizationId: scene.organization.id, id }, include });
    if (message === null) return undefined;
    const organization = await tx.organization.findUniqueOrThrow({ where: { id: scene.organization.id } });
    const { channel, conversation } = message;
    const hearings = await recipientsOf(tx, organization, { channel, conversation, ids: [id] }, scene.owner.id);
    if (channel !== null) {
      const to = await tx.channel.findFirstOrThrow({ where: { id: scene.names.moderationChannelId } });
      const at = { organization, now: service.app.now() };
      const { moved, gone } = await recipientsOfMove(tx, at, { from: channel, to, ids: [id] }, scene.owner.id);
      hearings.push(...moved, ...gone);
    }
    const flags = [];
    for (const { audience } of hearings)
      flags.push((await readFlagsAndReactions(tx, organization.id, id, audience)).flags);
    return sorted({ hearings, flags });
  }

  const told = () =>
    service.app.db.$transaction(async (tx) => {
      const all: (string | undefined)[] = [];
      for (const id of watched) all.push(await typingChange(tx, id));
      return all;
    });

  /**
   * Returns whether an event changes the given message itself. Such events are committed before or after an edit, never during
   * it, because an edit locks its message.
   */
  const isOf = (message: number | undefined) => (event: { type: string; payload: unknown }) =>
    (event.type === 'update_message' || event.type === 'delete_message') &&
    ((event.payload as Json).ids as readonly number[]).includes(message ?? 0);

  const now = async () => {
    const { lastId } = await service.app.db.eventCounter.findUniqueOrThrow({
      where: { organizationId: scene.organization.id },
    });
    return { lastId, recipients: await told() };
  };
  /** The result of `now` after the previous call of `expectRight`. */
  let last: Awaited<ReturnType<typeof now>> | undefined;

  async function expectRight(what: string, act: () => Promise<unknown>): Promise<void> {
    const { lastId, recipients: before } = last ?? (await now());
    await act();
    last = await now();
    const { recipients: after } = last;
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
    const { work } = service.app;
    const { id: organizationId } = scene.organization;
    for (const type of [...OF_OTHER_MESSAGES, ...READ_AGAIN, 'of a later version']) {
      let reads = 0;
      await transact({ work, organizationId }, async (_, emit) => {
        emit.reading(async (tx) => {
          // Simulates a commit by a concurrent transaction. The embedded database has only one connection.
          if (++reads === 1)
            await tx.$executeRaw`
              WITH counter AS (UPDATE event_counter SET last_id = last_id + 1 WHERE realm_id = ${organizationId} RETURNING last_id)
              INSERT INTO event (realm_id, id, type, payload) SELECT ${organizationId}, last_id, ${type}, '{}' FROM counter`;
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
    // These events are logged by operator commands, only over GraphQL, or when access is revoked. They change no row that an
    // edit reads.
    const never = [
      'api_keys_changed',
      'has_videoprovider_token',
      'identity_providers_changed',
      'internal',
      'linked_identities_changed',
      'restart',
      'second_factor_changed',
    ];
    const all = [...OF_OTHER_MESSAGES, ...READ_AGAIN].filter((type) => !never.includes(type));
    expect([...logged].sort()).toEqual(expect.arrayContaining(all.sort()));
  });
});
