import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { canBegin, DAY_MS, daysBefore, digestTime, roundDay, weekdayOf } from '../../src/messages/digests/calendar.ts';
import { queueDigests } from '../../src/messages/digests/rounds.ts';
import { claimMail, noteSent } from '../../src/platform/mail/outbox.ts';
import { send } from '../helpers/http.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { type Mailbox, mailsTo, openMailbox } from '../helpers/mailbox.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, copyMessage, say } from '../helpers/talk.ts';

const HOUR_MS = 3_600_000;

let service: InProcess;
let mailbox: Mailbox;
/** Time by which the clock of the service is ahead, in milliseconds. */
let ahead = 0;
const now = () => new Date(Date.now() + ahead);

beforeAll(async () => {
  mailbox = await openMailbox();
  service = await startOnDatabaseOfRun({ env: { SMTP_URL: mailbox.url }, now });
});
afterAll(async () => {
  await mailbox[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

/** Lets a number of days pass, and the time until the next noon in UTC, when the digests of the next day begin to be queued. */
function elapse(days: number): void {
  ahead += days * DAY_MS;
  const sinceMidnight = now().getTime() % DAY_MS;
  ahead += 12 * HOUR_MS - sinceMidnight + (sinceMidnight > 12 * HOUR_MS ? DAY_MS : 0);
}

/** Creates an organization that sends digests, and whose users have not been active for six days. */
async function absentOrganization() {
  const made = await createOrganization({}, { on: service });
  await made.owner.ok('PATCH', '/realm', { digest_emails_enabled: true });
  elapse(6);
  return made;
}

/** Lets the time pass at which the next digests are queued, on the day of the organization unless it is given. */
async function queue(owner: Person, { weekday }: { readonly weekday?: number } = {}): Promise<void> {
  ahead += HOUR_MS;
  await owner.ok('PATCH', '/realm', { digest_weekday: weekday ?? weekdayOf(roundDay(now())) });
  await queueDigests(service.app);
}

/** Returns the digests that a person has received. Direct messages cause other emails. */
const digestsTo = ({ email }: Person) => mailsTo(mailbox, email).filter(({ head }) => /^Subject: Weekly/m.test(head));

/** Lets the time pass at which queued digests are sent. @returns All digests to the person so far. */
async function sent(person: Person, { after = 32 * HOUR_MS } = {}) {
  ahead += after;
  await service.mail.sendDue();
  return digestsTo(person);
}

/** Returns the digests of an organization that were not sent yet. */
const queuedIn = ({ id: organizationId }: { readonly id: number }) =>
  service.app.db.outgoingMail.findMany({
    where: { organizationId, sentAt: null, digestSince: { not: null } },
    orderBy: { id: 'asc' },
  });

/** Creates a channel that is not new. @returns Its id. */
async function oldChannel(...given: Parameters<typeof channelOf>): Promise<number> {
  const id = await channelOf(...given);
  await service.app.db.channel.updateMany({ where: { id }, data: { createdAt: new Date(0) } });
  return id;
}

/** Inserts people who joined long ago, so that a round takes several transactions. */
const addAbsent = ({ id, subdomain }: { readonly id: number; readonly subdomain: string }, count: number) =>
  service.app.db.$executeRaw`
    INSERT INTO user_account (realm_id, email, full_name, joined_at)
    SELECT ${id}, 'absent' || i || '@' || ${subdomain}::text || '.example', 'Absent ' || i, '2026-01-01'
    FROM generate_series(1, ${count}::int) i`;

/** Queues digests until the process would be killed, after the first transaction. Other organizations queue none. */
async function queuePart({ id }: { readonly id: number }): Promise<void> {
  await service.app.db.organization.updateMany({ where: { id: { not: id } }, data: { settings: {} } });
  let transactions = 0;
  await queueDigests(service.app, () => transactions++ > 0);
}

const direct = (from: Person, to: Person, content = 'hello') =>
  from.ok('POST', '/messages', { type: 'direct', to: [to.id], content });

describe('a digest', () => {
  test('shows active topics, new channels and the number of missed direct messages', async () => {
    const { owner, member, moderator, guest, bot } = await absentOrganization();
    const channel = await oldChannel(owner, 'works', [owner, member, moderator, bot]);
    const first = await say(owner, channel, 'launch', 'Who **brings** the lamps?');
    await say(moderator, channel, 'launch', 'I do');
    await say(owner, channel, 'launch', 'third message');
    await say(owner, channel, 'lunch', 'Soup');
    await say(bot, channel, 'builds', 'from a bot');
    await channelOf(owner, 'design', [owner], { description: 'All *drawings*' });
    await channelOf(owner, 'board', [owner], { invite_only: true });
    await direct(owner, member);
    await direct(guest, member);
    await direct(guest, member);
    await queue(owner);
    const [mail, ...others] = await sent(member);
    expect(others).toEqual([]);
    expect(mail?.head).toMatch(/^Subject: Weekly digest$/m);
    expect(mail?.text).toContain('You have 3 unread direct messages in 2 conversations.');
    expect(mail?.text).toMatch(
      /#works › launch: 3 messages by owner and moderator\n {2}owner, .* UTC: Who brings the lamps\?\n {2}moderator, .*: I do\n/,
    );
    expect(mail?.text).toMatch(new RegExp(`#narrow/channel/${channel}-works/topic/launch/near/${first}\n`));
    expect(mail?.text).toMatch(/launch[\s\S]*#works › lunch: 1 message by owner\n/);
    expect(mail?.text).toMatch(/New channel: #design – All drawings\n {2}http.*#narrow\/channel\/\d+-design\n/);
    expect(mail?.text).not.toMatch(/third message|from a bot|board/);
  });

  test('is for people who were not active for five days, and have not turned it off', async () => {
    const { owner, administrator, member, moderator, guest, bot, organization } = await absentOrganization();
    const everyone = [owner, administrator, member, moderator, guest, bot];
    const channel = await channelOf(owner, 'works', everyone);
    await say(owner, channel, 'launch');
    await administrator.ok('POST', '/users/me/presence', { status: 'active' });
    await moderator.ok('PATCH', '/settings', { enable_digest_emails: false });
    await owner.ok('DELETE', `/users/${guest.id}`);
    await queue(owner);
    const queued = await queuedIn(organization);
    expect(queued.map(({ recipient }) => recipient)).toEqual([member.email]);
    expect(await sent(member)).toHaveLength(1);
  });

  test('is not sent to people who have missed nothing', async () => {
    const { owner, member, guest, organization } = await absentOrganization();
    const channel = await oldChannel(owner, 'works', [owner, guest]);
    await say(owner, channel, 'launch');
    await queue(owner);
    const queued = await queuedIn(organization);
    expect(queued.map(({ recipient }) => recipient)).toEqual(expect.arrayContaining([member.email, guest.email]));
    expect(await sent(member)).toEqual([]);
    expect(await sent(guest)).toHaveLength(1);
    expect(await queuedIn(organization)).toEqual([]);
  });

  test('omits what is muted, read, archived or out of reach', async () => {
    const { owner, member } = await absentOrganization();
    const names = ['muted', 'left', 'archived', 'open'] as const;
    const ids = new Map<string, number>();
    for (const name of names) ids.set(name, await channelOf(owner, name, [owner, member]));
    const secret = await channelOf(owner, 'secret', [owner], {
      invite_only: true,
      history_public_to_subscribers: false,
    });
    await say(owner, secret, 'before', 'protected history');
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'secret' }], principals: [member.id] });
    await say(owner, secret, 'after', 'shown: secret');
    const mute = [{ stream_id: ids.get('muted'), property: 'is_muted', value: true }];
    await member.ok('POST', '/users/me/subscriptions/properties', { subscription_data: mute });
    const policy = (channel: string, topic: string, visibility_policy: number) =>
      member.ok('POST', '/user_topics', { stream_id: ids.get(channel), topic, visibility_policy });
    await policy('muted', 'loud', 2);
    await policy('open', 'silent', 1);
    for (const name of names) await say(owner, ids.get(name) ?? 0, 'topic', `in ${name}`);
    await say(owner, ids.get('muted') ?? 0, 'LOUD', 'shown: unmuted');
    await say(owner, ids.get('open') ?? 0, 'Silent', 'in a muted topic');
    const read = await say(owner, ids.get('open') ?? 0, 'seen', 'read elsewhere');
    await member.ok('POST', '/messages/flags', { messages: [read], op: 'add', flag: 'read' });
    await owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['left'], principals: [member.id] });
    await owner.ok('DELETE', `/streams/${ids.get('archived')}`);
    await queue(owner);
    const [mail] = await sent(member);
    expect(mail?.text).toContain('shown: secret');
    expect(mail?.text).toContain('shown: unmuted');
    expect(mail?.text).toContain('in open');
    expect(mail?.text).not.toMatch(/protected history|in muted|in left|in archived|in a muted topic|read elsewhere/);
  });

  test('contains only numbers if the user or the organization excludes texts from emails', async () => {
    const { owner, member, guest } = await absentOrganization();
    const channel = await channelOf(owner, 'works', [owner, member, guest]);
    await say(owner, channel, 'launch', 'secret words');
    await direct(owner, member);
    await member.ok('PATCH', '/settings', { message_content_in_email_notifications: false });
    await queue(owner);
    const [mail] = await sent(member);
    expect(mail?.text).toContain('You have 1 unread direct message in 1 conversation.');
    expect(mail?.text).toContain('Your channels have 1 new message in 1 topic.');
    expect(mail?.text).not.toMatch(/secret|works|launch|owner/);
  });

  test('names the organization in the subject if the setting requires it', async () => {
    const { owner, member, organization } = await absentOrganization();
    await member.ok('PATCH', '/settings', { realm_name_in_email_notifications_policy: 2 });
    await direct(owner, member);
    await queue(owner);
    expect((await sent(member))[0]?.head).toContain(`Subject: Weekly digest [${organization.name}]`);
  });

  test('shows followed topics first, and counts those that it does not show', async () => {
    const { owner, member, moderator } = await absentOrganization();
    const channel = await channelOf(owner, 'works', [owner, member, moderator]);
    await member.ok('POST', '/user_topics', { stream_id: channel, topic: 'followed', visibility_policy: 3 });
    await say(owner, channel, 'followed');
    for (const topic of ['a', 'b', 'c', 'd', 'e', 'f']) await say(moderator, channel, topic);
    await queue(owner);
    const [mail] = await sent(member);
    expect(mail?.text).toMatch(/^#works › followed/m);
    expect(mail?.text.indexOf('followed')).toBeLessThan(mail?.text.indexOf('› f:') ?? 0);
    expect(mail?.text).toContain('… and new messages in 2 other topics.');
  });

  test('says so if a channel has more messages than are read', async () => {
    const { owner, member } = await absentOrganization();
    const channel = await oldChannel(owner, 'busy', [owner, member]);
    await copyMessage(service, await say(owner, channel, 'launch'), 250);
    await queue(owner);
    await copyMessage(service, (await direct(owner, member)).id, 120);
    const [mail] = await sent(member);
    expect(mail?.text).toContain('#busy › launch: 200 or more messages by owner');
    expect(mail?.text).toContain('You have 100 or more unread direct messages in 1 conversation.');
  });

  test('says that numbers are not complete also if it contains only numbers', async () => {
    const { owner, member } = await absentOrganization();
    const channel = await oldChannel(owner, 'busy', [owner, member]);
    await copyMessage(service, await say(owner, channel, 'launch'), 250);
    await member.ok('PATCH', '/settings', { message_content_in_email_notifications: false });
    await queue(owner);
    const [mail] = await sent(member);
    expect(mail?.text).toContain('Your channels have 200 or more new messages in 1 or more topics.');
  });

  test('shows messages of people before many messages of bots, and before those of muted topics and channels', async () => {
    const { owner, member, bot } = await absentOrganization();
    const builds = await oldChannel(owner, 'builds', [owner, member, bot]);
    const muted = await oldChannel(owner, 'muted', [owner, member]);
    await say(owner, builds, 'launch', 'of a person');
    await say(owner, muted, 'loud', 'of an unmuted topic');
    await copyMessage(service, await say(bot, builds, 'nightly'), 400);
    await copyMessage(service, await say(owner, builds, 'silent'), 400);
    await copyMessage(service, await say(owner, muted, 'any'), 2_100);
    for (const [channel, topic, visibility_policy] of [
      [builds, 'silent', 1],
      [muted, 'loud', 3],
    ])
      await member.ok('POST', '/user_topics', { stream_id: channel, topic, visibility_policy });
    const mute = [{ stream_id: muted, property: 'is_muted', value: true }];
    await member.ok('POST', '/users/me/subscriptions/properties', { subscription_data: mute });
    await queue(owner);
    const [mail] = await sent(member);
    expect(mail?.text).toContain('#builds › launch: 1 message by owner');
    expect(mail?.text).not.toMatch(/nightly|silent|› any/);
  });

  test('contains the messages of its period if it is sent late, after many others', async () => {
    const { owner, member } = await absentOrganization();
    const channel = await oldChannel(owner, 'works', [owner, member]);
    await say(owner, channel, 'launch', 'of the period');
    await direct(owner, member);
    await queue(owner);
    // No digest is sent until messages were sent that are newer than all digests of the round.
    const held = vi.spyOn(service.mail, 'sendDue').mockResolvedValue();
    try {
      ahead += 40 * HOUR_MS;
      const copies = await copyMessage(service, await say(owner, channel, 'later'), 2_500);
      const directs = await copyMessage(service, (await direct(owner, member)).id, 120);
      await service.app.db.message.updateMany({
        where: { id: { in: [...copies, ...directs].map(BigInt) } },
        data: { sentAt: now() },
      });
    } finally {
      held.mockRestore();
    }
    const [mail] = await sent(member, { after: 0 });
    expect(mail?.text).toContain('#works › launch: 1 message by owner');
    expect(mail?.text).toContain('You have 1 unread direct message in 1 conversation.');
    expect(mail?.text).not.toContain('later');
  });

  test('is sent in UTC if the runtime does not support the time zone of its recipient', async () => {
    const { owner, member } = await absentOrganization();
    await service.app.db.$executeRaw`
      UPDATE user_account SET settings = settings || '{"timezone": "Atlantis/Capital"}' WHERE id = ${member.id}`;
    await direct(owner, member);
    await queue(owner);
    expect((await sent(member))[0]?.text).toMatch(/^New in .* since \S+ \S+ UTC:/);
  });

  test('is dated and sent at eight in the time zone of its recipient', async () => {
    const { owner, member, guest, organization } = await absentOrganization();
    await member.ok('PATCH', '/settings', { timezone: 'Pacific/Kiritimati' });
    await guest.ok('PATCH', '/settings', { timezone: 'America/Los_Angeles' });
    for (const person of [member, guest]) await direct(owner, person);
    await queue(owner);
    const due = new Map((await queuedIn(organization)).map((mail) => [mail.recipient, mail.nextDigestAttemptAt]));
    const hourIn = (person: Person, timeZone: string) =>
      due.get(person.email)?.toLocaleString('sv', { timeZone }).slice(11);
    expect(hourIn(member, 'Pacific/Kiritimati')).toBe('08:00:00');
    expect(hourIn(guest, 'America/Los_Angeles')).toBe('08:00:00');
    expect(await sent(member, { after: 0 })).toEqual([]);
    // The first one is due at 18:00 UTC of the day before.
    expect([await sent(member, { after: 6 * HOUR_MS }), await sent(guest, { after: 0 })]).toMatchObject([[{}], []]);
    expect(await sent(guest)).toHaveLength(1);
  });
});

