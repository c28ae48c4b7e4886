import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { KNOWN, WAYS, ways } from '../helpers/send-ways.ts';
import { createOrganization } from '../helpers/server.ts';
import { aroundStatements } from '../helpers/statements.ts';
import { channelOf, messagesIn } from '../helpers/talk.ts';

let server: InProcess;
/**
 * Number of messages that would start a topic and are ready to be written. Counts the last query that the service makes before
 * it writes such a message.
 */
let beginnings = 0;
beforeAll(async () => {
  server = await shareInProcess({ counts: true });
  const count = (sql: string) => {
    if (/SELECT COUNT\(\*\).*"user_topic"/.test(sql)) beginnings++;
  };
  server.app.db.$on('query' as never, (({ query }: { query: string }) => count(query)) as never);
});
afterAll(() => server[Symbol.asyncDispose]());

/** Creates an organization with a channel. Its users automatically follow topics that they start. */
async function scene() {
  const { owner, member, signUp } = await createOrganization({}, { on: server });
  const to = await channelOf(owner, 'square', [owner, member]);
  for (const person of [owner, member])
    await person.ok('PATCH', '/settings', { automatically_follow_topics_policy: 3 });
  await owner.ok('POST', '/messages', { type: 'channel', to, topic: 'known', content: 'first' });
  return { owner, member, to, signUp };
}

/**
 * Delays the next statement that sends messages. Meanwhile, further messages wait for this statement without a time limit.
 *
 * @returns A function that lets the statement run.
 */
function holdFirstSend(): () => void {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let isFirst = true;
  const mend = aroundStatements(server.app, async (run, sql) => {
    if (isFirst && sql.includes('write_messages')) {
      isFirst = false;
      await over;
    }
    return run();
  });
  onTestFinished(() => {
    end();
    mend();
  });
  return end;
}

