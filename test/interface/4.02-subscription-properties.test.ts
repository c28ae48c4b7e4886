import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';
import { channelOf } from '../helpers/talk.ts';

const { owner, member } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member]);

const set = (subscription_data: unknown) =>
  member.rest('POST', '/users/me/subscriptions/properties', { subscription_data });
const own = async (id: number): Promise<Json> =>
  (await member.ok('GET', '/users/me/subscriptions')).subscriptions.find(({ stream_id }: Json) => stream_id === id);

const BOOLEANS = [
  ...['is_muted', 'in_home_view', 'pin_to_top', 'desktop_notifications', 'audible_notifications'],
  ...['push_notifications', 'email_notifications', 'wildcard_mentions_notify'],
];

describe.concurrent('4.2 POST /users/me/subscriptions/properties', () => {
  test('answers with the envelope only', async () => {
    const { status, body } = await set([{ stream_id: general, property: 'color', value: '#123456' }]);
    expect([status, body]).toEqual([200, success()]);
  });

  test('sets several properties of several channels at once', async () => {
    const [one, two] = [await channelOf(owner, 'one', [member]), await channelOf(owner, 'two', [member])];
    await set([
      { stream_id: one, property: 'pin_to_top', value: true },
      { stream_id: two, property: 'color', value: '#abcdef' },
      { stream_id: one, property: 'color', value: '#fedcba' },
    ]);
    expect([await own(one), await own(two)]).toMatchObject([
      { pin_to_top: true, color: '#fedcba' },
      { pin_to_top: false, color: '#abcdef' },
    ]);
  });

  test('subscription_data is required', async () => {
    expect(await set(undefined)).toMatchObject(refused('REQUEST_VARIABLE_MISSING', { var_name: 'subscription_data' }));
  });

  test.for(['stream_id', 'property', 'value'])('%s of each object is required', async (name) => {
    const { [name]: _, ...rest } = { stream_id: general, property: 'is_muted', value: true } as Json;
    expect(await set([rest])).toMatchObject(refused());
  });

  test.for(['name', 'role', 'email_address', 'notifications', ''])('rejects the property %j', async (property) => {
    expect(await set([{ stream_id: general, property, value: true }])).toMatchObject(refused());
  });

  test.for(BOOLEANS)('accepts a boolean for %s', async (property) => {
    const channel = await channelOf(owner, `for ${property}`, [member]);
    for (const value of [true, false]) {
      expect((await set([{ stream_id: channel, property, value }])).body).toEqual(success());
      expect((await own(channel))[property]).toBe(value);
    }
  });

  test.for(BOOLEANS)('accepts only a boolean for %s', async (property) => {
    for (const value of ['true', 1, null, '#123456']) {
      expect(await set([{ stream_id: general, property, value }])).toMatchObject(refused());
    }
  });

  test.for([true, 'red', '#12345', '123456', '#gggggg', ''])('rejects the color %j', async (value) => {
    expect(await set([{ stream_id: general, property: 'color', value }])).toMatchObject(refused());
  });

  test('does not echo subscription_data', async () => {
    const { body } = await set([{ stream_id: general, property: 'is_muted', value: false }]);
    expect(body).not.toHaveProperty('subscription_data');
  });

  test('POST /users/me/subscriptions/{stream_id} sets one property of one channel', async () => {
    const channel = await channelOf(owner, 'alone', [member]);
    const parameters = { property: 'pin_to_top', value: true };
    expect(await member.ok('POST', `/users/me/subscriptions/${channel}`, parameters)).toEqual(success());
    expect(await own(channel)).toMatchObject({ pin_to_top: true });
  });

  test.for([
    ['color', '#c0ffee'],
    ['pin_to_top', true],
    ['push_notifications', true],
  ] as const)('sends a subscription update event for %s', async ([property, value]) => {
    const { owner, member } = await createOrganization();
    const stream_id = await channelOf(owner, 'general', [member]);
    const [own, other] = [await member.receiving(), await owner.receiving()];
    const data = { subscription_data: [{ stream_id, property, value }] };
    await member.ok('POST', '/users/me/subscriptions/properties', data);
    expect(await own()).toEqual([{ type: 'subscription', op: 'update', stream_id, property, value }]);
    expect(await other()).toEqual([]);
  });
});
