import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_COUNT } from '../../src/messages/loaders.ts';
import { globalId } from '../helpers/global-ids.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

let service: InProcess;
beforeAll(async () => {
  service = await shareInProcess();
});
afterAll(() => service[Symbol.asyncDispose]());

/** Reads all counts of messages at once: of the viewer, of two channels, of a topic, of stars and of a search by narrow. */
async function counts(person: Person, open: number, guarded: number): Promise<(number | undefined)[]> {
  const channel = (name: string, id: number) =>
    `${name}: channel(by: { id: "${globalId('Channel', id)}" }) { messages(last: 0) { totalCount }
      topic(name: "lunch") { messages(last: 1) { totalCount } } }`;
  const { all, found, viewer, first, second } = await person.query(`{
    all: messages(last: 1) { totalCount }
    found: messages(narrow: { topicNamed: "LUNCH" }, last: 1) { totalCount }
    viewer { starredMessages(last: 1) { totalCount } }
    ${channel('first', open)} ${channel('second', guarded)} }`);
  return [
    ...[all.totalCount, found.totalCount, viewer.starredMessages.totalCount],
    ...[first.messages.totalCount, first.topic?.messages.totalCount],
    ...[second?.messages.totalCount, second?.topic?.messages.totalCount],
  ];
}

test('lists of messages count what the viewer can read, whatever page they read', async () => {
  const { owner, member, signUp } = await createOrganization({}, { on: service });
  const late = await signUp('late');
  const open = await channelOf(owner, 'open', [owner, member]);
  const guarded = await channelOf(owner, 'guarded', [owner, member], {
    ...{ invite_only: true, history_public_to_subscribers: false },
  });
  const starred = await say(owner, open, 'lunch');
  for (const topic of ['Lunch', 'dinner']) await say(owner, open, topic);
  for (const topic of ['lunch', 'lunch']) await say(owner, guarded, topic);
  await owner.ok('POST', '/users/me/subscriptions', {
    ...{ subscriptions: [{ name: 'guarded' }], principals: [late.id], send_new_subscription_messages: false },
  });
  await say(owner, guarded, 'lunch');
  await member.ok('POST', '/messages/flags', { messages: [starred], op: 'add', flag: 'starred' });
  expect(await counts(member, open, guarded)).toEqual([6, 5, 1, 3, 2, 3, 3]);
  // A user who subscribed later counts only what they received of the protected history.
  expect(await counts(late, open, guarded)).toEqual([1, 1, 0, 3, 2, 1, 1]);
});

test('lists of messages count at most 1,000', { timeout: 120_000 }, async () => {
  const { owner, organization } = await createOrganization({}, { on: service });
  const [open, guarded] = [
    await channelOf(owner, 'open', [owner]),
    await channelOf(owner, 'guarded', [owner], { invite_only: true, history_public_to_subscribers: false }),
  ];
  const ids = [await say(owner, open, 'lunch'), await say(owner, guarded, 'lunch')];
  const { db } = service.app;
  await db.$executeRaw`
    INSERT INTO message (realm_id, id, sender_id, channel_id, sent_channel_id, topic, content, rendered_content, client_name,
                         sent_at, sent_event_id, send_token)
    SELECT m.realm_id, nextval('message_id_seq'), m.sender_id, m.channel_id, m.sent_channel_id, m.topic, m.content,
           m.rendered_content, m.client_name, m.sent_at, m.sent_event_id, 0
    FROM message m, generate_series(1, ${MAX_COUNT}::int) AS n WHERE m.realm_id = ${organization.id} AND m.id = ANY(${ids}::bigint[])`;
  expect(await counts(owner, open, guarded)).toEqual([
    MAX_COUNT,
    MAX_COUNT,
    0,
    MAX_COUNT,
    MAX_COUNT,
    MAX_COUNT,
    MAX_COUNT,
  ]);
});

test('presences are counted without the bounds of the page', async () => {
  const { owner, member } = await createOrganization({}, { on: service });
  for (const person of [owner, member]) await person.mutate('recordPresence', { status: 'ACTIVE' }, '__typename');
  const { all, newer } = await owner.query(`{
    all: presences(first: 1) { totalCount nodes { version } }
    newer: presences(since: { version: 999999999 }) { totalCount } }`);
  expect(all).toMatchObject({ totalCount: 2, nodes: [{}] });
  expect(newer.totalCount).toBe(0);
});
