// A process that commits events for the trials in commits.ts. It uses `transact`, as a node of the service does.
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { App } from '../../src/access/context.ts';
import { users } from '../../src/events/audience.ts';
import { openBus } from '../../src/events/bus.ts';
import { transact } from '../../src/events/log.ts';
import { draftsAdded } from '../../src/messages/drafts/events.ts';
import { readConfig } from '../../src/platform/config.ts';
import type { Tx } from '../../src/platform/db/client.ts';
import { openDatabase } from '../../src/platform/db/client.ts';
import { between, type Random, seeded } from './random.ts';

/** Parameters of a process that commits events. */
export interface Orders {
  readonly databaseUrl: string;
  readonly seed: number;
  readonly events: number;
  /** The user who makes every change and receives every event. */
  readonly readerId: number;
  /** A user who receives only one event in `quietEvery`: an event about a draft of their own. */
  readonly quietId: number;
  readonly quietEvery: number;
  /** Longest pause between two changes, in milliseconds. */
  readonly pauseMs: number;
  /** Ids of channels. Some changes lock two of these channels' rows, in random order. */
  readonly channelIds: readonly number[];
}

/** Result of a process that committed events. */
export interface Done {
  readonly committed: number;
  readonly failures: readonly string[];
  readonly retries: number;
}

/**
 * Opens the database and the event bus, which are all that a change needs. The process notifies the nodes about its events but
 * has no subscribers.
 */
async function openNode(databaseUrl: string): Promise<{ app: App; close(): Promise<void> }> {
  const { REDIS_URL } = process.env;
  const secret = { SECRET_KEY: 'x'.repeat(32), DATABASE_POOL_SIZE: '2' };
  const config = readConfig({ REDIS_URL, DATABASE_URL: databaseUrl, ...secret });
  const database = await openDatabase(config);
  const bus = openBus(config, pino({ level: 'silent' }));
  const hub = { publish: (organizationId: number) => bus.publish(organizationId) };
  const app = { config, database, db: database.db, hub, now: () => new Date() };
  return {
    app: { ...app, work: { app } } as unknown as App,
    async close() {
      // The bus delays its last notification to batch it with others, so it is not closed immediately.
      await sleep(50);
      await bus.close();
      await database.close();
    },
  };
}

async function commitAll(orders: Orders): Promise<Done> {
  const random = seeded(orders.seed);
  const { app, close } = await openNode(orders.databaseUrl);
  const reader = await app.db.user.findFirstOrThrow({
    where: { id: orders.readerId },
    include: { organization: true },
  });
  const failures: string[] = [];
  let [committed, runs] = [0, 0];
  for (let i = 0; i < orders.events; i++) {
    const quiet = random() < 1 / orders.quietEvery;
    try {
      await transact({ work: app.work, organizationId: reader.organizationId }, async (tx, emit) => {
        runs++;
        await waitAndLock(tx, orders, random);
        const author = { organizationId: reader.organizationId, authorId: quiet ? orders.quietId : reader.id };
        const content = `of the process with seed ${orders.seed}: ${i}`;
        const draft = await tx.draft.create({
          data: { ...author, type: '', to: [], topic: '', content, lastEditedAt: new Date() },
        });
        const audience = users(quiet ? [reader.id, orders.quietId] : [reader.id]);
        // In 3 % of the changes, the transaction commits some milliseconds after its event ids were assigned.
        const late = random() < 0.03 ? between(random, 1, 15) : 0;
        emit(draftsAdded([draft], reader.organization), audience, () => sleep(late));
      });
      committed++;
    } catch (error) {
      failures.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
    }
    await sleep(between(random, 0, orders.pauseMs));
  }
  await close();
  return { committed, failures, retries: runs - orders.events };
}

/** Waits for a random time. In 20 % of the changes, first locks two rows in random order, so that changes can deadlock. */
async function waitAndLock(tx: Tx, { channelIds }: Orders, random: Random): Promise<void> {
  if (random() < 0.2) {
    for (const id of [0, 0].map(() => channelIds[between(random, 0, channelIds.length)] ?? 0)) {
      await tx.$queryRaw`SELECT 1 FROM channel WHERE id = ${id} FOR NO KEY UPDATE`;
      await sleep(between(random, 0, 3));
    }
  }
  await sleep(between(random, 0, 6));
}

process.on('disconnect', () => process.exit());
process.once('message', async (orders: Orders) => {
  const done = await commitAll(orders);
  process.send?.(done, () => process.exit());
});