describe('digests are sent', () => {
  test('only if the organization has turned them on', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    elapse(6);
    await direct(owner, member);
    await queue(owner);
    expect(await queuedIn(organization)).toEqual([]);
  });

  test('only on the day of the week of the organization', async () => {
    const { owner, member, organization } = await absentOrganization();
    await direct(owner, member);
    await queue(owner, { weekday: weekdayOf(roundDay(new Date(now().getTime() + 2 * DAY_MS))) });
    expect(await queuedIn(organization)).toEqual([]);
  });

  test('once a week, each with the messages since the previous one', async () => {
    const { owner, member } = await absentOrganization();
    await direct(owner, member, 'first');
    await queue(owner);
    await queueDigests(service.app);
    expect(await sent(member)).toHaveLength(1);
    elapse(5);
    const channel = await channelOf(owner, 'works', [owner, member]);
    await say(owner, channel, 'launch', 'of the second week');
    ahead += HOUR_MS;
    await queueDigests(service.app);
    const [, second, ...others] = await sent(member);
    expect(others).toEqual([]);
    expect(second?.text).toContain('of the second week');
    expect(second?.text).not.toContain('direct message');
  });

  test('with the messages since the last activity if the person was active less than five days before the last round', async () => {
    const { owner, member } = await absentOrganization();
    await member.ok('POST', '/users/me/presence', { status: 'active' });
    ahead += HOUR_MS;
    await direct(owner, member, 'before the round');
    elapse(2);
    await queue(owner);
    expect(await sent(member)).toEqual([]);
    elapse(5);
    ahead += HOUR_MS;
    await queueDigests(service.app);
    const [mail] = await sent(member);
    expect(mail?.text).toContain('You have 1 unread direct message in 1 conversation.');
  });

  test.for([1, 4, 6])(
    'at least seven days after the last ones if the day of the week is moved by %i days',
    async (days) => {
      const { owner, member, organization } = await absentOrganization();
      await direct(owner, member);
      await queue(owner);
      expect(await sent(member, { after: 22 * HOUR_MS })).toHaveLength(1);
      await direct(owner, member, 'next');
      ahead += (days - 1) * DAY_MS + HOUR_MS;
      await queue(owner);
      expect(await queuedIn(organization)).toEqual([]);
      ahead += 7 * DAY_MS;
      await queueDigests(service.app);
      const [, second] = await sent(member);
      expect(second?.text).toContain('You have 1 unread direct message in 1 conversation.');
    },
  );

  test('on the next such day if they are turned on when digests of the day are due', async () => {
    const { owner, member, organization } = await createOrganization({}, { on: service });
    elapse(6);
    ahead += 7 * HOUR_MS;
    await owner.ok('PATCH', '/realm', { digest_emails_enabled: true, digest_weekday: weekdayOf(roundDay(now())) });
    await queueDigests(service.app);
    expect(await queuedIn(organization)).toEqual([]);
    elapse(6);
    await direct(owner, member);
    ahead += HOUR_MS;
    await queueDigests(service.app);
    expect((await queuedIn(organization)).length).toBeGreaterThan(0);
    expect(await sent(member)).toHaveLength(1);
  });

  test('with the messages since the last complete round if one was interrupted until the next week', async () => {
    const { owner, member, organization } = await absentOrganization();
    await direct(owner, member);
    await queue(owner);
    expect(await sent(member, { after: 22 * HOUR_MS })).toHaveLength(1);
    const channel = await oldChannel(owner, 'works', [owner]);
    await addAbsent(organization, 250);
    // The last user, whom the interrupted round does not reach.
    const [last] = await service.app.db.user.findMany({
      where: { organizationId: organization.id, botType: null },
      orderBy: { id: 'desc' },
      take: 1,
    });
    if (last === undefined) throw new Error('No user');
    await owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'works' }], principals: [last.id] });
    await say(owner, channel, 'launch', 'of the first week');
    ahead += 6 * DAY_MS + 2 * HOUR_MS;
    await queuePart(organization);
    const queued = await queuedIn(organization);
    expect(queued.length).toBeGreaterThan(0);
    expect(queued.map(({ recipient }) => recipient)).not.toContain(last.email);
    ahead += 7 * DAY_MS;
    await queueDigests(service.app);
    expect((await queuedIn(organization)).map(({ recipient }) => recipient)).toContain(last.email);
    ahead += 32 * HOUR_MS;
    await service.mail.sendDue();
    const [mail] = mailsTo(mailbox, last.email).filter(({ head }) => /^Subject: Weekly/m.test(head));
    expect(mail?.text).toContain('of the first week');
  });

  test('to people with hidden presence, unless they use an API key with a name, an event queue or a device', async () => {
    const { owner, administrator, member, moderator, guest, organization } = await absentOrganization();
    for (const person of [administrator, member, moderator, guest]) {
      await person.ok('PATCH', '/settings', { presence_enabled: false });
      await direct(owner, person);
    }
    const organizationId = organization.id;
    const recent = now();
    const { db } = service.app;
    await db.$executeRaw`
      INSERT INTO named_api_key (realm_id, user_id, name, hash, scopes, created_at, last_used_at)
      VALUES (${organizationId}, ${member.id}, 'app', decode(md5('a' || ${member.id}::text), 'hex'), '{read}', '2026-01-01', ${recent})`;
    await db.$executeRaw`
      INSERT INTO event_queue (realm_id, id, user_id, options, idle_timeout_secs, client_name, start_id, acked_id, scanned_through,
        last_active_at, expires_at)
      VALUES (${organizationId}, gen_random_uuid(), ${moderator.id}, '{}', 600, 'app', 0, 0, 0, ${recent}, '2100-01-01')`;
    await db.$executeRaw`
      INSERT INTO push_device (realm_id, user_id, key_hash, kind, endpoint, endpoint_hash, public_key, auth_secret, name, created_at,
        token_updated_at)
      VALUES (${organizationId}, ${guest.id}, sha256('k'), 'none', 'none:x', sha256('x'), '', '', 'app',
        '2026-01-01', ${recent})`;
    await queue(owner);
    const recipients = (await queuedIn(organization)).map(({ recipient }) => recipient);
    expect(recipients).toContain(administrator.email);
    for (const { email } of [member, moderator, guest]) expect(recipients).not.toContain(email);
  });

  test('once if a round is interrupted, and continued by several workers at the same time', async () => {
    const { owner, member, guest, organization } = await absentOrganization();
    await addAbsent(organization, 250);
    for (const person of [member, guest]) await direct(owner, person);
    const { databaseUrl } = service.app.config;
    const env = { SMTP_URL: mailbox.url, SECRET_KEY: 'in process '.repeat(4) };
    // A second node, if several nodes can share the database: on PostgreSQL.
    const other =
      databaseUrl === undefined
        ? undefined
        : await startInProcess({ env: { ...env, DATABASE_URL: databaseUrl }, now, log: service.app.log });
    try {
      const nodes = other === undefined ? [service] : [service, other];
      ahead += HOUR_MS;
      await owner.ok('PATCH', '/realm', { digest_weekday: weekdayOf(roundDay(now())) });
      await queuePart(organization);
      const begun = await queuedIn(organization);
      expect(begun.length).toBeGreaterThan(0);
      expect(begun.length).toBeLessThan(250);
      // A round continues also when it can no longer begin.
      ahead += 6 * HOUR_MS;
      await Promise.all(nodes.flatMap(({ app }) => [queueDigests(app), queueDigests(app)]));
      const queued = await queuedIn(organization);
      expect(new Set(queued.map(({ recipient }) => recipient)).size).toBe(queued.length);
      expect(queued.length).toBeGreaterThan(250);
      ahead += 26 * HOUR_MS;
      await Promise.all(nodes.map(({ mail }) => mail.sendDue()));
      expect([digestsTo(member), digestsTo(guest)]).toMatchObject([[{}], [{}]]);
      expect(await queuedIn(organization)).toEqual([]);
    } finally {
      await other?.[Symbol.asyncDispose]();
    }
  });

  test('by another attempt, once, if the process is killed before an email was sent', async () => {
    const { owner, member, organization } = await absentOrganization();
    await direct(owner, member);
    // The worker of the service would send the email before it is claimed here.
    const held = vi.spyOn(service.mail, 'sendDue').mockResolvedValue();
    try {
      await queue(owner);
      ahead += 32 * HOUR_MS;
      for (let mail = await claimMail(service.app); mail !== undefined; ) mail = await claimMail(service.app);
    } finally {
      held.mockRestore();
    }
    expect(digestsTo(member)).toEqual([]);
    const claimed = await queuedIn(organization);
    expect(claimed.find(({ recipient }) => recipient === member.email)).toMatchObject({ attempts: 1 });
    await queueDigests(service.app);
    expect(await sent(member, { after: HOUR_MS })).toHaveLength(1);
    expect(await sent(member)).toHaveLength(1);
  });

  test('again with the same Message-ID if the process is killed before it has stored that an email was sent', async () => {
    const { owner, member, organization } = await absentOrganization();
    await direct(owner, member);
    await queue(owner);
    const { id } = (await queuedIn(organization)).find(({ recipient }) => recipient === member.email) ?? {};
    expect(await sent(member)).toHaveLength(1);
    // The state between the reply of the mail server and the note of it.
    await service.app.db.$executeRaw`
      UPDATE outgoing_mail SET sent_at = NULL, next_digest_attempt_at = ${now()} WHERE realm_id = ${organization.id} AND id = ${id}`;
    const [first, second, ...others] = await sent(member, { after: HOUR_MS });
    expect(others).toEqual([]);
    const ids = [first, second].map((mail) => /^Message-ID: .*$/im.exec(mail?.head ?? '')?.[0]);
    expect(ids).toEqual([expect.stringContaining(`.${id}@`), ids[0]]);
    expect(await queuedIn(organization)).toEqual([]);
    expect(await sent(member)).toHaveLength(2);
  });

  test('after all other emails, and only by nodes that know them', async () => {
    const { owner, member, organization } = await absentOrganization();
    await direct(owner, member);
    const held = vi.spyOn(service.mail, 'sendDue').mockResolvedValue();
    try {
      await queue(owner);
      ahead += 32 * HOUR_MS;
      const { db } = service.app;
      // The statement with which version 0.2.0 claims emails.
      const claimable = await db.$queryRaw`
        SELECT id FROM outgoing_mail WHERE realm_id = ${organization.id} AND next_attempt_at <= ${now()} AND digest_since IS NOT NULL`;
      expect(claimable).toEqual([]);
      await db.$executeRaw`
        INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at, unsubscribe_url)
        SELECT ${organization.id}, 'missed@' || ${organization.subdomain}::text || '.example', 'x', '', ${now()}, 'https://chat.example/x'
        FROM generate_series(1, 3)`;
      const claimed: boolean[] = [];
      for (let mail = await claimMail(service.app); mail !== undefined; mail = await claimMail(service.app)) {
        claimed.push(mail.digestSince !== null);
        await noteSent(service.app, mail);
      }
      expect(claimed.filter((isDigest) => !isDigest).length).toBeGreaterThanOrEqual(3);
      expect(claimed.indexOf(true)).toBe(claimed.filter((isDigest) => !isDigest).length);
    } finally {
      held.mockRestore();
    }
  });

  test('to the others if one user has no valid address', async () => {
    const { owner, member, guest } = await absentOrganization();
    for (const person of [member, guest]) await direct(owner, person);
    await service.app.db.$executeRaw`UPDATE user_account SET email = 'no address' WHERE id = ${member.id}`;
    await queue(owner);
    expect(await sent(guest)).toHaveLength(1);
  });
});

