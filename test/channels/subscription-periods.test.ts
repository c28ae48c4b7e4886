import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOTALS } from '../../src/platform/totals.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests the periods in which a user is subscribed to a channel. They determine which messages and events the user received.

let service: InProcess;

beforeAll(async () => {
  service = await shareInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

async function setUp(options: object = {}) {
  const people = await createOrganization({}, { on: service });
  const { owner, member } = people;
  const { id: channelId } = await owner.ok('POST', '/channels/create', {
    ...{ name: 'quay', subscribers: [owner.id, member.id] },
    ...options,
  });
  const join = (who: Person = member) =>
    owner.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'quay' }], principals: [who.id], send_new_subscription_messages: false },
    });
  const leave = (who: Person = member) =>
    owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['quay'], principals: [who.id] });
  const say = async (content: string): Promise<number> =>
    (await owner.ok('POST', '/messages', { type: 'channel', to: channelId, topic: 'ropes', content })).id;
  const periods = (who: Person = member) =>
    service.app.db.subscriptionPeriod.count({
      where: { organizationId: people.organization.id, userId: who.id, channelId },
    });
  return { ...people, channelId, join, leave, say, periods };
}

type Setup = Awaited<ReturnType<typeof setUp>>;

/** An organization with a channel. Also the id of another channel, and of a message that was sent before the user left. */
interface Gap extends Setup {
  readonly otherId: number;
  readonly before: number;
}

/**
 * Actions in the channel while the user is not subscribed. Each has the expected number of subscription periods after the user
 * has joined again.
 */
const GAPS: readonly (readonly [name: string, periods: number, act: (gap: Gap) => Promise<unknown>])[] = [
  ['a message', 2, ({ say }) => say('meanwhile')],
  [
    'a message that was deleted',
    2,
    async ({ owner, say }) => owner.ok('DELETE', `/messages/${await say('meanwhile')}`),
  ],
  [
    'a message that was moved away',
    2,
    async ({ owner, say, otherId }) =>
      owner.ok('PATCH', `/messages/${await say('meanwhile')}`, { stream_id: otherId, propagate_mode: 'change_all' }),
  ],
  ['a subscriber', 2, ({ join, guest }) => join(guest)],
  // The events of these actions are addressed to the recipients of the message, not to the subscribers.
  [
    'a reaction',
    1,
    ({ owner, before }) => owner.ok('POST', `/messages/${before}/reactions`, { emoji_name: 'octopus' }),
  ],
  ['an edit', 1, ({ owner, before }) => owner.ok('PATCH', `/messages/${before}`, { content: 'edited' })],
];

const PROTECTED = { invite_only: true, history_public_to_subscribers: false };

describe('a user who leaves a channel and joins it again', () => {
  test.for([
    ['public', {}],
    ['protected', PROTECTED],
  ] as const)('continues the period if a %s channel received nothing meanwhile', async ([, options]) => {
    const { member, join, leave, say, periods, channelId } = await setUp(options);
    const before = await say('before');
    for (let i = 0; i < 5; i++) {
      await leave();
      await join();
    }
    expect(await periods()).toBe(1);
    const after = await say('after');
    const { messages } = await member.ok('GET', '/messages', {
      narrow: [{ operator: 'channel', operand: channelId }],
      ...{ anchor: 'newest', num_before: 10, num_after: 0 },
    });
    expect(messages.map(({ id }: { id: number }) => id)).toEqual(expect.arrayContaining([before, after]));
  });

  test.for(GAPS)('does not receive %s of the time between, and then has %i periods', async ([, expected, act]) => {
    const setup = await setUp(PROTECTED);
    const { owner, member, join, leave, say, periods } = setup;
    const { id: otherId } = await owner.ok('POST', '/channels/create', {
      ...PROTECTED,
      name: 'pier',
      subscribers: [owner.id],
    });
    const before = await say('before');
    await leave();
    const received = await member.receiving({
      event_types: ['message', 'reaction', 'update_message', 'delete_message'],
    });
    await act({ ...setup, otherId, before });
    await join();
    expect(await periods()).toBe(expected);
    const after = await say('after');
    expect((await received()).map(({ type, message }) => [type, message?.id])).toEqual([['message', after]]);
  });
});

describe('the number of joins', () => {
  const { max, refusal } = TOTALS.joins_per_user_and_channel;

  /**
   * Ends the user's subscription period and stores further ended periods, so that there are `count`. The last period ended
   * before a message.
   */
  async function fill({ organization, member, channelId, leave, say }: Setup, count: number) {
    await leave();
    await service.app.db.$executeRaw`
      INSERT INTO subscription_period (realm_id, user_id, channel_id, began_event_id, began_message_id, ended_event_id, ended_message_id)
      SELECT ${organization.id}::int, ${member.id}::int, ${channelId}::int, -n, 0, 0, 0 FROM generate_series(1, ${count - 1}::int) AS n`;
    await say('meanwhile');
  }

  test('is limited, over both APIs, also if an administrator adds the user, and changes nothing beyond', async () => {
    const setup = await setUp();
    const { owner, member, channelId, periods } = setup;
    await fill(setup, max);
    const refused = {
      status: 400,
      body: { code: 'BAD_REQUEST', msg: `${refusal}.`, limit: 'max_joins_per_user_and_channel' },
    };
    const subscriptions = [{ name: 'quay' }];
    expect(await member.rest('POST', '/users/me/subscriptions', { subscriptions })).toMatchObject(refused);
    expect(
      await owner.rest('POST', '/users/me/subscriptions', { subscriptions, principals: [member.id] }),
    ).toMatchObject(refused);
    expect(
      await member.tryMutation('subscribe', { channels: [{ channel: { id: globalId('Channel', channelId) } }] }),
    ).toMatchObject({ code: 'BAD_REQUEST', message: `${refusal}.` });
    expect(await periods()).toBe(max);
    expect((await member.ok('GET', '/users/me/subscriptions')).subscriptions).toEqual([]);
  });

  test('permits the last join, and unlimited further ones while the channel receives nothing', async () => {
    const setup = await setUp();
    const { join, leave, periods } = setup;
    await fill(setup, max - 1);
    await join();
    expect(await periods()).toBe(max);
    for (let i = 0; i < 3; i++) {
      await leave();
      await join();
    }
    expect(await periods()).toBe(max);
  });
});
