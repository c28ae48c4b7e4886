import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success, text } from '../helpers/shapes.ts';
import { channelOf, receivedMessage, say } from '../helpers/talk.ts';

const { owner, moderator, member, guest } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member, guest]);
const moderation = await channelOf(owner, 'moderation', [owner, moderator], { invite_only: true });
await owner.ok('PATCH', '/realm', { moderation_request_channel_id: moderation });
const message = await say(member, general, 'sale', 'buy this');

const report = (by: Person, parameters: object, id = message) =>
  by.rest('POST', `/messages/${id}/report`, { report_type: 'spam', ...parameters });
const types: Json[] = (await member.register({ fetch_event_types: ['realm'] })).server_report_message_types;

describe.concurrent('4.10 POST /messages/{message_id}/report', () => {
  test('sends a notification to the moderation request channel', async () => {
    const queue = await moderator.register({ event_types: ['message'], fetch_event_types: [] });
    expect((await report(guest, { description: 'Nobody asked.' })).body).toEqual(success());
    const heard = await receivedMessage(moderator, queue, ({ content }) => content.includes('Nobody asked.'));
    expect(heard.message).toMatchObject({ stream_id: moderation, type: 'stream' });
    expect(heard.message.content).toContain('buy this');
  });

  test('registration returns the types', () => {
    expect(types).toEqual(types.map(() => ({ key: text, name: text })));
    expect(types.map(({ key }) => key)).toEqual(expect.arrayContaining(['spam', 'harassment', 'other']));
  });

  test.for(types.map(({ key }) => key))('accepts the type %s', async (report_type) => {
    expect((await report(guest, { report_type, description: 'because' })).body).toEqual(success());
  });

  test.for(['Spam', 'boring', '', '"spam"'])('rejects the type %j', async (report_type) => {
    expect(await report(guest, { report_type })).toMatchObject(refused());
  });

  test('report_type is required', async () => {
    expect(await report(guest, { report_type: undefined })).toMatchObject(
      refused('REQUEST_VARIABLE_MISSING', { var_name: 'report_type' }),
    );
  });

  test('accepts a description of 1000 code points', async () => {
    expect((await report(guest, { description: '🚢'.repeat(1000) })).body).toEqual(success());
  });

  test.for([undefined, ''])('rejects the description %j for the type "other"', async (description) => {
    expect(await report(guest, { report_type: 'other', description })).toMatchObject(refused());
  });

  test('accepts other types without a description', async () => {
    expect((await report(guest, { report_type: 'norms' })).body).toEqual(success());
  });

  test('rejects reports with BAD_REQUEST if no moderation request channel is configured', async () => {
    const { owner, member } = await createOrganization();
    const id = await say(owner, await channelOf(owner, 'general', [owner, member]), 'topic');
    expect(await report(member, {}, id)).toMatchObject(refused());
  });

  test('rejects an unknown message', async () => {
    expect(await report(guest, {}, 2_000_000_000)).toMatchObject(refused());
  });
});
