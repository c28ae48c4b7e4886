import { expect, test } from 'vitest';
import { decideNotifications } from '../../src/messages/notifications/decision-worker.ts';
import { startPushService } from '../helpers/push-service.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf } from '../helpers/talk.ts';

/** Returns the present time of day in India, which is five and a half hours ahead of UTC, plus a number of hours. */
const inIndia = (hours: number): string => new Date(Date.now() + (5.5 + hours) * 3_600_000).toISOString().slice(11, 16);
/** Quiet hours that contain the time of the test, and those that are the rest of the day. */
const QUIET = { now: `${inIndia(-2)}-${inIndia(2)}`, otherwise: `${inIndia(2)}-${inIndia(-2)}` };

/** Every setting and state on which notifications depend, with its values. */
const FACTORS = {
  enable_offline_push_notifications: [true, false],
  enable_offline_email_notifications: [true, false],
  enable_online_push_notifications: [true, false],
  enable_followed_topic_push_notifications: [true, false],
  enable_followed_topic_email_notifications: [true, false],
  enable_stream_push_notifications: [true, false],
  enable_stream_email_notifications: [true, false],
  wildcard_mentions_notify: [true, false],
  enable_followed_topic_wildcard_mentions_notify: [true, false],
  quiet_hours: ['', QUIET.now, QUIET.otherwise],
  pushOfChannel: [null, true, false],
  emailOfChannel: [null, true, false],
  wildcardsOfChannel: [null, true, false],
  isChannelMuted: [true, false],
  topic: ['inherited', 'muted', 'unmuted', 'followed'],
  isActive: [true, false],
} as const;
type Factor = keyof typeof FACTORS;
type Case = { readonly [F in Factor]: (typeof FACTORS)[F][number] };
const NAMES = Object.keys(FACTORS) as Factor[];

/** Returns cases in which every two values of different factors occur together. */
function pairwise(): Case[] {
  const left = new Set<string>();
  const pair = (a: Factor, x: unknown, b: Factor, y: unknown) => `${a}=${x} ${b}=${y}`;
  for (const [i, a] of NAMES.entries()) {
    for (const b of NAMES.slice(i + 1))
      for (const x of FACTORS[a]) for (const y of FACTORS[b]) left.add(pair(a, x, b, y));
  }
  const cases: Case[] = [];
  while (left.size > 0) {
    const made: Partial<Record<Factor, unknown>> = {};
    for (const [i, factor] of NAMES.entries()) {
      // The value with the most pairs that no case has yet.
      const gain = (value: unknown) => {
        const before = NAMES.slice(0, i).filter((other) => left.has(pair(other, made[other], factor, value))).length;
        const after = [...left].filter((one) => one.startsWith(`${factor}=${value} `)).length;
        return before * 1_000 + after;
      };
      made[factor] = [...FACTORS[factor]].sort((x, y) => gain(y) - gain(x))[0];
    }
    for (const [i, a] of NAMES.entries()) for (const b of NAMES.slice(i + 1)) left.delete(pair(a, made[a], b, made[b]));
    cases.push(made as Case);
  }
  return cases;
}

const SITUATIONS = ['direct', 'mention', 'all', 'topic', 'plain'] as const;
type SituationName = (typeof SITUATIONS)[number];

/** Returns the transports by which the documentation of the settings promises a notification. */
function promised(of: Case, situation: SituationName): string[] {
  const isSilent = of.topic === 'muted' || (of.topic === 'inherited' && of.isChannelMuted);
  const wildcards =
    of.topic === 'followed'
      ? of.enable_followed_topic_wildcard_mentions_notify
      : (of.wildcardsOfChannel ?? of.wildcard_mentions_notify);
  const isPersonal =
    situation === 'direct' || situation === 'mention' || (situation !== 'plain' && !isSilent && wildcards);
  const isOfChannel = situation !== 'direct' && !isSilent;
  const isFollowed = isOfChannel && of.topic === 'followed';
  const push =
    (isPersonal && of.enable_offline_push_notifications) ||
    (isFollowed && of.enable_followed_topic_push_notifications) ||
    (isOfChannel && (of.pushOfChannel ?? of.enable_stream_push_notifications));
  const email =
    (isPersonal && of.enable_offline_email_notifications) ||
    (isFollowed && of.enable_followed_topic_email_notifications) ||
    (isOfChannel && (of.emailOfChannel ?? of.enable_stream_email_notifications));
  return [
    ...(email && !of.isActive ? ['email'] : []),
    ...(push && of.quiet_hours !== QUIET.now && (!of.isActive || of.enable_online_push_notifications) ? ['push'] : []),
  ];
}

