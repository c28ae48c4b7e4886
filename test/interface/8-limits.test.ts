import { describe, expect, test } from 'vitest';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { integer } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { owner, administrator, moderator, member, guest } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member, guest]);
const state = await member.register({ fetch_event_types: ['realm'] });
const message = await say(member, general, 'ships');
await owner.ok('PATCH', '/realm', {
  moderation_request_channel_id: await channelOf(owner, 'moderation', [owner, moderator], { invite_only: true }),
});
const { channel_folder_id: folder } = await owner.ok('POST', '/channel_folders/create', { name: 'a', description: '' });

/**
 * Returns a text of `count` code points, each of which has two UTF-16 units. So the test shows that limits count code points.
 */
const letters = (count: number) => '🚢'.repeat(count);
const statusOf = (by: Person, path: string) => (count: number) =>
  by.rest('POST', path, { status_text: letters(count) });
const folderOf = (name: string) => (count: number) =>
  administrator.rest('PATCH', `/channel_folders/${folder}`, { [name]: 'x'.repeat(count) });

describe.concurrent('8 Limits', () => {
  test.for([
    ['status_text of 4.6', 60, statusOf(administrator, `/users/${guest.id}/status`)],
    ['status_text of 4.7', 60, statusOf(member, '/users/me/status')],
    [
      'description of 4.10',
      1000,
      (count: number) =>
        guest.rest('POST', `/messages/${message}/report`, { report_type: 'spam', description: letters(count) }),
    ],
    ['channel folder name', state.max_channel_folder_name_length, folderOf('name')],
    ['channel folder description', state.max_channel_folder_description_length, folderOf('description')],
  ] as const)('%s: at most %i code points', async ([, most, send]) => {
    expect((await send(most)).status).toBe(200);
    expect(await send(most + 1)).toMatchObject({ status: 400, body: { code: 'BAD_REQUEST' } });
  });

  test.for([
    ['content', 'max_message_length'],
    ['topic', 'max_topic_length'],
  ] as const)('%s of a scheduled message is cut to %s of registration', async ([name, limit]) => {
    const later = {
      type: 'channel',
      to: general,
      topic: 't',
      content: 'c',
      scheduled_delivery_timestamp: 4_102_444_800,
    };
    const long = { ...later, [name]: letters(state[limit] + 1) };
    const { scheduled_message_id: id } = await member.ok('POST', '/scheduled_messages', long);
    const { scheduled_messages } = await member.ok('GET', '/scheduled_messages');
    const kept = scheduled_messages.find((one: { scheduled_message_id: number }) => one.scheduled_message_id === id);
    expect([...kept[name]]).toHaveLength(state[limit]);
  });

  test.for([
    ...['max_message_length', 'max_topic_length', 'max_channel_folder_name_length'],
    ...['max_channel_folder_description_length', 'event_queue_longpoll_timeout_seconds'],
  ])('registration returns %s', (name) => {
    expect(state[name]).toEqual(integer);
    expect(state[name]).toBeGreaterThan(0);
  });
});
