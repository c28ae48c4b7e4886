import { describe, expect, test } from 'vitest';
import { CAPABILITIES, type Capability } from '../../src/events/view.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';

// Tests the effect of each client capability by comparing two clients. One declares only this capability, the other declares
// none.

/** Results of two clients: one that declares only the capability (`able`), and one that declares no capability (`unable`). */
interface Difference {
  /** Events that each client received about the test's actions. */
  readonly events: readonly [able: Json[], unable: Json[]];
  /** State that each client fetched after the test's actions. */
  readonly state: readonly [able: Json, unable: Json];
}

const only = (name: Capability) => ({ client_capabilities: { notification_settings_null: false, [name]: true } });

/**
 * Compares both clients while `acts` runs. @param options `events`: the event types to compare. `groups`: the data groups of
 * the state to compare.
 */
async function differenceOf(
  name: Capability,
  viewer: Person,
  acts: () => Promise<unknown>,
  { events: eventTypes, groups = eventTypes }: { events: readonly string[]; groups?: readonly string[] },
): Promise<Difference> {
  const heard = await Promise.all(
    [only(name), {}].map((more) => viewer.receiving({ ...more, event_types: eventTypes })),
  );
  await acts();
  const [able = [], unable = []] = await Promise.all(heard.map((read) => read()));
  const states = await Promise.all(
    [only(name), {}].map((more) => viewer.register({ ...more, fetch_event_types: groups })),
  );
  const [withIt, withoutIt] = states.map(({ queue_id: _, last_event_id: _id, ...state }) => state);
  return { events: [able, unable], state: [withIt, withoutIt] };
}

const message = async (by: Person, to: number, topic: string): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'channel', to, topic, content: 'hello' })).id;

async function place(): Promise<Organization & { channel: number }> {
  const made = await createOrganization();
  const { owner, member } = made;
  const parameters = { name: 'boats', subscribers: [owner.id, member.id] };
  return { ...made, channel: (await owner.ok('POST', '/channels/create', parameters)).id };
}

