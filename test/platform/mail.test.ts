import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { transact } from '../../src/events/log.ts';
import { readConfig } from '../../src/platform/config.ts';
import { claimMail, type Mail, purgeMail, queueMail } from '../../src/platform/mail/outbox.ts';
import { MailWorker } from '../../src/platform/mail/worker.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import { type Mailbox, openMailbox } from '../helpers/mailbox.ts';
import { createOrganization } from '../helpers/server.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** These tests queue no emails about missed messages. */
const noMissed = () => Promise.resolve(undefined);

/** Emails in the queue. The tests share a clock, so they run one after another. */
describe('queued email', () => {
  let clock = Date.now();
  let mailbox: Mailbox;
  let service: InProcess;
  let organizationId: number;

  beforeAll(async () => {
    mailbox = await openMailbox();
    const env = { SMTP_URL: mailbox.url, MAIL_FROM: 'Acme chat <chat@acme.example>' };
    service = await startInProcess({ env, now: () => new Date(clock) });
    organizationId = (await createOrganization({}, { on: service })).organization.id;
  });
  beforeEach(async () => {
    mailbox.answer = undefined;
    await service.app.db.outgoingMail.deleteMany();
    // The database's clock sets the time at which an email is queued, so the test clock must not be behind it.
    clock = Date.now() + 1;
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await mailbox[Symbol.asyncDispose]();
  });

  const queue = (mail: Partial<Mail> = {}) =>
    transact({ work: service.app.work, organizationId }, (tx) =>
      queueMail(tx, { organizationId, to: 'ada@acme.example', subject: 'Hello', body: 'Good day.\n', ...mail }),
    );
  /** Advances the clock by `ms` and sends all emails that are then due. @returns The emails that arrived. */
  async function pass(ms: number) {
    const before = mailbox.mails.length;
    clock = Math.max(clock + ms, Date.now());
    await service.mail.sendDue();
    return mailbox.mails.slice(before);
  }
  const row = () => service.app.db.outgoingMail.findFirstOrThrow();

  test('is sent once, after the commit', async () => {
    await queue();
    const [mail, ...more] = await pass(0);
    expect(more).toEqual([]);
    expect(mail?.to).toEqual(['ada@acme.example']);
    expect(mail?.raw).toMatch(/^From: Acme chat <chat@acme\.example>\r$/m);
    expect(mail?.raw).toMatch(/^To: ada@acme\.example\r$/m);
    expect(mail?.raw).toMatch(/^Subject: Hello\r$/m);
    expect(mail?.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m);
    expect(mail?.raw).toMatch(/\r\n\r\nGood day\.\r\n$/);
    expect(await row()).toMatchObject({ attempts: 1, nextAttemptAt: null, lastError: null, sentAt: new Date(clock) });
    expect(await pass(DAY)).toEqual([]);
  });

  test('is not sent if the change fails', async () => {
    const change = transact({ work: service.app.work, organizationId }, async (tx) => {
      await queueMail(tx, { organizationId, to: 'ada@acme.example', subject: 'Hello', body: 'Good day.' });
      throw new Error('No');
    });
    await expect(change).rejects.toThrow('No');
    expect(await pass(DAY)).toEqual([]);
  });

  test.each(['RCPT', 'DATA'] as const)('is retried at increasing intervals if %s is deferred', async (at) => {
    await queue();
    mailbox.answer = { at, code: 451 };
    expect(await pass(0)).toEqual([]);
    expect(await row()).toMatchObject({ attempts: 1, sentAt: null, lastError: expect.stringContaining('451') });
    expect((await row()).nextAttemptAt).toEqual(new Date(clock + MINUTE));
    await pass(MINUTE - 1);
    expect((await row()).attempts).toBe(1);
    await pass(1);
    expect((await row()).nextAttemptAt).toEqual(new Date(clock + 2 * MINUTE));
    mailbox.answer = undefined;
    expect(await pass(2 * MINUTE)).toHaveLength(1);
    expect(await row()).toMatchObject({ attempts: 3, lastError: null, sentAt: new Date(clock) });
  });

  test('fails after days, with the reason stored', async () => {
    await queue();
    mailbox.answer = { at: 'RCPT', code: 451 };
    for (let hours = 0; hours < 5 * 24; hours += 6) await pass(DAY / 4);
    const given = await row();
    expect(given).toMatchObject({ sentAt: null, nextAttemptAt: null, lastError: expect.stringContaining('451') });
    expect(given.attempts).toBeGreaterThan(14);
    mailbox.answer = undefined;
    expect(await pass(DAY)).toEqual([]);
  });

  test('fails immediately if the server refuses it permanently', async () => {
    await queue();
    mailbox.answer = { at: 'RCPT', code: 550 };
    await pass(0);
    expect(await row()).toMatchObject({ attempts: 1, nextAttemptAt: null, lastError: expect.stringContaining('550') });
  });

  test('does not delay others while it is deferred', async () => {
    await queue();
    mailbox.answer = { at: 'RCPT', code: 451 };
    await pass(0);
    mailbox.answer = undefined;
    await queue({ to: 'bob@acme.example' });
    expect((await pass(1)).map(({ to }) => to)).toEqual([['bob@acme.example']]);
  });

  test('cannot get other headers or recipients from its subject or body', async () => {
    await queue({ subject: 'Hello\r\nBcc: eve@evil.example\n\nboo', body: '.\r\nRCPT TO:<eve@evil.example>\r\n' });
    const [mail] = await pass(0);
    expect(mail?.to).toEqual(['ada@acme.example']);
    expect(mail?.raw).toMatch(/^Subject: Hello Bcc: eve@evil\.example boo\r$/m);
    expect(mail?.raw).not.toMatch(/^Bcc/im);
    for (const to of ['a@b.example\r\nBcc: c@d.example', 'a@b.example, c@d.example', 'A <a@b.example>', 'nobody']) {
      await expect(queue({ to })).rejects.toThrow('one valid address');
    }
  });

  test('is sent by another node, with the same Message-ID, if the first node died meanwhile', async () => {
    await queue();
    // Sets the state that another node leaves after a failed attempt.
    await service.app.db.$executeRaw`
      UPDATE outgoing_mail SET attempts = 1, next_attempt_at = ${new Date(clock + 5 * MINUTE)}`;
    expect(await pass(5 * MINUTE - 1000)).toEqual([]);
    const [mail] = await pass(1000);
    expect(mail?.raw).toMatch(new RegExp(`^Message-ID: <mail\\.${organizationId}\\.\\d+@localhost>\\r$`, 'm'));
  });

  test('is sent once by two nodes that poll at the same time', async () => {
    const other = new MailWorker(service.app, noMissed);
    for (let i = 0; i < 10; i++) await queue({ subject: `Mail ${i}` });
    const before = mailbox.mails.length;
    clock += 1000;
    await Promise.all([other.sendDue(), service.mail.sendDue()]);
    const subjects = mailbox.mails.slice(before).map(({ raw }) => /^Subject: (.*)\r$/m.exec(raw)?.[1]);
    expect(subjects.toSorted()).toEqual(Array.from({ length: 10 }, (_, i) => `Mail ${i}`));
    await other.stop();
  });

  test('does not delay others if its organization moves to another database while it is sent', async () => {
    const { db, work } = service.app;
    const { organization } = await createOrganization({}, { on: service });
    await transact({ work, organizationId: organization.id }, (tx) =>
      queueMail(tx, { organizationId: organization.id, to: 'ada@acme.example', subject: 'Moving', body: 'Good day.' }),
    );
    await db.$executeRaw`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'moving' USING ERRCODE = '55P03'; END $$`;
    await db.$executeRaw`
      CREATE TRIGGER refused BEFORE UPDATE ON outgoing_mail FOR EACH ROW
      WHEN (NEW.sent_at IS NOT NULL AND NEW.subject = 'Moving') EXECUTE FUNCTION refuse()`;
    try {
      const before = mailbox.mails.length;
      const passed = pass(1000);
      await vi.waitFor(() => expect(mailbox.mails.length).toBe(before + 1), { timeout: 10_000 });
      await db.$transaction([
        db.$executeRaw`SET LOCAL session_replication_role = replica`,
        db.$executeRaw`DELETE FROM realm WHERE id = ${organization.id}`,
      ]);
      expect(await passed).toHaveLength(1);
      await queue();
      expect(await pass(1000)).toHaveLength(1);
    } finally {
      await db.$executeRaw`DROP FUNCTION refuse CASCADE`;
    }
  });

  test('is deleted 30 days after it was sent', async () => {
    await queue();
    await pass(0);
    await pass(30 * DAY - 1);
    expect(await service.app.db.outgoingMail.count()).toBe(1);
    await pass(DAY);
    expect(await service.app.db.outgoingMail.count()).toBe(0);
  });

  test('loses its text about missed messages, also if a node of the previous version has sent it', async () => {
    const { db } = service.app;
    const unsubscribeUrl = 'https://chat.example/unsubscribe';
    for (const to of ['sent@acme.example', 'failed@acme.example', 'queued@acme.example'])
      await queue({ to, body: 'A private message.', unsubscribeUrl, missedMessageIds: [7n] });
    await queue({ to: 'other@acme.example' });
    await db.$executeRaw`
      UPDATE outgoing_mail SET next_attempt_at = NULL, attempts = 1,
        sent_at = CASE WHEN recipient LIKE 'failed%' THEN NULL ELSE ${new Date(clock)}::timestamptz END
      WHERE recipient NOT LIKE 'queued%'`;
    await purgeMail(service.app);
    const rows = await db.outgoingMail.findMany({ orderBy: { id: 'asc' } });
    const kept = rows.map(({ body, unsubscribeUrl: url, missedMessageIds }) => [body, url, missedMessageIds]);
    expect(kept).toEqual([
      ['', null, []],
      ['', null, []],
      ['A private message.', unsubscribeUrl, [7n]],
      ['Good day.\n', null, []],
    ]);
  });

  test('is claimed without reading the others that are due', async () => {
    const { db } = service.app;
    const readByClaim = async () => (await service.rowsReadBy(() => claimMail(service.app))).get('outgoing_mail') ?? 0;
    await db.$executeRaw`
      INSERT INTO outgoing_mail (realm_id, recipient, subject, body, digest_since, next_digest_attempt_at)
      SELECT ${organizationId}, 'ada@acme.example', 'x', '', now(), now() - n * interval '1 second' FROM generate_series(1, 3000) AS n`;
    await db.$executeRaw`ANALYZE outgoing_mail`;
    expect(await readByClaim()).toBeLessThan(50);
    for (const unsubscribeUrl of ['https://chat.example/x', null]) {
      await db.$executeRaw`
        INSERT INTO outgoing_mail (realm_id, recipient, subject, body, next_attempt_at, unsubscribe_url)
        SELECT ${organizationId}, 'ada@acme.example', 'x', '', now() - n * interval '1 second', ${unsubscribeUrl}::text
        FROM generate_series(1, 3000) AS n`;
      await db.$executeRaw`ANALYZE outgoing_mail`;
      expect(await readByClaim()).toBeLessThan(50);
    }
  });

  test('is not started once the service stops', async () => {
    const worker = new MailWorker(service.app, noMissed);
    await worker.stop();
    await queue();
    await worker.sendDue();
    expect((await row()).attempts).toBe(0);
  });
});

