import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createMigratedDatabase } from '../helpers/database.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess, startInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';
import { aroundStatements } from '../helpers/statements.ts';
import { channelOf, messagesIn } from '../helpers/talk.ts';

// Tests the SQL statement that sends concurrent messages of several organizations. Its result must equal that of separate
// statements.

const { DATABASE_URL } = process.env;

/** Returns whether a statement sends messages of several organizations. */
const isShared = (sql: string, [input]: readonly unknown[]): boolean =>
  sql.includes('write_messages(') && (JSON.parse(String(input)) as Json[]).length > 1;

let server: InProcess;
beforeAll(async () => {
  server = await shareInProcess({ counts: true });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Creates an organization with a user, a channel with one message, and a queue. */
async function scene(on = server) {
  const { owner, administrator, organization } = await createOrganization({}, { on });
  const to = await channelOf(owner, 'square', [owner]);
  await owner.ok('POST', '/messages', { type: 'channel', to, topic: 'a', content: 'first' });
  const { queue_id, last_event_id } = await owner.register({ fetch_event_types: [] });
  return {
    ...{ owner, administrator, organization, to },
    async heard() {
      const events = messagesIn(await owner.poll(queue_id, last_event_id, { dontBlock: true }));
      return events.map(({ id, message }) => ({ event: id - last_event_id, content: message.content }));
    },
    say: (content: string, channel = to) =>
      owner.rest('POST', '/messages', { type: 'channel', to: channel, topic: 'a', content }),
  };
}

const scenes = (count: number, on = server) => Promise.all(Array.from({ length: count }, () => scene(on)));

/** Returns how many statements that send messages of several organizations run during `work`. */
async function sharedDuring(work: () => Promise<unknown>): Promise<number> {
  let shared = 0;
  const mend = aroundStatements(server.app, (run, sql, values) => {
    if (isShared(sql, values)) shared++;
    return run();
  });
  await work().finally(mend);
  return shared;
}

test('concurrent messages of many organizations take few statements, each in the order of its organization', async () => {
  const all = await scenes(12);
  const shared = await sharedDuring(async () => {
    for (let i = 0; i < 5; i++) {
      const replies = await Promise.all(all.map(({ say }, n) => say(`${n}.${i}`)));
      expect(replies.map(({ status }) => status)).toEqual(all.map(() => 200));
    }
  });
  expect(shared).toBeGreaterThan(0);
  expect(shared).toBeLessThan((12 * 5) / 2);
  for (const [n, { heard }] of all.entries()) {
    expect(await heard()).toEqual([0, 1, 2, 3, 4].map((i) => ({ event: i + 1, content: `${n}.${i}` })));
  }
});

test('a failure in one organization does not affect the others', async () => {
  const all = await scenes(8);
  const [first, ...others] = all;
  const { owner, administrator, to, say } = first ?? (await scene());
  const closed = await channelOf(owner, 'closed', [owner]);
  // Archives the channel after the message was prepared and before the statement runs. Another account archives it: while the
  // process is overloaded, a second request of the sender would wait for the first one.
  const mend = aroundStatements(server.app, async (run, sql, values) => {
    if (!isShared(sql, values)) return run();
    mend();
    await administrator.ok('DELETE', `/streams/${closed}`);
    return run();
  });
  onTestFinished(mend);
  const [refused, sent, ...replies] = await Promise.all([
    say('late', closed),
    say('in time', to),
    ...others.map((other, n) => other.say(`of ${n}`)),
  ]);
  expect([refused.status, sent.status]).toEqual([400, 200]);
  expect(replies.map(({ status }) => status)).toEqual(others.map(() => 200));
  expect((await first?.heard())?.map(({ content }) => content)).toEqual(['in time']);
});

/**
 * Errors with which the database refuses a message, by code: those that the shared statement expects, and one that it does not.
 */
const REFUSALS = {
  data: '22023',
  constraint: '23514',
  conflict: '40001',
  limit: '54000',
  lock: '55P03',
  other: 'XX001',
};

test.for(Object.entries(REFUSALS))(
  'a message that fails by an error of kind %s does not fail its batch',
  async ([, code]) => {
    const all = await scenes(5);
    const [first, ...others] = all;
    await server.app.database.runScript(`
    CREATE FUNCTION refuse_message() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.content = 'refused' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER refuse_message BEFORE INSERT ON message FOR EACH ROW EXECUTE FUNCTION refuse_message()`);
    try {
      const shared = await sharedDuring(async () => {
        const [refused, ...replies] = await Promise.all([
          first?.say('refused'),
          ...others.map(({ say }) => say('sent')),
        ]);
        expect(refused?.status).toBeGreaterThan(399);
        expect(replies.map(({ status }) => status)).toEqual(others.map(() => 200));
      });
      expect(shared).toBeGreaterThan(0);
    } finally {
      await server.app.database.runScript('DROP TRIGGER refuse_message ON message; DROP FUNCTION refuse_message');
    }
    for (const { heard } of others) expect((await heard()).map(({ content }) => content)).toEqual(['sent']);
    expect(await first?.heard()).toEqual([]);
  },
);

test('after a lost reply, each organization finds its messages, and none is sent twice', async () => {
  const all = await scenes(6);
  // The connection breaks twice: first before the statement has run, then after it has run.
  let losses = 2;
  const mend = aroundStatements(server.app, async (run, sql, values) => {
    if (losses === 0 || !isShared(sql, values)) return run();
    if (--losses === 0) await run();
    throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  });
  onTestFinished(mend);
  const replies = await Promise.all(all.map(({ say }) => say('once')));
  expect([losses, ...replies.map(({ status }) => status)]).toEqual([0, ...all.map(() => 200)]);
  for (const { heard } of all) expect((await heard()).map(({ content }) => content)).toEqual(['once']);
});

test('a used key repeats its reply beside new ones, and a key used twice concurrently acts once', async () => {
  const all = await scenes(6);
  const ask = ({ owner, to }: Awaited<ReturnType<typeof scene>>, key: string) =>
    owner.rest(
      'POST',
      '/messages',
      { type: 'channel', to, topic: 'a', content: key },
      { headers: { 'idempotency-key': key } },
    );
  const [used, twice, ...others] = all as [(typeof all)[0], (typeof all)[0], ...typeof all];
  const before = await ask(used, 'used');
  const shared = await sharedDuring(async () => {
    const [again, first, second, ...replies] = await Promise.all([
      ...[ask(used, 'used'), ask(twice, 'twice'), ask(twice, 'twice')],
      ...others.map((other) => ask(other, 'new')),
    ]);
    expect([again?.status, again?.body.id]).toEqual([200, before.body.id]);
    expect([first?.status, second?.status, second?.body.id]).toEqual([200, 200, first?.body.id]);
    expect(replies.map(({ status }) => status)).toEqual(others.map(() => 200));
  });
  expect(shared).toBeGreaterThan(0);
  const heard = await Promise.all(all.map((one) => one.heard()));
  expect(heard.map((messages) => messages.map(({ content }) => content))).toEqual([
    ...[['used'], ['twice']],
    ...others.map(() => ['new']),
  ]);
});

/** Delays the first statement that sends messages, until `end` is called. */
function holdFirst({ app }: InProcess) {
  const { promise: letGo, resolve: end } = Promise.withResolvers<void>();
  const sent: { readonly isShared: boolean }[] = [];
  const mend = aroundStatements(app, async (run, sql, values) => {
    if (!sql.includes('write_messages(')) return run();
    sent.push({ isShared: isShared(sql, values) });
    if (sent.length === 1) await letGo;
    return run();
  });
  onTestFinished(mend);
  onTestFinished(() => end());
  return { sent, end };
}

test.skipIf(DATABASE_URL === undefined)('a slow statement does not delay later messages', async () => {
  await using database = await createMigratedDatabase(DATABASE_URL ?? '');
  await using service = await startInProcess({
    env: { DATABASE_URL: database.url, SECRET_KEY: 'in process '.repeat(4) },
  });
  const [first, ...others] = await scenes(5, service);
  const { sent, end } = holdFirst(service);
  const late = first?.say('late');
  await expect.poll(() => sent.length).toBe(1);
  const replies = await Promise.all(others.map(({ say }) => say('at once')));
  expect(replies.map(({ status }) => status)).toEqual(others.map(() => 200));
  end();
  expect((await late)?.status).toBe(200);
});

test('messages that would wait are batched', async () => {
  const [first, ...others] = await scenes(7);
  const { sent, end } = holdFirst(server);
  const replies = [first?.say('first')];
  await expect.poll(() => sent.length).toBe(1);
  for (const { say } of others) {
    replies.push(say('later'));
    // Waits longer than the service waits for further messages of a batch.
    await sleep(20);
  }
  await sleep(50);
  end();
  expect((await Promise.all(replies)).map((reply) => reply?.status)).toEqual(replies.map(() => 200));
  expect(sent[1]?.isShared).toBe(true);
  // Messages that arrive late can be in a third statement.
  expect(sent.length).toBeLessThan(4);
});

/**
 * Statements with which another session locks rows of an organization: its event counter, for which all writes of the
 * organization wait, or its channels.
 */
const HELD = {
  'whose log': 'SELECT FROM event_counter WHERE realm_id = $1 FOR UPDATE',
  'one of whose channels': 'SELECT FROM channel WHERE realm_id = $1 FOR UPDATE',
};

test.skipIf(DATABASE_URL === undefined).for(Object.entries(HELD))(
  'an organization %s another session holds waits alone, and is sent afterwards',
  async ([, hold]) => {
    await using database = await createMigratedDatabase(DATABASE_URL ?? '');
    await using service = await startInProcess({
      env: { DATABASE_URL: database.url, SECRET_KEY: 'in process '.repeat(4) },
    });
    const [held, ...others] = await scenes(6, service);
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query(hold, [held?.organization.id]);
    let isSent = false;
    const waiting = held?.say('after').then(({ status }) => {
      isSent = true;
      return status;
    });
    for (let i = 0; i < 3; i++) {
      const replies = await Promise.all(others.map(({ say }) => say(`while ${i}`)));
      expect(replies.map(({ status }) => status)).toEqual(others.map(() => 200));
    }
    await sleep(50);
    expect(isSent).toBe(false);
    await holder.query('COMMIT');
    expect(await waiting).toBe(200);
    expect((await held?.heard())?.map(({ content }) => content)).toEqual(['after']);
    await holder.end();
  },
);
