import { describe, expect, test } from 'vitest';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { owner, member, guest } = await createOrganization();
const mark = (parameters: object) => member.rest('POST', '/mark_topic_as_read', { ...parameters });
const flagsOf = async (id: number) => (await member.ok('GET', `/messages/${id}`)).message.flags;

describe.concurrent('4.13 POST /mark_topic_as_read', () => {
  test("marks only the topic's messages as read", async () => {
    const channel = await channelOf(owner, 'general', [owner, member, guest]);
    const [one, two] = [await say(owner, channel, 'read'), await say(guest, channel, 'read')];
    const other = await say(owner, channel, 'unread');
    expect((await mark({ stream_id: channel, topic_name: 'read' })).body).toEqual(success());
    expect(await Promise.all([one, two, other].map(flagsOf))).toEqual([['read'], ['read'], []]);
  });

  test.for(['', 'general chat', '(no topic)'])('treats "%s" as the empty topic', async (topic_name) => {
    const channel = await channelOf(owner, `empty as ${topic_name}`, [owner, member]);
    const [empty, named] = [await say(owner, channel, ''), await say(owner, channel, 'named')];
    expect((await mark({ stream_id: channel, topic_name })).body).toEqual(success());
    expect(await Promise.all([empty, named].map(flagsOf))).toEqual([['read'], []]);
  });

  test.for(['stream_id', 'topic_name'])('%s is required', async (name) => {
    expect(await mark({ stream_id: 1, topic_name: 'x', [name]: undefined })).toMatchObject(
      refused('REQUEST_VARIABLE_MISSING', { var_name: name }),
    );
  });

  test.for(['general', '"1"', '1.5'])('stream_id cannot be %s', async (stream_id) => {
    expect(await mark({ stream_id, topic_name: 'x' })).toMatchObject(refused());
  });
});