const CASES: Readonly<Record<Capability, () => Promise<void>>> = {
  async notification_settings_null() {
    const { owner, member } = await place();
    const more = () => owner.ok('POST', '/channels/create', { name: 'ships', subscribers: [member.id] });
    // Here, the second client sends no `client_capabilities`. In all other cases, the second client declares the capability as
    // false.
    const heard = await Promise.all(
      [{ client_capabilities: { notification_settings_null: true } }, {}].map((how) => member.receiving(how)),
    );
    await more();
    const told = await Promise.all(heard.map((read) => read()));
    const subscribed = told.map((events) => events.find(({ type, op }) => type === 'subscription' && op === 'add'));
    expect(subscribed.map((event) => event?.subscriptions[0].desktop_notifications)).toEqual([null, false]);
    const states = await Promise.all(
      [true, false].map((able) =>
        member.register({
          fetch_event_types: ['subscription'],
          client_capabilities: { notification_settings_null: able },
        }),
      ),
    );
    expect(states.map(({ subscriptions }) => subscriptions[0].wildcard_mentions_notify)).toEqual([null, true]);
  },

  async bulk_message_deletion() {
    const { owner, member, channel } = await place();
    const ids = [await message(member, channel, 'a'), await message(member, channel, 'a')];
    const { events } = await differenceOf(
      'bulk_message_deletion',
      member,
      () => owner.ok('POST', `/streams/${channel}/delete_topic`, { topic_name: 'a' }),
      { events: ['delete_message'], groups: [] },
    );
    const where = { type: 'delete_message', message_type: 'stream', stream_id: channel, topic: 'a' };
    expect(events[0]).toEqual([{ ...where, message_ids: ids }]);
    expect(new Set(events[1].map((event) => JSON.stringify(event)))).toEqual(
      new Set(ids.map((message_id) => JSON.stringify({ ...events[1][0], message_id }))),
    );
    expect(events[1][0]).toMatchObject(where);
  },

  // The capability permits the server to omit the field, but the server always sends it.
  async user_avatar_url_field_optional() {
    const { member } = await place();
    const { state } = await differenceOf('user_avatar_url_field_optional', member, async () => {}, {
      events: ['realm_user'],
    });
    expect(state[0]).toEqual(state[1]);
    for (const user of state[0].realm_users) expect(user).toHaveProperty('avatar_url');
  },

  async stream_typing_notifications() {
    const { owner, member, channel } = await place();
    const { events } = await differenceOf(
      'stream_typing_notifications',
      owner,
      async () => {
        await member.ok('POST', '/typing', { op: 'start', type: 'channel', stream_id: channel, topic: 'a' });
        await member.ok('POST', '/typing', { op: 'start', to: [owner.id] });
      },
      { events: ['typing'] },
    );
    expect(events.map((heard) => heard.map(({ message_type }) => message_type))).toEqual([
      ['stream', 'direct'],
      ['direct'],
    ]);
  },

  // The capability has no effect since feature level 439, because only one form of the data exists since then.
  async user_settings_object() {
    const { member } = await place();
    const { events, state } = await differenceOf(
      'user_settings_object',
      member,
      () => member.ok('PATCH', '/settings', { enter_sends: true }),
      { events: ['user_settings'] },
    );
    expect(events[0]).toEqual([{ type: 'user_settings', op: 'update', property: 'enter_sends', value: true }]);
    expect(events[1]).toEqual(events[0]);
    expect(state[1]).toEqual(state[0]);
  },

  // No linkifiers exist, so the list is empty with and without the capability.
  async linkifier_url_template() {
    const { member } = await place();
    const { state } = await differenceOf('linkifier_url_template', member, async () => {}, {
      events: ['realm_linkifiers', 'realm_filters'],
    });
    for (const each of state) expect(each).toMatchObject({ realm_linkifiers: [], realm_filters: [] });
  },

  // Every user of this organization can see all others, so the list is complete with and without the capability.
  async user_list_incomplete() {
    const { guest, signUp } = await place();
    const { events, state } = await differenceOf('user_list_incomplete', guest, () => signUp('New'), {
      events: ['realm_user'],
    });
    expect(events[0]).toMatchObject([{ type: 'realm_user', op: 'add', person: { full_name: 'New' } }]);
    expect(events[1]).toEqual(events[0]);
    expect(state[1]).toEqual(state[0]);
    expect(state[0].realm_users.map(({ full_name }: Json) => full_name)).toContain('New');
  },

  async include_deactivated_groups() {
    const { owner, member } = await place();
    const parameters = { name: 'sailors', description: '', members: [member.id] };
    const { group_id } = await owner.ok('POST', '/user_groups/create', parameters);
    const { events, state } = await differenceOf(
      'include_deactivated_groups',
      member,
      () => owner.ok('POST', `/user_groups/${group_id}/deactivate`),
      { events: ['user_group'], groups: ['realm_user_groups'] },
    );
    expect(events).toEqual([
      [{ type: 'user_group', op: 'update', group_id, data: { deactivated: true } }],
      [{ type: 'user_group', op: 'remove', group_id }],
    ]);
    const shown = state.map(({ realm_user_groups }) => realm_user_groups.some(({ id }: Json) => id === group_id));
    expect(shown).toEqual([true, false]);
  },

  async archived_channels() {
    const { owner, member, channel } = await place();
    const { events, state } = await differenceOf(
      'archived_channels',
      member,
      () => owner.ok('DELETE', `/streams/${channel}`),
      { events: ['stream'], groups: ['stream', 'subscription'] },
    );
    expect(events[0]).toMatchObject([{ op: 'update', stream_id: channel, property: 'is_archived', value: true }]);
    expect(events[1]).toMatchObject([{ op: 'delete', stream_ids: [channel] }]);
    for (const list of ['streams', 'subscriptions']) {
      const shown = state.map((each) => each[list].some(({ stream_id }: Json) => stream_id === channel));
      expect(shown, list).toEqual([true, false]);
    }
  },

  async empty_topic_name() {
    const { owner, member, channel } = await place();
    const { events, state } = await differenceOf(
      'empty_topic_name',
      member,
      async () => {
        const id = await message(owner, channel, '');
        await owner.ok('PATCH', `/messages/${id}`, { topic: 'named', send_notification_to_new_thread: false });
        // The draft is created after the topic was renamed. Otherwise, it would have moved with the topic.
        await member.ok('POST', '/drafts', {
          drafts: [{ type: 'stream', to: [channel], topic: '', content: 'x' }],
        });
        await member.ok('POST', '/user_topics', { stream_id: channel, topic: '', visibility_policy: 3 });
        await message(owner, channel, '');
      },
      {
        events: ['message', 'user_topic', 'drafts', 'update_message'],
        groups: ['user_topic', 'drafts', 'message', 'update_message_flags'],
      },
    );
    const topicsOf = (heard: Json[]) =>
      heard.flatMap(({ message, topic_name, drafts, orig_subject }) =>
        [message?.subject, topic_name, drafts?.[0].topic, orig_subject].filter((topic) => topic !== undefined),
      );
    for (const [i, shown] of ['', 'general chat'].entries()) {
      const topics = topicsOf(events[i] ?? []);
      expect(topics.length).toBeGreaterThanOrEqual(5);
      expect(new Set(topics)).toEqual(new Set([shown]));
      const { user_topics, drafts, unread_msgs } = state[i] as Json;
      expect(user_topics.map(({ topic_name }: Json) => topic_name)).toContain(shown);
      expect(drafts[0].topic).toBe(shown);
      expect(unread_msgs.streams.map(({ topic }: Json) => topic)).toContain(shown);
    }
  },

  async simplified_presence_events() {
    const { owner, member } = await place();
    const { events, state } = await differenceOf(
      'simplified_presence_events',
      owner,
      () => member.ok('POST', '/users/me/presence', { status: 'active', ping_only: true }),
      { events: ['presence'] },
    );
    const [seen] = Object.values<Json>(state[0].presences);
    expect(events[0]).toEqual([{ type: 'presence', presences: { [member.id]: seen } }]);
    const website = { client: 'website', status: 'active', timestamp: seen.active_timestamp, pushable: false };
    expect(events[1]).toMatchObject([
      { type: 'presence', user_id: member.id, email: member.email, presence: { website } },
    ]);
    expect(Object.keys(state[0].presences)).toEqual([String(member.id)]);
    expect(state[1].presences).toMatchObject({ [member.email]: { website } });
  },

  async individual_emoji_changes() {
    const { owner, member } = await place();
    const { events, state } = await differenceOf(
      'individual_emoji_changes',
      member,
      async () => {
        await owner.ok('POST', '/realm/emoji/boat_race', { file: PNG });
        await owner.ok('DELETE', '/realm/emoji/boat_race');
      },
      { events: ['realm_emoji'] },
    );
    const [[id, emoji] = ['', {}]] = Object.entries<Json>(state[0].realm_emoji);
    expect(emoji).toMatchObject({ name: 'boat_race', deactivated: true });
    expect(events).toEqual([
      [
        { type: 'realm_emoji', op: 'add', emoji: { ...emoji, deactivated: false } },
        { type: 'realm_emoji', op: 'update_one', emoji_id: id, data: { deactivated: true } },
      ],
      [false, true].map((deactivated) => ({
        ...{ type: 'realm_emoji', op: 'update' },
        realm_emoji: { [id]: { ...emoji, deactivated } },
      })),
    ]);
    expect(state[1]).toEqual(state[0]);
  },
};

describe('each capability alone', () => {
  test.concurrent.for(CAPABILITIES)('%s', async (name) => CASES[name]());
});