test('every setting has its effect in every situation', async () => {
  await using service = await startOnDatabaseOfRun();
  await using pushes = await startPushService();
  const cases = pairwise();
  const names = cases.map((_case, i) => `person${String(i).padStart(2, '0')}`);
  const people = await createOrganization(Object.fromEntries(names.map((name) => [name, 'member'])), { on: service });
  const { owner, organization } = people;
  const users = names.map((name) => people[name as 'owner']);
  const channel = await channelOf(owner, 'news', [owner, ...users]);
  const policies = { inherited: 0, muted: 1, unmuted: 2, followed: 3 };
  for (const [i, one] of cases.entries()) {
    const user = users[i] as typeof owner;
    const settings = Object.fromEntries(NAMES.filter((name) => name.includes('_')).map((name) => [name, one[name]]));
    // The user's own message, which makes @topic a mention of the user, must not change the policy.
    await user.ok('PATCH', '/settings', {
      ...settings,
      timezone: 'Asia/Kolkata',
      automatically_follow_topics_policy: 4,
      automatically_follow_topics_where_mentioned: false,
      automatically_unmute_topics_in_muted_streams_policy: 4,
    });
    await user.ok('POST', '/messages', { type: 'channel', to: channel, topic: 'topic', content: 'I take part' });
    const properties = {
      push_notifications: one.pushOfChannel,
      email_notifications: one.emailOfChannel,
      wildcard_mentions_notify: one.wildcardsOfChannel,
      is_muted: one.isChannelMuted,
    };
    const data = Object.entries(properties)
      .filter(([, value]) => value !== null)
      .map(([property, value]) => ({ stream_id: channel, property, value }));
    await user.ok('POST', '/users/me/subscriptions/properties', { subscription_data: data });
    const policy = { stream_id: channel, topic: 'topic', visibility_policy: policies[one.topic] };
    await user.ok('POST', '/user_topics', policy);
    if (one.isActive) await user.ok('POST', '/users/me/presence', { status: 'active' });
    await pushes.register(user);
  }
  const toTopic = { type: 'channel', to: channel, topic: 'topic' };
  const contents = {
    mention: users.map(({ name }) => `@**${name}**`).join(' '),
    all: 'Hello @**all**',
    topic: 'Hello @**topic**',
    plain: 'Hello',
  };
  const ids = new Map<number, SituationName>();
  for (const situation of SITUATIONS) {
    const message =
      situation === 'direct'
        ? { type: 'direct', to: users.map(({ id }) => id), content: 'Hello' }
        : { ...toTopic, content: contents[situation] };
    ids.set((await owner.ok('POST', '/messages', message)).id, situation);
  }
  await decideNotifications(service.app);
  const rows = await service.app.db.notification.findMany({ where: { organizationId: organization.id } });
  const decided = new Map<string, string[]>();
  for (const { userId, messageId, transport } of rows) {
    const situation = ids.get(Number(messageId));
    if (situation === undefined) continue;
    const key = `${userId} ${situation}`;
    decided.set(key, [...(decided.get(key) ?? []), transport].sort());
  }
  const wrong = cases.flatMap((one, i) =>
    SITUATIONS.flatMap((situation) => {
      const got = decided.get(`${users[i]?.id} ${situation}`) ?? [];
      const expected = promised(one, situation);
      return got.join() === expected.join() ? [] : [{ ...one, situation, got, expected }];
    }),
  );
  expect(wrong).toEqual([]);
  expect(decided.size).toBeGreaterThan(cases.length);
  // Own messages notify neither their sender nor bots.
  expect(
    rows.filter(({ userId }) => userId === owner.id || userId === people.bot.id).map(({ messageId }) => messageId),
  ).toEqual([]);
}, 120_000);