test.for(ways)(
  '%s: concurrent messages are batched, including messages with keys or with new topics',
  async ([, say]) => {
    const { owner, to, signUp } = await scene();
    const people = await Promise.all(Array.from({ length: 8 }, (_, i) => signUp(`person ${i}`)));
    for (const person of people) await person.ok('PATCH', '/settings', { automatically_follow_topics_policy: 3 });
    const heard = await owner.receiving();
    const sent: Json[] = [];
    const statements = await server.queriesOf(async () => {
      // While the statement of the first message runs, further messages wait. After it, they are sent as a batch.
      const end = holdFirstSend();
      beginnings = 0;
      const one = (i: number) => ({ to, topic: i % 2 === 0 ? 'known' : `new ${i}`, content: `${i}`, key: `key ${i}` });
      const many = people.map((person, i) => say(person, one(i)));
      await expect.poll(() => beginnings).toBe(people.length / 2);
      end();
      sent.push(...(await Promise.all(many)));
    });
    expect(sent.filter(({ isSent }) => !isSent)).toEqual([]);
    expect(statements.filter((sql) => /write_messages\(/.test(sql)).length).toBeLessThan(people.length / 2);
    expect(statements.filter((sql) => /COMMIT/.test(sql))).toEqual([]);
    expect(new Set(messagesIn(await heard()).map(({ message }) => message.content)).size).toBe(people.length);
    const following = people.map((person) =>
      server.app.db.userTopic.count({ where: { userId: person.id, policy: 3 } }),
    );
    expect(await Promise.all(following)).toEqual(people.map((_, i) => i % 2));
  },
);

test.for(ways)('%s: a key is valid for one message, and always repeats the reply', async ([way, say]) => {
  const { owner, member, to } = await scene();
  const { queue_id, last_event_id } = await owner.register({ fetch_event_types: [] });
  const key = randomUUID();
  const message = { to, topic: 'mine', content: 'once', key };
  const several = await Promise.all(Array.from({ length: 4 }, () => say(owner, message)));
  const [first] = several;

  const events = await owner.poll(queue_id, last_event_id, { dontBlock: true });
  const [{ message: told }] = messagesIn(events);
  const { id } = events.at(-1) ?? {};
  expect(events.map(({ type }) => type)).toEqual(['message', 'user_topic']);
  const isSent = { isSent: true };
  if (way === 'REST') expect(first).toMatchObject({ ...isSent, id: told.id, automatic_new_visibility_policy: 3 });
  else expect(first).toMatchObject({ ...isSent, position: id, again: id, newTopicVisibility: 'FOLLOWED' });
  // A repeated request gets the stored response, even if the message was deleted or its channel archived meanwhile.
  await owner.ok('DELETE', `/messages/${told.id}`);
  several.push(await say(owner, message));
  await owner.ok('DELETE', `/streams/${to}`);
  several.push(await say(owner, message));
  for (const reply of several) expect(reply).toEqual(first);
  const refused = { isSent: false, msg: 'This idempotency key was used for another request' };
  expect(await say(owner, { ...message, content: 'else' })).toMatchObject(refused);
  expect(await say(member, message)).not.toMatchObject(refused);
  const kept = await server.app.db.idempotencyRecord.findMany({ where: { key } });
  expect(kept.map(({ userId }) => userId)).toEqual([owner.id]);
});

test('of two concurrent messages that start a topic, one reports the policy', async () => {
  const { owner, member, to } = await scene();
  const end = holdFirstSend();
  beginnings = 0;
  // The service sends the first message alone. The next messages wait for the first one's statement.
  const first = WAYS.REST(member, { to, topic: 'first', content: 'first', key: 'first' });
  await expect.poll(() => beginnings).toBe(1);
  const both = ['x', 'y'].map((content) => WAYS.REST(owner, { to, topic: 'begun', content, key: content }));
  await expect.poll(() => beginnings).toBe(3);
  end();
  expect(await first).toMatchObject({ isSent: true });
  const told = (await Promise.all(both)).map(({ isSent, automatic_new_visibility_policy: policy = null }) => [
    isSent,
    policy,
  ]);
  expect(told).toHaveLength(2);
  expect(told).toEqual(
    expect.arrayContaining([
      [true, 3],
      [true, null],
    ]),
  );
});

test('selected fields of a message are read after it was sent, also under a key', async () => {
  const { owner, to } = await scene();
  const key = randomUUID();
  const say = (topic: string, key?: string) =>
    WAYS.GraphQL(
      owner,
      { to, topic, content: 'hello', ...(key !== undefined && { key }) },
      `${KNOWN} sentMessage { content }`,
    );
  const [first, again, plain] = [await say('one', key), await say('one', key), await say('two')];
  expect(first).toMatchObject({ isSent: true, sentMessage: { content: 'hello' }, newTopicVisibility: 'FOLLOWED' });
  expect(again).toEqual(first);
  expect(plain).toMatchObject({ isSent: true, sentMessage: { content: 'hello' } });
});

test.for(ways)('%s: a refused message does not affect the others', async ([, say]) => {
  const { owner, member, to } = await scene();
  const closing = await channelOf(owner, 'closing', [owner, member]);
  const used = { to, topic: 'known', content: 'before', key: 'used' };
  await say(owner, used);
  const heard = await owner.receiving();
  const one = (i: number) =>
    say(i % 2 === 0 ? owner : member, {
      to: i % 3 === 0 ? closing : to,
      topic: `t${i % 4}`,
      content: `${i}`,
      key: `k${i}`,
    });
  const many = Array.from({ length: 30 }, (_, i) => one(i));
  const wrong = say(owner, { ...used, content: 'after' });
  const [answers] = await Promise.all([
    Promise.all(many),
    owner.ok('DELETE', `/streams/${closing}`),
    owner.ok('PATCH', `/users/${member.id}`, { role: 600 }),
  ]);
  expect(await wrong).toMatchObject({ isSent: false });
  const said = messagesIn(await heard()).map(({ message }) => message.content);
  const acknowledged = answers.flatMap(({ isSent }, i) => (isSent ? [`${i}`] : []));
  expect(said.filter((content) => /^\d+$/.test(content)).sort()).toEqual(acknowledged.sort());
  expect(acknowledged).toEqual(expect.arrayContaining(['2', '4', '8', '10', '14', '28']));
  const kept = await server.app.db.idempotencyRecord.count({ where: { userId: { in: [owner.id, member.id] } } });
  expect(kept).toBe(acknowledged.length + 1);
});

test.for(ways)('%s: after a lost reply, a key finds its message, and none is sent twice', async ([, say]) => {
  const { owner, to } = await scene();
  const heard = await owner.receiving();
  let losses = 2;
  // The connection breaks twice: first before the statement has run, then after it has run.
  const mend = aroundStatements(server.app, async (run, sql) => {
    if (losses === 0 || !sql.includes('write_messages')) return run();
    if (--losses === 0) await run();
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  });
  onTestFinished(mend);
  const message = { to, topic: 'new', content: 'second', key: randomUUID() };
  const sent = await say(owner, message);

  expect([losses, sent]).toMatchObject([0, { isSent: true }]);
  expect(await say(owner, message)).toEqual(sent);
  const events = await heard();
  expect(events.map(({ type }) => type)).toEqual(['message', 'user_topic']);
});