describe('a queued digest', () => {
  const queuedFor = async () => {
    const made = await absentOrganization();
    const channel = await oldChannel(made.owner, 'works', [made.owner, made.member], { invite_only: true });
    await say(made.owner, channel, 'launch', 'secret words');
    await queue(made.owner);
    expect((await queuedIn(made.organization)).map(({ recipient }) => recipient)).toContain(made.member.email);
    return made;
  };
  type Made = Awaited<ReturnType<typeof queuedFor>>;

  test('contains nothing of the messages in the database', async () => {
    const { member, organization } = await queuedFor();
    const where = { organizationId: organization.id, digestSince: { not: null } };
    const texts = async () =>
      (await service.app.db.outgoingMail.findMany({ where })).map(({ recipient, body }) => ({ recipient, body }));
    expect((await texts()).filter(({ body }) => /secret|works|launch/.test(body))).toEqual([]);
    const [mail] = await sent(member);
    expect(mail?.text).toContain('secret words');
    expect(await texts()).toEqual([{ recipient: member.email, body: '' }]);
  });

  test.for([
    [
      'the access of its recipient has ended',
      ({ owner, member }: Made) =>
        owner.ok('DELETE', '/users/me/subscriptions', { subscriptions: ['works'], principals: [member.id] }),
    ],
    ['its recipient was deactivated', ({ owner, member }: Made) => owner.ok('DELETE', `/users/${member.id}`)],
    [
      'its recipient has been active',
      ({ member }: Made) => member.ok('POST', '/users/me/presence', { status: 'active' }),
    ],
    [
      'its recipient has turned digests off',
      ({ member }: Made) => member.ok('PATCH', '/settings', { enable_digest_emails: false }),
    ],
    [
      'the organization has turned digests off',
      ({ owner }: Made) => owner.ok('PATCH', '/realm', { digest_emails_enabled: false }),
    ],
    [
      'the organization was deactivated',
      ({ organization: { id } }: Made) =>
        service.app.db.organization.update({ where: { id }, data: { deactivatedAt: now() } }),
    ],
    [
      'the address has changed',
      ({ member }: Made) =>
        service.app.db.$executeRaw`UPDATE user_account SET email = 'new.' || email WHERE id = ${member.id}`,
    ],
    [
      'its only message was deleted',
      async ({ owner }: Made) => {
        const { messages } = await owner.ok('GET', '/messages', { anchor: 'newest', num_before: 1, num_after: 0 });
        await owner.ok('DELETE', `/messages/${messages[0].id}`);
      },
    ],
  ] as const)('is not sent if %s', async ([, change]) => {
    const made = await queuedFor();
    await change(made);
    expect(await sent(made.member)).toEqual([]);
    expect(await queuedIn(made.organization)).toEqual([]);
  });

  test('stays if emails about missed messages are turned off, and is deleted if digests are', async () => {
    const { member, organization } = await queuedFor();
    await member.ok('PATCH', '/settings', { enable_offline_email_notifications: false });
    const isQueued = async () => (await queuedIn(organization)).some(({ recipient }) => recipient === member.email);
    expect(await isQueued()).toBe(true);
    await member.ok('PATCH', '/settings', { enable_digest_emails: false });
    expect(await isQueued()).toBe(false);
  });

  test('has a link that ends digests, and nothing else', async () => {
    const { owner, member } = await queuedFor();
    const [mail] = await sent(member);
    const url = new URL(/^List-Unsubscribe: <(.*)>$/m.exec(mail?.head ?? '')?.[1] ?? '');
    expect(mail?.text).toContain(`Stop these emails: ${url.href}`);
    const open = (method: string, address: URL) =>
      send(service.url, {
        method,
        path: `${address.pathname}${address.search}`,
        headers: { host: url.host, 'content-type': 'application/x-www-form-urlencoded' },
        body: method === 'POST' ? 'List-Unsubscribe=One-Click' : '',
      });
    const forMissed = new URL(url);
    forMissed.searchParams.delete('emails');
    expect((await open('POST', forMissed)).status).toBe(404);
    const { status, text } = await open('GET', url);
    expect([status, text]).toEqual([200, expect.stringContaining('Stop digest emails')]);
    expect((await open('POST', url)).status).toBe(200);
    const { user_settings } = await member.register();
    expect(user_settings).toMatchObject({ enable_digest_emails: false, enable_offline_email_notifications: true });
    elapse(6);
    await direct(owner, member);
    await queue(owner);
    expect(await sent(member)).toHaveLength(1);
  });
});

