import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { DAY_MS, digestTime, roundDay, weekdayOf } from '../../src/messages/digests/calendar.ts';
import { queueDigests } from '../../src/messages/digests/rounds.ts';
import { claimMail } from '../../src/platform/mail/outbox.ts';
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

/** Lets a number of days pass, and the time until the next noon in UTC. The digests of the next day are queued six hours later. */
function elapse(days: number): void {
  ahead += days * DAY_MS;
  const sinceMidnight = now().getTime() % DAY_MS;
  ahead += 12 * HOUR_MS - sinceMidnight + (sinceMidnight > 12 * HOUR_MS ? DAY_MS : 0);
}

/** Creates an organization that sends digests, and in which nobody has been active for six days. */
async function absentOrganization() {
  const made = await createOrganization({}, { on: service });
  await made.owner.ok('PATCH', '/realm', { digest_emails_enabled: true });
  elapse(6);
  return made;
}

/** Lets the time pass at which the next digests are queued, on the day of the organization unless it is given. */
async function queue(owner: Person, { weekday }: { readonly weekday?: number } = {}): Promise<void> {
  ahead += 7 * HOUR_MS;
  await owner.ok('PATCH', '/realm', { digest_weekday: weekday ?? weekdayOf(roundDay(now())) });
  await queueDigests(service.app);
}

/** Returns the digests that a person has received. Direct messages cause other emails. */
const digestsTo = ({ email }: Person) => mailsTo(mailbox, email).filter(({ head }) => /^Subject: Weekly/m.test(head));

/** Lets the time pass at which queued digests are sent. @returns All digests to the person so far. */
async function sent(person: Person, { after = 26 * HOUR_MS } = {}) {
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

  test('is not sent without news', async () => {
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
    expect(mail?.text).toContain('… and new messages in 2 more topics.');
  });

  test('says so if a channel has more messages than are read', async () => {
    const { owner, member } = await absentOrganization();
    const channel = await oldChannel(owner, 'busy', [owner, member]);
    await copyMessage(service, await say(owner, channel, 'launch'), 250);
    await queue(owner);
    expect((await sent(member))[0]?.text).toContain('#busy › launch: 200 or more messages by owner');
  });

  test('is dated and sent at eight in the time zone of its recipient', async () => {
    const { owner, member, guest, organization } = await absentOrganization();
    await member.ok('PATCH', '/settings', { timezone: 'Pacific/Kiritimati' });
    await guest.ok('PATCH', '/settings', { timezone: 'America/Los_Angeles' });
    for (const person of [member, guest]) await direct(owner, person);
    await queue(owner);
    const due = new Map((await queuedIn(organization)).map((mail) => [mail.recipient, mail.nextAttemptAt]));
    const hourIn = (person: Person, timeZone: string) =>
      due.get(person.email)?.toLocaleString('sv', { timeZone }).slice(11);
    expect(hourIn(member, 'Pacific/Kiritimati')).toBe('08:00:00');
    expect(hourIn(guest, 'America/Los_Angeles')).toBe('08:00:00');
    // The first one is due at 18:00 UTC of the day before, which has passed.
    expect([await sent(member, { after: 0 }), await sent(guest, { after: 0 })]).toMatchObject([[{}], []]);
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
    ahead += DAY_MS;
    await queueDigests(service.app);
    const [, second, ...others] = await sent(member);
    expect(others).toEqual([]);
    expect(second?.text).toContain('of the second week');
    expect(second?.text).not.toContain('direct message');
  });

  test('not again within five days if the day of the week is changed', async () => {
    const { owner, member, organization } = await absentOrganization();
    await direct(owner, member);
    await queue(owner);
    expect(await sent(member)).toHaveLength(1);
    elapse(0);
    await direct(owner, member, 'next');
    await queue(owner);
    expect(await queuedIn(organization)).toEqual([]);
    elapse(6);
    await queue(owner);
    expect(await sent(member)).toHaveLength(2);
  });

  test('once if two nodes queue and send them, in parts', async () => {
    const { owner, member, guest, organization } = await absentOrganization();
    await service.app.db.organization.updateMany({ where: { id: { not: organization.id } }, data: { settings: {} } });
    // More users than one transaction reads.
    await service.app.db.$executeRaw`
      INSERT INTO user_account (realm_id, email, full_name, joined_at)
      SELECT ${organization.id}, 'absent' || i || '@' || ${organization.subdomain}::text || '.example', 'Absent ' || i, '2026-01-01'
      FROM generate_series(1, 250) i`;
    for (const person of [member, guest]) await direct(owner, person);
    const { databaseUrl } = service.app.config;
    const env = { SMTP_URL: mailbox.url, SECRET_KEY: 'in process '.repeat(4) };
    const other =
      databaseUrl === undefined
        ? undefined
        : await startInProcess({ env: { ...env, DATABASE_URL: databaseUrl }, now, log: service.app.log });
    try {
      const nodes = [service, other ?? service];
      ahead += 7 * HOUR_MS;
      await owner.ok('PATCH', '/realm', { digest_weekday: weekdayOf(roundDay(now())) });
      // The first run ends after its first transaction, as if the process was killed.
      let transactions = 0;
      await queueDigests(service.app, () => transactions++ > 0);
      const begun = await queuedIn(organization);
      expect(begun.length).toBeGreaterThan(0);
      expect(begun.length).toBeLessThan(250);
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
      ahead += 26 * HOUR_MS;
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

  test('belongs to a round that begins when it is eight in the first time zone', () => {
    expect(roundDay(new Date('2026-11-30T17:59:59Z'))).toBe('2026-11-30');
    expect(roundDay(new Date('2026-11-30T18:00:00Z'))).toBe('2026-12-01');
    expect(['2026-11-30', '2026-12-06'].map(weekdayOf)).toEqual([0, 6]);
  });
});
