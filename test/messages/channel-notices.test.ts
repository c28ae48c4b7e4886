import { describe, expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

/** Returns the topic, content and flags of all messages of a channel that the reader can see, from old to new. */
async function messagesIn(reader: Person, channelId: number) {
  const narrow = [{ operator: 'channel', operand: channelId }];
  const page = { anchor: 'oldest', num_before: 0, num_after: 100, apply_markdown: false };
  const { messages } = await reader.ok('GET', '/messages', { ...page, narrow });
  return messages.map(({ subject, content, flags }: Json) => ({ topic: subject, content, flags }));
}

const create = async (person: Person, name: string, more: object = {}): Promise<number> =>
  (await person.ok('POST', '/channels/create', { name, subscribers: [person.id], ...more })).id;

const mention = (person: Person, name: string) => `@_**${name}|${person.id}**`;

/** Creates an organization with a channel that the setting names. */
async function withAnnouncements(setting: string) {
  const made = await createOrganization();
  const { user } = await made.owner.ok('GET', `/users/${made.owner.id}`);
  const board = await create(made.owner, 'board');
  await made.owner.ok('PATCH', '/realm', { [setting]: board });
  return { ...made, board, ownerMention: mention(made.owner, user.full_name) };
}

describe('new channels', () => {
  test('are announced if the request says so and they are public', async () => {
    const { owner, board, ownerMention } = await withAnnouncements('new_stream_announcements_stream_id');
    await create(owner, 'silent');
    await create(owner, 'hidden', { announce: true, invite_only: true });
    await create(owner, 'open', { announce: true });
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'odd *name*' }], announce: true });
    await owner.mutate('createChannel', { name: 'by GraphQL', isAnnounced: true }, '__typename');
    const [first, odd, ...others] = await messagesIn(owner, board);
    expect(first).toMatchObject({ topic: 'new channels', content: `${ownerMention} created a new channel #**open**.` });
    expect(odd.content).toContain('created a new channel [#odd &#42;name&#42;](#narrow/channel/');
    expect(others.map(({ content }: Json) => content)).toEqual([
      `${ownerMention} created a new channel #**by GraphQL**.`,
    ]);
  });

  test('are created although the channel for announcements is archived', async () => {
    const { owner, board } = await withAnnouncements('new_stream_announcements_stream_id');
    await owner.ok('DELETE', `/streams/${board}`);
    expect(await create(owner, 'open', { announce: true })).toBeGreaterThan(board);
    expect(await messagesIn(owner, board)).toEqual([]);
  });
});

test('new people are announced, and new bots are not', async () => {
  const { owner, signUp, board } = await withAnnouncements('signup_announcements_stream_id');
  await owner.ok('POST', '/bots', { full_name: 'Clerk', short_name: 'clerk' });
  const zoe = await signUp('Zoe Zane');
  const content = `${mention(zoe, 'Zoe Zane')} joined this organization.`;
  expect(await messagesIn(owner, board)).toMatchObject([{ topic: 'signups', content }]);
});

describe('with `send_channel_events_messages`, a channel shows', () => {
  test('its creation and each change, without notifying anyone whom a description mentions', async () => {
    const { owner, member } = await createOrganization();
    await owner.ok('PATCH', '/realm', { send_channel_events_messages: true });
    const description = 'For @**all** and *friends*';
    const id = await create(owner, 'quay', { description, subscribers: [owner.id, member.id] });
    await owner.ok('PATCH', `/streams/${id}`, { new_name: 'dock' });
    await owner.ok('PATCH', `/streams/${id}`, { description: '' });
    await owner.ok('PATCH', `/streams/${id}`, { is_private: true });
    await owner.ok('PATCH', `/streams/${id}`, { message_retention_days: 30 });
    await owner.ok('PATCH', `/streams/${id}`, { folder_id: null });
    await owner.ok('DELETE', `/streams/${id}`);
    await owner.ok('PATCH', `/streams/${id}`, { is_archived: false });
    const messages = await messagesIn(member, id);
    expect(new Set(messages.map(({ topic }: Json) => topic))).toEqual(new Set(['channel events']));
    expect(messages.flatMap(({ flags }: Json) => flags).filter((flag: string) => /mention/.test(flag))).toEqual([]);
    const texts = messages.map(({ content }: Json) => content.replace(/^@_\*\*.*?\*\* /, ''));
    expect(texts).toEqual([
      'created this channel.\n\n* **Privacy**: public\n* **Description**: For @&#42;&#42;all&#42;&#42; and &#42;friends&#42;',
      'renamed this channel from **quay** to **dock**.',
      expect.stringMatching(
        /^changed the description of this channel\.\n\n\* \*\*Old\*\*: For .*\n\* \*\*New\*\*: \*none\*$/,
      ),
      expect.stringContaining('* **Old**: public\n* **New**: private, with'),
      "changed the message retention of this channel.\n\n* **Old**: the organization's default\n* **New**: 30 days",
      'archived this channel.',
      'restored this channel from the archive.',
    ]);
  });

  test('them in the general topic if it has no other, and with the longest descriptions', async () => {
    const { owner } = await createOrganization();
    await owner.ok('PATCH', '/realm', { send_channel_events_messages: true });
    const id = await create(owner, 'plain', { topics_policy: 'empty_topic_only', description: '*'.repeat(1024) });
    await owner.ok('PATCH', `/streams/${id}`, { description: '[`'.repeat(512) });
    expect((await messagesIn(owner, id)).map(({ topic }: Json) => topic)).toEqual(['general chat', 'general chat']);
  });

  const CHANGES: [what: string, change: Parameters][] = [
    ['name', { new_name: 'attic' }],
    ['description', { description: 'Old things' }],
    ['privacy', { is_private: true }],
    ['retention', { message_retention_days: 30 }],
    ['topics policy', { topics_policy: 'disable_empty_topic' }],
    ['permissions', { can_send_message_group: { new: { direct_members: [], direct_subgroups: [] } } }],
  ];
  test.each(CHANGES)('no change of the %s of an archived channel, which succeeds', async (_what, change) => {
    const { owner } = await createOrganization();
    await owner.ok('PATCH', '/realm', { send_channel_events_messages: true });
    const id = await create(owner, 'cellar');
    await owner.ok('DELETE', `/streams/${id}`);
    const before = await messagesIn(owner, id);
    await owner.ok('PATCH', `/streams/${id}`, change);
    expect(await messagesIn(owner, id)).toEqual(before);
  });

  test('a change that a request makes together with the restoration', async () => {
    const { owner } = await createOrganization();
    await owner.ok('PATCH', '/realm', { send_channel_events_messages: true });
    const id = await create(owner, 'cellar');
    await owner.ok('DELETE', `/streams/${id}`);
    await owner.ok('PATCH', `/streams/${id}`, { is_archived: false, new_name: 'attic' });
    const texts = (await messagesIn(owner, id)).map(({ content }: Json) => content.replace(/^@_\*\*.*?\*\* /, ''));
    expect(texts.slice(-2)).toEqual([
      'restored this channel from the archive.',
      'renamed this channel from **cellar** to **attic**.',
    ]);
  });

  test('nothing without the setting', async () => {
    const { owner } = await createOrganization();
    const id = await create(owner, 'quiet');
    await owner.ok('PATCH', `/streams/${id}`, { new_name: 'quieter' });
    expect(await messagesIn(owner, id)).toEqual([]);
  });
});

