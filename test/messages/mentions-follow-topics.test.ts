import { describe, expect, test } from 'vitest';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';

/** Returns the visibility policies of a user, by topic name. */
async function policiesOf(user: Person): Promise<Record<string, number>> {
  const { user_topics: policies } = await user.register({ fetch_event_types: ['user_topic'] });
  return Object.fromEntries(
    policies.map((one: { topic_name: string; visibility_policy: number }) => [one.topic_name, one.visibility_policy]),
  );
}

describe.concurrent('a message that mentions users', () => {
  test('makes them follow the topic, and notifies their clients', async () => {
    const { owner, member, moderator } = await createOrganization();
    const channel = await channelOf(owner, 'general', [owner, member, moderator]);
    const received = await Promise.all(
      [member, moderator].map((user) => user.receiving({ event_types: ['user_topic', 'message'] })),
    );
    await say(owner, channel, 'Lunch', `@**${member.name}** hello`);
    await say(owner, channel, 'LUNCH', `@**${member.name}** again`);
    const [ofMember, ofModerator] = await Promise.all(received.map((events) => events()));
    expect(ofMember).toMatchObject([
      { type: 'message' },
      { type: 'user_topic', stream_id: channel, topic_name: 'Lunch', visibility_policy: 3 },
      { type: 'message' },
    ]);
    expect(ofModerator?.map(({ type }) => type)).toEqual(['message', 'message']);
    expect(await policiesOf(member)).toEqual({ Lunch: 3 });
  });

  test('changes no policy that the user has set, and none if the user does not want it', async () => {
    const { owner, member } = await createOrganization();
    const channel = await channelOf(owner, 'general', [owner, member]);
    const set = { muted: 1, unmuted: 2, followed: 3 };
    for (const [topic, policy] of Object.entries(set)) {
      await say(owner, channel, topic);
      await member.ok('POST', '/user_topics', { stream_id: channel, topic, visibility_policy: policy });
    }
    for (const topic of Object.keys(set)) await say(owner, channel, topic, `@**${member.name}**`);
    await member.ok('PATCH', '/settings', { automatically_follow_topics_where_mentioned: false });
    await say(owner, channel, 'unwanted', `@**${member.name}**`);
    expect(await policiesOf(member)).toEqual(set);
  });

  test('by a group, by a wildcard, silently, in a quote or in code, changes no policy', async () => {
    const { owner, member } = await createOrganization();
    const channel = await channelOf(owner, 'general', [owner, member]);
    await owner.ok('POST', '/user_groups/create', { name: 'cooks', description: '', members: [member.id] });
    const contents = [
      ...['@*cooks*', '@**all**', '@**topic**', `@_**${member.name}**`],
      ...[`> @**${member.name}**`, `\`@**${member.name}**\``, `\`\`\`quote\n@**${member.name}**\n\`\`\``],
    ];
    for (const [i, content] of contents.entries()) await say(owner, channel, `topic ${i}`, content);
    expect(await policiesOf(member)).toEqual({});
  });

  test('changes no policy of users who do not receive it, of bots, and of the sender', async () => {
    const { owner, member, bot, guest } = await createOrganization();
    const channel = await channelOf(owner, 'private', [owner, bot], { invite_only: true });
    await owner.ok('PATCH', '/settings', { automatically_follow_topics_policy: 4 });
    const names = [owner, member, bot, guest].map(({ name }) => `@**${name}**`).join(' ');
    await say(owner, channel, 'secret', names);
    await owner.ok('POST', '/messages', { type: 'direct', to: [member.id], content: `@**${member.name}**` });
    for (const user of [owner, member, bot, guest]) expect(await policiesOf(user)).toEqual({});
  });

  test('makes them follow the topic also if it has an idempotency key, and is sent twice', async () => {
    const { owner, member } = await createOrganization();
    const channel = await channelOf(owner, 'general', [owner, member]);
    const events = await member.receiving({ event_types: ['user_topic'] });
    const parameters = { type: 'channel', to: channel, topic: 'Lunch', content: `@**${member.name}**` };
    const options = { headers: { 'idempotency-key': 'the-key-of-one-message' } };
    const replies = [1, 2].map(() => owner.rest('POST', '/messages', parameters, options));
    const [first, second] = await Promise.all(replies);
    expect(second?.body.id).toBe(first?.body.id);
    expect(await events()).toHaveLength(1);
  });

  // In tests that run concurrently, only the `expect` of a test itself can poll.
  test('makes them follow the topic when it is delivered at a scheduled time', async ({ expect }) => {
    await using service = await startOnDatabaseOfRun();
    const { owner, member } = await createOrganization({}, { on: service });
    const channel = await channelOf(owner, 'general', [owner, member]);
    await owner.ok('POST', '/scheduled_messages', {
      ...{ type: 'channel', to: channel, topic: 'Later', content: `@**${member.name}**` },
      scheduled_delivery_timestamp: Math.floor(Date.now() / 1000) + 600,
    });
    expect(await policiesOf(member)).toEqual({});
    // PostgreSQL delivers by its own clock, which a test cannot move.
    await service.app.db.scheduledMessage.updateMany({ data: { scheduledAt: new Date() } });
    await expect.poll(() => policiesOf(member)).toEqual({ Later: 3 });
  });
});
