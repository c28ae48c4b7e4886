import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success, TOPIC } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { owner, member, guest, bot } = await createOrganization();
const topics = (channel: number, parameters: object = {}, by = member) =>
  by.rest('GET', `/users/me/${channel}/topics`, { ...parameters });
const names = ({ body }: { body: Json }) => body.topics.map(({ name }: Json) => name);
const GUARDED = { invite_only: true, history_public_to_subscribers: false };

describe.concurrent('4.15 GET /users/me/{stream_id}/topics', () => {
  test('answers with the topics, the most recent first', async () => {
    const channel = await channelOf(owner, 'general', [owner, member]);
    const ids = [];
    for (const topic of ['old', 'new', 'old']) ids.push(await say(owner, channel, topic));
    expect((await topics(channel)).body).toEqual(
      success({
        topics: [
          { ...TOPIC, name: 'old', max_id: ids[2] },
          { ...TOPIC, name: 'new', max_id: ids[1] },
        ],
      }),
    );
  });

  test.for([
    ['absent', undefined, 'general chat'],
    ['false', false, 'general chat'],
    ['true', true, ''],
  ] as const)('allow_empty_topic_name %s', async ([name, allow_empty_topic_name, shown]) => {
    const channel = await channelOf(owner, `empty, ${name}`, [owner, member]);
    await say(owner, channel, '');
    expect(names(await topics(channel, { allow_empty_topic_name }))).toEqual([shown]);
  });

  test('with protected history, lists topics of messages after the subscription only', async () => {
    const channel = await channelOf(owner, 'guarded', [owner], GUARDED);
    await say(owner, channel, 'before');
    await owner.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'guarded' }], principals: [member.id] },
    });
    await say(owner, channel, 'after');
    expect(names(await topics(channel))).toEqual(['after']);
    expect(names(await topics(channel, {}, owner))).toEqual(['after', 'before']);
  });

  test("a user's bot sees only messages from after its own subscription", async () => {
    const channel = await channelOf(owner, 'of bots', [owner], GUARDED);
    await say(owner, channel, 'before');
    await owner.ok('POST', '/users/me/subscriptions', {
      ...{ subscriptions: [{ name: 'of bots' }], principals: [bot.id] },
    });
    await say(owner, channel, 'after');
    expect(names(await topics(channel, {}, bot))).toEqual(['after']);
  });

  test('lists topics of archived channels', async () => {
    const channel = await channelOf(owner, 'archived', [owner, member]);
    await say(owner, channel, 'kept');
    await owner.ok('DELETE', `/streams/${channel}`);
    expect(names(await topics(channel))).toContain('kept');
  });

  test.for([0, 2_000_000_000])('rejects the unknown channel %d with BAD_REQUEST', async (id) => {
    expect(await topics(id)).toMatchObject(refused());
  });

  test('rejects an inaccessible channel with the same message', async () => {
    const hidden = await channelOf(owner, 'hidden', [owner], { invite_only: true });
    const open = await channelOf(owner, 'open', [owner]);
    const absent = (await topics(2_000_000_000)).body;
    expect((await topics(hidden)).body).toEqual(absent);
    expect((await topics(open, {}, guest)).body).toEqual(absent);
  });
});
