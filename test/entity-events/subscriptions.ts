import { describe, expect, test } from 'vitest';
import { expectAnswered, expectShownAlike, logAsBefore } from '../helpers/entity-events.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf } from '../helpers/talk.ts';

const MODERN = {
  event_types: ['subscription'],
  client_capabilities: { notification_settings_null: true, archived_channels: true },
};
const OLD = { event_types: ['subscription'], include_subscribers: false };

/**
 * Registers the tests of events about subscriptions.
 *
 * @param service Returns the service that the tests use.
 */
export function subscriptions(service: () => InProcess): void {
  const place = async () => {
    const people = await createOrganization({}, { on: service() });
    const channel = await channelOf(people.owner, 'general', [people.owner]);
    return { ...people, channel };
  };
  const named = { subscriptions: [{ name: 'general' }] };
  const idOf = (userId: number, channelId: number) => globalId('ChannelSubscription', `${userId}:${channelId}`);

  describe('subscriptions', () => {
    test.for([
      ['with all capabilities', MODERN],
      ['without capabilities', OLD],
    ] as const)('events of begin and end, own and of others, equal queries for clients %s', async ([, options]) => {
      const { owner, member, moderator, channel } = await place();
      // Excludes guests, because a guest can no longer see the channel after the subscription has ended.
      const readers = [owner, member, moderator];
      const join = () =>
        owner.ok('POST', '/users/me/subscriptions', { ...named, principals: [member.id, moderator.id] });
      const joined = await expectShownAlike(readers, join, options);
      expect(joined.map((events) => events.map(({ type }) => type))).toEqual([
        ['SubscribersAddedEvent'],
        ['SubscriptionsAddedEvent'],
        ['SubscriptionsAddedEvent'],
      ]);
      expect(joined[0]?.[0]?.event).toMatchObject({
        users: expect.arrayContaining(
          [member, moderator].map(({ id }) => expect.objectContaining({ id: globalId('User', id) })),
        ),
        channels: [{ databaseId: channel }],
      });
      const [subscription] = joined[1]?.[0]?.event.subscriptions ?? [];
      expect(subscription).toMatchObject({
        ...{ id: idOf(member.id, channel), isMuted: false, desktopNotifications: null },
        channel: { name: 'general', ownSubscription: { id: idOf(member.id, channel) } },
      });
      const dismiss = () =>
        owner.ok('DELETE', '/users/me/subscriptions', {
          ...{ subscriptions: ['general'], principals: [member.id, moderator.id] },
        });
      const dismissed = await expectShownAlike(readers, dismiss, options);
      expect(dismissed[0]?.map(({ type }) => type)).toEqual(['SubscribersRemovedEvent']);
      for (const [i, left] of [member, moderator].entries()) {
        const [gone, others] = dismissed[i + 1] ?? [];
        expect(gone?.event).toMatchObject({
          subscriptionIds: [idOf(left.id, channel)],
          channels: [{ name: 'general', ownSubscription: null }],
        });
        expect(others?.event.users.map(({ databaseId }: Json) => databaseId)).toEqual([[moderator.id], [member.id]][i]);
      }
    });

    test('the event of removal from a private channel contains only the known name, live and later', async () => {
      const { owner, member, moderator } = await place();
      const secret = await channelOf(owner, 'secret', [owner, member, moderator], { invite_only: true });
      const options = { fetch_event_types: [] };
      const [late, all] = await Promise.all([1, 2].map(() => member.register(options)));
      const known = '... on SubscriptionsRemovedEvent { channels { id name ownSubscription { id } } }';
      const more = '... on SubscriptionsRemovedEvent { channels { id name description subscriberCount } }';
      await using live = await member.events(known, { queueId: (await member.register(options)).queue_id });
      await using liveMore = await member.events(more, { queueId: (await member.register(options)).queue_id });
      const out = { subscriptions: ['secret'], principals: [member.id, moderator.id] };
      await owner.ok('DELETE', '/users/me/subscriptions', out);
      const left = { channels: [{ id: globalId('Channel', secret), name: 'secret', ownSubscription: null }] };
      expect(await live.next()).toEqual(left);
      expect(await liveMore.next()).toEqual({ channels: [null] });
      await owner.ok('PATCH', `/streams/${secret}`, { new_name: 'plot', description: 'the plot' });
      for (const [selection, shown] of [
        [known, left],
        [more, { channels: [null] }],
      ] as const) {
        await using stream = await member.events(selection, { queueId: late?.queue_id, after: -1 });
        expect(await stream.next()).toEqual(shown);
      }
      const heard = await member.poll(all?.queue_id, -1, { dontBlock: true });
      expect(heard.map(({ type, op }) => `${type} ${op}`)).toEqual([
        ...['subscription remove', 'subscription peer_remove', 'stream delete'],
      ]);
      expect(JSON.stringify(heard)).not.toContain('plot');
      expect((await member.query(`{ node(id: "${globalId('Channel', secret)}") { id } }`)).node).toBeNull();
    });

    test('events of changes contain the changed setting, for the user', async () => {
      const { owner, channel } = await place();
      const changes = {
        ...{ color: '#abcdef', is_muted: true, pin_to_top: true, desktop_notifications: false },
        audible_notifications: true,
        ...{ push_notifications: true, email_notifications: false },
        wildcard_mentions_notify: false,
      };
      for (const [property, value] of Object.entries(changes)) {
        const change = () =>
          owner.ok('POST', '/users/me/subscriptions/properties', {
            subscription_data: [{ stream_id: channel, property, value }],
          });
        const [heard = []] = await expectShownAlike([owner], change, MODERN);
        // A muted subscription sends a second event with `in_home_view`, for old clients.
        expect(heard.length).toBe(property === 'is_muted' ? 2 : 1);
        const updated = heard.find(({ event }) => event.subscriptionSetting === property.toUpperCase());
        expect(updated?.event).toMatchObject({
          subscription: { id: idOf(owner.id, channel), channel: { id: globalId('Channel', channel) } },
        });
        expect(Object.values(updated?.event.subscription)).toContain(value);
      }
    });

    test('unarchiving sends subscriptions to clients without the capability for archived channels', async () => {
      const { owner, member, channel } = await place();
      await owner.ok('POST', '/users/me/subscriptions', { ...named, principals: [member.id] });
      await owner.ok('DELETE', `/streams/${channel}`);
      const back = () => owner.ok('PATCH', `/streams/${channel}`, { is_archived: false });
      const [heard = []] = await expectShownAlike([member], back, { event_types: ['subscription'] });
      const again = heard.find(({ type }) => type === 'SubscriptionsAddedEvent');
      expect(again?.event.subscriptions).toMatchObject([{ id: idOf(member.id, channel) }]);
    });

    test('events have the same fields over REST as a registration', async () => {
      const { owner, member } = await place();
      const { queue_id, last_event_id } = await member.register({ ...MODERN, fetch_event_types: ['subscription'] });
      await owner.ok('POST', '/users/me/subscriptions', { ...named, principals: [member.id] });
      const [added] = await member.poll(queue_id, last_event_id, { dontBlock: true });
      const registered = await member.register({ ...MODERN, fetch_event_types: ['subscription'] });
      expect(added.subscriptions).toHaveLength(1);
      const fields = Object.keys(registered.subscriptions[0]).sort();
      expect(Object.keys(added.subscriptions[0]).sort()).toEqual(fields);
    });

    test('events logged by a previous version contain the logged fields, and the others are read', async () => {
      const { owner, organization, channel } = await place();
      const { subscriptions: known } = await owner.register({ ...MODERN, fetch_event_types: ['subscription'] });
      const [{ subscribers: _, ...wire }] = known;
      const personal = Object.fromEntries(
        ['color', 'is_muted', 'in_home_view', 'pin_to_top', 'desktop_notifications', 'audible_notifications']
          .concat(['push_notifications', 'email_notifications', 'wildcard_mentions_notify'])
          .map((name) => [name, wire[name]]),
      );
      const before = {
        ...{ type: 'subscription', op: 'add', unarchived: false },
        channels: [{ ...wire, subscribers: [owner.id], partial_subscribers: null }],
        subscribers: [{ user_id: owner.id, inherited: {}, subscriptions: [{ stream_id: channel, ...personal }] }],
      };
      await expectShownAlike([owner], () => logAsBefore(service(), organization.id, before, [owner]), MODERN);
      const settings = { type: 'subscription', op: 'update', stream_id: channel, is_archived: false };
      for (const change of [
        { property: 'in_home_view', value: true },
        { property: 'color', value: wire.color },
      ]) {
        const log = () => logAsBefore(service(), organization.id, { ...settings, ...change }, [owner]);
        await expectShownAlike([owner], log, MODERN);
      }
    });

    test('events of other subscribers need no statement per recipient', async () => {
      const { owner, member } = await place();
      const shown = await expectAnswered(
        owner,
        '... on SubscribersAddedEvent { users { id databaseId } channels { id } }',
        () => owner.ok('POST', '/users/me/subscriptions', { ...named, principals: [member.id] }),
        MODERN,
      );
      expect(shown.users).toEqual([{ id: globalId('User', member.id), databaseId: member.id }]);
    });
  });
}
