import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { integer, refused, success } from '../helpers/shapes.ts';
import { channelOf, receivedMessage, scheduleSoon } from '../helpers/talk.ts';

const { owner, member, guest } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member, guest]);

const LATER = 4_102_444_800;
const toChannel = {
  type: 'channel',
  to: general,
  topic: 'ships',
  content: 'ahoy',
  scheduled_delivery_timestamp: LATER,
};
const toPeople = { type: 'direct', to: [guest.id], content: 'ahoy', scheduled_delivery_timestamp: LATER };

const DESKTOP = { 'user-agent': 'ServiceDesktop/5.0' };
const SCRIPT = { 'user-agent': 'curl/8.0' };

const schedule = (parameters: object) => member.rest('POST', '/scheduled_messages', { ...parameters });
/** Schedules a message. @returns The message as the service then returns it. */
async function scheduled(parameters: object): Promise<Json> {
  const { body } = await schedule(parameters);
  expect(body).toEqual(success({ scheduled_message_id: integer }));
  const { scheduled_messages } = await member.ok('GET', '/scheduled_messages');
  return scheduled_messages.find(({ scheduled_message_id: id }: Json) => id === body.scheduled_message_id);
}

describe.concurrent('4.1 POST /scheduled_messages', () => {
  test('answers with the scheduled_message_id', async () => {
    expect(await schedule(toChannel)).toMatchObject({ status: 200, body: success({ scheduled_message_id: integer }) });
  });

  test.for([
    ['direct', 'private'],
    ['private', 'private'],
    ['channel', 'stream'],
    ['stream', 'stream'],
  ] as const)('accepts the type "%s"', async ([type, kept]) => {
    expect((await scheduled({ ...(kept === 'stream' ? toChannel : toPeople), type })).type).toBe(kept);
  });

  test.for(['', 'Direct', 'huddle', '"direct"'])('rejects the type %j', async (type) => {
    expect(await schedule({ ...toPeople, type })).toMatchObject(refused());
  });

  test.for(['type', 'to', 'content', 'scheduled_delivery_timestamp'])('%s is required', async (name) => {
    expect(await schedule({ ...toPeople, [name]: undefined })).toMatchObject(
      refused('REQUEST_VARIABLE_MISSING', { var_name: name }),
    );
  });

  test('accepts a channel ID as the recipient', async () => {
    expect(await scheduled(toChannel)).toMatchObject({ to: general, topic: 'ships' });
  });

  test('accepts a list of user IDs for a direct message', async () => {
    const { to } = await scheduled({ ...toPeople, to: [guest.id, owner.id] });
    expect(to.toSorted()).toEqual([guest.id, owner.id].toSorted());
  });

  test.for([['"general"'], ['["owner"]'], ['general'], ['[1.5]'], ['{}']])('rejects %s as ids', async ([to]) => {
    for (const message of [toChannel, toPeople]) expect(await schedule({ ...message, to })).toMatchObject(refused());
  });

  test('content is cut to max_message_length of registration', async () => {
    const { max_message_length } = await member.register({ fetch_event_types: ['realm'] });
    const longest = 'x'.repeat(max_message_length);
    expect((await scheduled({ ...toChannel, content: longest })).content).toBe(longest);
    const { content } = await scheduled({ ...toChannel, content: `${longest}x` });
    expect(content).toHaveLength(max_message_length);
  });

  test('a topic is required for a channel', async () => {
    for (const type of ['channel', 'stream']) {
      expect(await schedule({ ...toChannel, type, topic: undefined })).toMatchObject(refused());
    }
  });

  test('a topic is ignored for direct messages', async () => {
    expect(await scheduled({ ...toPeople, topic: 'ships' })).not.toHaveProperty('topic', 'ships');
  });

  test('a topic is cut to max_topic_length of registration', async () => {
    const { max_topic_length } = await member.register({ fetch_event_types: ['realm'] });
    const longest = 't'.repeat(max_topic_length);
    expect((await scheduled({ ...toChannel, topic: longest })).topic).toBe(longest);
    expect((await scheduled({ ...toChannel, topic: `${longest}t` })).topic).toHaveLength(max_topic_length);
  });

  test.for(['', '(no topic)', 'general chat'])('a topic must not be "%s" if topics are required', async (topic) => {
    const strict = await channelOf(owner, `strict for ${topic}`, [member], { topics_policy: 'disable_empty_topic' });
    expect(await schedule({ ...toChannel, to: strict, topic })).toMatchObject({
      ...{ status: 400, body: { code: 'BAD_REQUEST' } },
    });
  });

  test('keeps the time, in UNIX seconds', async () => {
    expect((await scheduled(toChannel)).scheduled_delivery_timestamp).toBe(LATER);
  });

  test.for([0, 1_000_000_000])('rejects the time %d, which is in the past', async (scheduled_delivery_timestamp) => {
    expect(await schedule({ ...toChannel, scheduled_delivery_timestamp })).toMatchObject(refused());
  });

  test.for([
    ['true', true, SCRIPT, true],
    ['false', false, DESKTOP, false],
    ['absent from a desktop client', undefined, DESKTOP, true],
    ['absent from a script', undefined, SCRIPT, false],
  ] as const)('read_by_sender %s', async ([, read_by_sender, headers, isRead]) => {
    const queue = await member.register({ event_types: ['message'], fetch_event_types: [] });
    const content = `read: ${read_by_sender}, from ${headers['user-agent']}`;
    await scheduleSoon(member, { ...toPeople, content, read_by_sender }, { headers });
    const sent = await receivedMessage(member, queue, (heard) => heard.content === content);
    expect(sent.flags.includes('read')).toBe(isRead);
  });

  test('rejects an unknown channel with STREAM_DOES_NOT_EXIST and its stream_id', async () => {
    expect(await schedule({ ...toChannel, to: 2_000_000_000 })).toMatchObject(
      refused('STREAM_DOES_NOT_EXIST', { stream_id: 2_000_000_000 }),
    );
  });

  test('rejects an unknown recipient with BAD_REQUEST and the user ID in the message', async () => {
    const { status, body } = await schedule({ ...toPeople, to: [guest.id, 2_000_000_000] });
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    expect(body.msg).toMatch(/invalid user ID.*2000000000/i);
  });

  test('has no scheduled_message_id parameter: existing messages stay unchanged', async () => {
    const { scheduled_message_id } = await scheduled(toChannel);
    const { body } = await schedule({ ...toPeople, scheduled_message_id });
    expect(body).toMatchObject({ ignored_parameters_unsupported: ['scheduled_message_id'] });
    expect(body.scheduled_message_id).not.toBe(scheduled_message_id);
  });

  test('editing has its own endpoint', async () => {
    const { scheduled_message_id: id } = await scheduled(toChannel);
    expect(await member.ok('PATCH', `/scheduled_messages/${id}`, { content: 'edited' })).toEqual(success());
  });
});
