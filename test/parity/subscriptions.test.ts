import { describe, expect, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who, type World } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';
import type { Json } from '../helpers/http.ts';
import { CHANNEL_FIELDS, GROUP_FRAGMENT, toRestChannel } from '../helpers/rest-channel.ts';
import { createOrganization } from '../helpers/server.ts';

describe('subscriptions', () => {
  test.concurrent('POST /users/me/subscriptions and subscribe', async () => {
    const act = (
      who: Who,
      channels: { readonly name: string; readonly color?: string; readonly description?: string }[],
      whom: readonly Who[] = [],
      code?: string,
      more: [object, object] = [{}, {}],
    ) =>
      bothDoors('POST', '/users/me/subscriptions', 'subscribe')(
        who,
        (world) => ({ subscriptions: channels, principals: whom.map((one) => world[one].id), ...more[0] }),
        (world) => ({
          channels: channels.map(({ name, ...rest }) => ({ channel: { name }, ...rest })),
          userIds: whom.map((one) => world[one].id),
          ...more[1],
        }),
        code,
      );
    await expectParity(furnish, {
      'to a channel': act('owner', [{ name: 'general', color: '#ABC' }]),
      'once more': act('owner', [{ name: 'general' }]),
      'to two, others': act(
        'member',
        [{ name: 'general' }, { name: 'hidden' }],
        ['guest', 'moderator', 'bot'],
        undefined,
        [{ send_new_subscription_messages: false }, { sendsMessages: false }],
      ),
      'to a new one': act('moderator', [{ name: 'new', description: 'A *new* one' }], ['member', 'guest']),
      'to a new private one': act('member', [{ name: 'secret' }], [], undefined, [
        { invite_only: true },
        { newChannels: { privacy: 'PRIVATE' } },
      ]),
      'to a private one': act('owner', [{ name: 'hidden' }], [], 'BAD_REQUEST'),
      'to a private one, if possible': act('owner', [{ name: 'hidden' }, { name: 'other' }], [], undefined, [
        { authorization_errors_fatal: false },
        { skipUnauthorized: true },
      ]),
      'a guest to a public one': act('guest', [{ name: 'other' }], [], 'UNAUTHORIZED_PRINCIPAL'),
      'a guest to a new one': act('guest', [{ name: 'newer' }], [], 'UNAUTHORIZED_PRINCIPAL'),
      'others by a guest': act('guest', [{ name: 'general' }], ['owner'], 'BAD_REQUEST'),
      'a blank name': act('owner', [{ name: ' ' }], [], 'BAD_REQUEST'),
      'a null byte': act('owner', [{ name: 'a\0b' }], [], 'BAD_REQUEST'),
      'a bad colour': act('owner', [{ name: 'general', color: 'red' }], [], 'BAD_REQUEST'),
      'a nonexistent user': act('owner', [{ name: 'general' }], [], 'BAD_REQUEST', [
        { principals: [NOBODY] },
        { userIds: [NOBODY] },
      ]),
    });
  });

  test.concurrent('DELETE /users/me/subscriptions and unsubscribe', async () => {
    const act = (who: Who, names: string[], whom: readonly Who[] = [], code?: string) =>
      bothDoors('DELETE', '/users/me/subscriptions', 'unsubscribe')(
        who,
        (world) => ({ subscriptions: names, principals: whom.map((one) => world[one].id) }),
        (world) => ({ channels: names.map((name) => ({ name })), userIds: whom.map((one) => world[one].id) }),
        code,
      );
    await expectParity(furnish, {
      'from where one is and is not': act('member', ['General', 'other']),
      'others by a moderator': act('moderator', ['general'], ['member'], 'BAD_REQUEST'),
      'others by an administrator': act('administrator', ['hidden', 'general'], ['member', 'guest']),
      'from what one does not see': act('moderator', ['hidden'], [], 'BAD_REQUEST'),
      'from what is not there': act('owner', ['general', 'nothing'], [], 'BAD_REQUEST'),
    });
  });

  const SETTINGS = {
    ...{ color: 'color', is_muted: 'isMuted', pin_to_top: 'pinToTop' },
    ...{ desktop_notifications: 'desktopNotifications', audible_notifications: 'audibleNotifications' },
    wildcard_mentions_notify: 'wildcardMentionsNotify',
  };

  const settings = (one: boolean) => {
    const act = (
      who: Who,
      property: keyof typeof SETTINGS,
      value: unknown,
      code?: string,
      id = ({ general }: World) => general,
    ) =>
      bothDoors(
        'POST',
        (world) => `/users/me/subscriptions/${one ? id(world) : 'properties'}`,
        'updateSubscriptionSettings',
      )(
        who,
        (world) =>
          one
            ? { property, value: JSON.stringify(value) }
            : { subscription_data: [{ stream_id: id(world), property, value }] },
        (world) => ({ subscriptions: [{ channelId: id(world), [SETTINGS[property]]: value }] }),
        code,
      );
    const all = Object.keys(SETTINGS).filter((name) => name !== 'color') as (keyof typeof SETTINGS)[];
    return {
      ...Object.fromEntries(all.map((property) => [property, act('member', property, true)])),
      'a colour': act('member', 'color', '#F0a'),
      'as it is': act('member', 'is_muted', true),
      'a bad colour': act('member', 'color', 'red', 'BAD_REQUEST'),
      'where one is not': act('owner', 'is_muted', true, 'BAD_REQUEST'),
      'what one does not see': act('moderator', 'is_muted', true, 'BAD_REQUEST', ({ hidden }) => hidden),
      'a nonexistent channel': act('member', 'is_muted', true, 'BAD_REQUEST', () => NOBODY),
    };
  };

  test.concurrent('POST /users/me/subscriptions/properties and updateSubscriptionSettings', async () => {
    await expectParity(furnish, settings(false));
  });

  test.concurrent('POST /users/me/subscriptions/{stream_id} and updateSubscriptionSettings', async () => {
    await expectParity(furnish, settings(true));
  });

  test.concurrent('GET /users/me/subscriptions and subscriptions', async () => {
    const { member, guest } = await createOrganization();
    for (const name of ['a', 'b'])
      await member.ok('POST', '/channels/create', { name, subscribers: [member.id, guest.id] });
    const { subscriptions } = await member.query(`{ subscriptions { edges { node { color isMuted pinToTop
      desktopNotifications audibleNotifications wildcardMentionsNotify
      channel { ${CHANNEL_FIELDS} subscribers { edges { node { databaseId } } } } } } } } ${GROUP_FRAGMENT}`);
    const shown = subscriptions.edges.map(({ node }: Json) => ({
      ...{ color: node.color, is_muted: node.isMuted, in_home_view: !node.isMuted, pin_to_top: node.pinToTop },
      ...{ desktop_notifications: node.desktopNotifications, audible_notifications: node.audibleNotifications },
      // These settings have no effect yet, and only REST returns them.
      ...{ push_notifications: null, email_notifications: null },
      wildcard_mentions_notify: node.wildcardMentionsNotify,
      ...toRestChannel(node.channel),
      subscribers: node.channel.subscribers.edges
        .map((edge: Json) => edge.node.databaseId)
        .filter((id: number) => id !== member.id),
    }));
    const reply = await member.ok('GET', '/users/me/subscriptions', { include_subscribers: 'true' });
    expect(shown).toHaveLength(2);
    expect(reply.subscriptions).toMatchObject(shown);
  });
});