/** Tests names that try to add headers or recipients to emails that are sent to other users. */
describe('emails with hostile names of people and organizations', () => {
  const HEADERS = [
    ...['Auto-Submitted', 'From', 'To', 'Subject', 'Message-ID', 'Date', 'MIME-Version'],
    ...['Content-Type', 'Content-Transfer-Encoding'],
  ];
  const INJECTION =
    '\r\nBcc: eve@evil.example\r\n\r\n.\r\nMAIL FROM:<eve@evil.example>\r\nRCPT TO:<eve@evil.example>\r\n';
  const NAMES = [
    `Eve${INJECTION}`,
    'Eve\nBcc: eve@evil.example',
    'Eve\rBcc: eve@evil.example',
    'Eve\u2028Bcc: eve@evil.example\u2029',
    'Eve\u0085Bcc: eve@evil.example\v\f',
    '=?utf-8?B?DQpCY2M6IGV2ZUBldmlsLmV4YW1wbGU=?=',
    '=?utf-8?Q?=0D=0ABcc:_eve?=',
    'Eve <eve@evil.example>, Mallory',
    'Eve, "x" <y>;',
    `${'Ë'.repeat(59)}`,
    '\u202Eeve',
  ];

  let mailbox: Mailbox;
  let service: InProcess;
  beforeAll(async () => {
    mailbox = await openMailbox();
    service = await startInProcess({ env: { SMTP_URL: mailbox.url } });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await mailbox[Symbol.asyncDispose]();
  });

  /** Splits an email into its headers, with continuation lines joined, and its body. */
  function partsOf(raw: string) {
    const end = raw.indexOf('\r\n\r\n');
    const fields = raw
      .slice(0, end)
      .replaceAll(/\r\n[ \t]/g, ' ')
      .split('\r\n');
    return { fields: fields.map((field) => field.split(':')[0]), body: raw.slice(end + 4) };
  }

  test('has only these headers, goes to one recipient, and ends at its own end', async () => {
    const made = await createOrganization({}, { on: service });
    const { owner, organization } = made;
    let taken = 0;
    for (const [i, name] of NAMES.entries()) {
      const named = await owner.rest('PATCH', '/realm', { name });
      const leaver = await made.signUp(`Leaver ${'x'.repeat(i + 1)}`);
      const renamed = await leaver.rest('PATCH', '/settings', { full_name: name });
      taken += [named, renamed].filter(({ status }) => status === 200).length;
      const wanted = `leaver${i}@new.example`;
      await leaver.ok('PATCH', '/settings', { email: wanted });
      await owner.ok('DELETE', `/users/${leaver.id}`, { deactivation_notification_comment: name });
      const before = mailbox.mails.length;
      await service.mail.sendDue();
      const mails = mailbox.mails.slice(before);
      expect(mails.map(({ to }) => to)).toEqual([[leaver.email], [wanted], [leaver.email]]);
      for (const { raw } of mails) {
        const { fields, body } = partsOf(raw);
        expect(fields.toSorted(), name).toEqual(HEADERS.toSorted());
        // A bare CR, a bare LF or a null byte would end a line or the email early.
        expect(raw, name).not.toMatch(/[^\r]\n|\r[^\n]|\0/);
        const text = body.replaceAll('=\r\n', '');
        expect(text, name).toMatch(
          /has been deactivated|takes effect when the new address is confirmed|contact the administrators of|The address is then not used/,
        );
        // The comment of an administrator may contain several lines. Names may not.
        const [withoutComment = ''] = text.split('have added this comment:');
        expect(withoutComment, name).not.toMatch(/^(Bcc|MAIL|RCPT|\.)/m);
      }
    }
    expect(taken).toBeGreaterThan(5);
    expect(organization.name).not.toBe('');
    expect(mailbox.mails.some(({ to }) => to.some((address) => address.includes('evil')))).toBe(false);
  });

  test('is refused for an address list, or an address with a line break', async () => {
    const { member } = await createOrganization({}, { on: service });
    for (const email of [
      ...[
        'a@b.example\r\nBcc: c@d.example',
        'a@b.example,c@d.example',
        '<a@b.example>',
        '"a b"@c.example',
        'a@[127.0.0.1]',
      ],
      ...[
        'a@b.example\u2028c',
        'a\u0085@b.example',
        'a@b.example>',
        'a@b.example SIZE=1',
        '=?utf-8?Q?eve=40evil.example=3e=00?=@b.example',
      ],
    ]) {
      const { status, body } = await member.rest('PATCH', '/settings', { email });
      expect([status, body.msg], email).toEqual([400, 'Bad name or username']);
    }
  });
});

test('the configuration refuses an invalid server URL, and a sender with a line break', () => {
  expect(() => readConfig({ SMTP_URL: 'http://mail.example' })).toThrow('SMTP_URL');
  expect(() => readConfig({ MAIL_FROM: 'a@b.example\nBcc: c@d.example' })).toThrow('MAIL_FROM');
});