describe('people whom another user subscribes', () => {
  const notices = async (reader: Person) => {
    const narrow = [{ operator: 'is', operand: 'dm' }];
    const page = { anchor: 'oldest', num_before: 0, num_after: 100, apply_markdown: false };
    const { messages } = await reader.ok('GET', '/messages', { ...page, narrow });
    return messages.map(({ content }: Json) => content.replace(/^@_\*\*.*?\*\* /, ''));
  };

  test('get one direct message with the channels that they were not subscribed to', async () => {
    const { owner, member, guest, bot } = await createOrganization();
    for (const name of ['a', 'b']) await create(owner, name);
    const subscribe = (subscriptions: object[], principals: number[], more: object = {}) =>
      owner.ok('POST', '/users/me/subscriptions', { subscriptions, principals, ...more });
    const all = [owner.id, member.id, bot.id];
    expect(await subscribe([{ name: 'a' }], all)).toMatchObject({ new_subscription_messages_sent: true });
    await subscribe([{ name: 'a' }, { name: 'b' }, { name: 'new' }], [member.id]);
    await subscribe([{ name: 'a' }, { name: 'b' }], [guest.id]);
    expect(await notices(member)).toEqual([
      'subscribed you to the channel #**a**.',
      'subscribed you to the channel #**b**.',
    ]);
    expect(await notices(guest)).toEqual(['subscribed you to the following channels:\n\n* #**a**\n* #**b**']);
    expect(await notices(owner)).toEqual([]);
  });

  test.each([
    ['short names', (n: number) => `c${n}`, 50],
    ['the longest names', (n: number) => `${n}`.padEnd(60, 'x'), 50],
    ['the longest names, escaped', (n: number) => `${n}`.padEnd(60, '*'), 24],
  ])('get one message about 60 channels with %s, which names the first ones', async (_what, nameOf, named) => {
    const { owner, member } = await createOrganization();
    const subscriptions = Array.from({ length: 60 }, (_, i) => ({ name: nameOf(i + 1) }));
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions });
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions, principals: [member.id] });
    const [notice, ...others] = await notices(member);
    expect(others).toEqual([]);
    expect(notice.length).toBeLessThan(10_000);
    expect(notice.match(/^\* .*/gm)).toHaveLength(named);
    expect(notice).toMatch(new RegExp(`\n\nand ${60 - named} more$`));
  });

  test('get none if the request says so, and if they subscribe themselves', async () => {
    const { owner, member, guest } = await createOrganization();
    for (const name of ['a', 'b']) await create(owner, name);
    const quiet = { subscriptions: [{ name: 'a' }], principals: [member.id], send_new_subscription_messages: false };
    expect(await owner.ok('POST', '/users/me/subscriptions', quiet)).not.toHaveProperty(
      'new_subscription_messages_sent',
    );
    await member.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'b' }] });
    const input = {
      channels: [{ channel: { name: 'b' } }],
      userIds: [globalId('User', guest.id)],
      sendsMessages: false,
    };
    await owner.mutate('subscribe', input, '__typename');
    expect([await notices(member), await notices(guest)]).toEqual([[], []]);
  });
});