describe('the time of a digest', () => {
  test.for([
    ['', '2026-12-01T08:00:00Z'],
    ['Asia/Kathmandu', '2026-12-01T02:15:00Z'],
    ['Pacific/Kiritimati', '2026-11-30T18:00:00Z'],
    ['Etc/GMT+12', '2026-12-01T20:00:00Z'],
    ['Atlantis/Capital', '2026-12-01T08:00:00Z'],
  ] as const)('in the time zone "%s" is %s', ([timezone, time]) => {
    expect(digestTime('2026-12-01', { settings: { timezone } }).toISOString()).toBe(new Date(time).toISOString());
  });

  test('is right on the day on which clocks change', () => {
    const user = { settings: { timezone: 'Europe/Berlin' } };
    const times = ['2026-03-28', '2026-03-29', '2026-10-25'].map((day) => digestTime(day, user).toISOString());
    expect(times).toEqual(['2026-03-28T07:00:00.000Z', '2026-03-29T06:00:00.000Z', '2026-10-25T07:00:00.000Z']);
  });

  test('belongs to a round that begins before it is eight in the first time zone', () => {
    expect(roundDay(new Date('2026-11-30T11:59:59Z'))).toBe('2026-11-30');
    expect(roundDay(new Date('2026-11-30T12:00:00Z'))).toBe('2026-12-01');
    const begins = ['12:00:00', '17:59:59', '18:00:00'].map((time) =>
      canBegin('2026-12-01', new Date(`2026-11-30T${time}Z`)),
    );
    expect(begins).toEqual([true, true, false]);
    expect(daysBefore('2026-12-01', 7)).toBe('2026-11-24');
    expect(['2026-11-30', '2026-12-06'].map(weekdayOf)).toEqual([0, 6]);
  });
});
