import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createMigratedDatabase } from '../helpers/database.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../helpers/database-proxy.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, startServer } from '../helpers/server.ts';
import { channelOf, messagesIn } from '../helpers/talk.ts';

const { DATABASE_URL } = process.env;
const SENDERS = 40;
const MESSAGES_EACH = 15;

/** Reads all messages of an event queue, page by page. @returns Their contents. */
async function contentsOf(person: Person, { queue_id, last_event_id }: Json): Promise<string[]> {
  const contents: string[] = [];
  for (let known = last_event_id; ; ) {
    const events = await person.poll(queue_id, known, { dontBlock: true });
    if (events.length === 0) return contents;
    contents.push(...messagesIn(events).map(({ message }) => String(message.content)));
    known = events.at(-1)?.id;
  }
}

describe.skipIf(DATABASE_URL === undefined)('many concurrent senders', () => {
  const stack = new AsyncDisposableStack();
  let proxy: DatabaseProxy;
  let server: ServerProcess;

  beforeAll(async () => {
    const database = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
    proxy = stack.use(await startDatabaseProxy(database.url));
    const env = {
      ...{ DATABASE_URL: proxy.url, SECRET_KEY: randomBytes(32).toString('hex') },
      ...{ RATE_LIMIT_PER_USER: 'off', RATE_LIMIT_PER_IP: 'off' },
    };
    server = stack.use(await startServer({ env }));
  });
  afterAll(() => stack.disposeAsync());

  /**
   * Repeatedly drops the replies of the database, then closes its connections, while `isGoingOn` returns true. Waits after each
   * time until a message was sent, because a slow machine needs longer to connect to the database again.
   *
   * @param sentCount Returns the number of messages that were sent.
   * @returns How often it did so.
   */
  async function cutWhile(isGoingOn: () => boolean, sentCount: () => number): Promise<number> {
    let cuts = 0;
    while (isGoingOn()) {
      proxy.swallow();
      await sleep(30);
      proxy.mend();
      cuts++;
      const before = sentCount();
      do await sleep(200);
      while (isGoingOn() && sentCount() === before);
    }
    return cuts;
  }

  /** Creates an organization with a channel and two users who send messages. The owner has a queue that receives them. */
  async function scene() {
    const { owner, member } = await createOrganization({}, { on: server });
    const to = await channelOf(owner, 'rush', [owner, member]);
    return { owner, member, to, queue: await owner.register({ fetch_event_types: [] }) };
  }

  test.for([
    [1, false],
    [1, true],
    [8, false],
    [8, true],
  ] as const)(
    'in %i organizations send each message once, while replies of the database are lost (under keys: %s)',
    async ([count, isKeyed]) => {
      const scenes = await Promise.all(Array.from({ length: count }, scene));
      const outcomes = new Map<string, { status: number; msg: string }>();
      const statuses: number[] = [];
      const write = async (sender: number) => {
        for (let i = 0; i < MESSAGES_EACH; i++) {
          const content = `${sender}.${i}`;
          // The cast is needed because TypeScript does not know that the element exists.
          const { owner, member, to } = scenes[sender % count] as Awaited<ReturnType<typeof scene>>;
          const person = Math.floor(sender / count) % 2 === 0 ? owner : member;
          const message = { type: 'channel', to, topic: 'rush', content };
          const options = isKeyed ? { headers: { 'idempotency-key': content } } : {};
          const { status, body } = await person.rest('POST', '/messages', message, options);
          outcomes.set(content, { status, msg: body.msg });
          statuses.push(status);
          // With an idempotency key, the request is repeated until it succeeds.
          if (isKeyed && status !== 200) {
            i--;
            await sleep(50);
          }
        }
      };
      let isOver = false;
      const cutting = cutWhile(
        () => !isOver,
        () => statuses.filter((status) => status === 200).length,
      );
      await Promise.all(Array.from({ length: SENDERS }, (_, sender) => write(sender)));
      isOver = true;
      expect(await cutting).toBeGreaterThan(0);
      const sent = (await Promise.all(scenes.map(({ owner, queue }) => contentsOf(owner, queue)))).flat();
      expect(sent.length).toBe(new Set(sent).size);
      const known = new Set(sent);
      const isUnknown = (msg: string) => /may have been (sent|done)/.test(msg);
      const wrong = [...outcomes].filter(
        ([content, { status, msg }]) => (status === 200) !== known.has(content) && !isUnknown(msg),
      );
      expect(wrong).toEqual([]);
      expect(statuses).not.toContain(500);
      expect([...outcomes.values()].filter(({ status }) => status === 200).length).toBeGreaterThan(SENDERS);
    },
  );
});
