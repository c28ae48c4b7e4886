import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, SNAPSHOT, success } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { owner, member, guest } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member]);

const QUIET = { send_notification_to_new_thread: false, send_notification_to_old_thread: false };
const history = (id: number, parameters: object = {}, by = member) =>
  by.rest('GET', `/messages/${id}/history`, { ...parameters });
async function edited(topic: string, changes: readonly object[]): Promise<{ id: number; snapshots: Json[] }> {
  const id = await say(owner, general, topic, 'one');
  for (const change of changes) await owner.ok('PATCH', `/messages/${id}`, { ...QUIET, ...change });
  return { id, snapshots: (await history(id)).body.message_history };
}

describe.concurrent('4.11 GET /messages/{message_id}/history', () => {
  test('answers with message_history', async () => {
    const id = await say(owner, general, 'calm');
    expect((await history(id)).body).toEqual(success({ message_history: [SNAPSHOT] }));
  });

  test('lists the snapshots from the oldest to the newest', async () => {
    const { snapshots } = await edited('one', [{ content: 'two' }, { topic: 'two' }, { content: 'three' }]);
    expect(snapshots.map(({ topic, content }) => [topic, content])).toEqual([
      ['one', 'one'],
      ['one', 'two'],
      ['two', 'two'],
      ['two', 'three'],
    ]);
    expect(snapshots.map(({ timestamp }) => timestamp)).toEqual(snapshots.map(({ timestamp }) => timestamp).toSorted());
  });

  test('a snapshot has only the fields that its edit changed', async () => {
    const { snapshots } = await edited('one', [{ content: 'two', topic: 'two' }, { topic: 'three' }]);
    const [, both, moved] = snapshots.map((snapshot) => Object.keys(snapshot).toSorted());
    const always = Object.keys(SNAPSHOT);
    expect(both).toEqual(
      [...always, 'prev_topic', 'prev_content', 'prev_rendered_content', 'content_html_diff'].toSorted(),
    );
    expect(moved).toEqual([...always, 'prev_topic'].toSorted());
  });

  test.for([
    ['absent', undefined, 'general chat'],
    ['false', false, 'general chat'],
    ['true', true, ''],
  ] as const)('allow_empty_topic_name %s', async ([, allow_empty_topic_name, shown]) => {
    const { id } = await edited('', [{ topic: 'named' }]);
    const { message_history } = (await history(id, { allow_empty_topic_name })).body;
    expect([message_history[0].topic, message_history[1].prev_topic]).toEqual([shown, shown]);
  });

  test('can be disabled in an organization', async () => {
    const { owner } = await createOrganization();
    const id = await say(owner, await channelOf(owner, 'general', [owner]), 'topic');
    await owner.ok('PATCH', '/realm', { message_edit_history_visibility_policy: 'none' });
    expect(await history(id, {}, owner)).toMatchObject(refused());
  });

  test.for([0, 2_000_000_000])('rejects the unknown message %d with BAD_REQUEST', async (id) => {
    expect(await history(id)).toMatchObject(refused());
  });

  test('rejects a message that the user cannot read with the error of an unknown one', async () => {
    const id = await say(owner, await channelOf(owner, 'hidden', [owner], { invite_only: true }), 'topic');
    expect((await history(id, {}, guest)).body).toEqual((await history(0, {}, guest)).body);
  });
});
