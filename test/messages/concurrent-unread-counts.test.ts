import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readUnread } from '../../src/messages/flags/unread.ts';
import { countUnreadInTopics, countUnreadOfEach } from '../../src/messages/flags/unread-counts.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { DATABASE_URL } = process.env;

/** These tests are skipped on the embedded database, which has only one connection, so that nothing runs concurrently. */
describe.skipIf(DATABASE_URL === undefined || DATABASE_URL === '')(
  'messages that are counted while they change',
  () => {
    let service: InProcess;
    beforeAll(async () => {
      service = await startOnDatabaseOfRun();
    });
    afterAll(() => service?.[Symbol.asyncDispose]());

    async function deadlocks(): Promise<number> {
      await service.app.db.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
      const [row] = await service.app.db.$queryRaw<{ count: number }[]>`
      SELECT deadlocks::int AS count FROM pg_stat_database WHERE datname = current_database()`;
      return row?.count ?? 0;
    }

    async function tallied(organizationId: number): Promise<bigint | undefined> {
      const [row] = await service.app.db.$queryRaw<{ id: bigint }[]>`
      SELECT through_id AS id FROM message_tally WHERE realm_id = ${organizationId}`;
      return row?.id;
    }

    async function scene() {
      const { owner, administrator, moderator, organization } = await createOrganization({}, { on: service });
      const people = [owner, administrator, moderator];
      const channels = [await channelOf(owner, 'one', people), await channelOf(owner, 'two', people)];
      return { owner, people, organization, channels };
    }

    /**
     * Updates the stored message counts continuously, a few messages at a time.
     *
     * @returns A function that stops the updates.
     */
    function counting(organizationId: number): () => Promise<void> {
      let isOver = false;
      const working = (async () => {
        while (!isOver) {
          await service.app.db.$queryRaw`SELECT tally_messages(${organizationId}::int, 7) AS more`;
          await new Promise(setImmediate);
        }
      })();
      return async () => {
        isOver = true;
        await working;
      };
    }

    async function expectCounted(organizationId: number, people: readonly Person[], channels: readonly number[]) {
      const { db } = service.app;
      const counted = await countUnreadOfEach(
        db,
        organizationId,
        people.map(({ id }) => id),
      );
      for (const { id: userId } of people) {
        const { groups } = await readUnread(db, { organizationId, userId });
        const sumOf = (channelId: number, topic?: string) =>
          groups
            .filter((group) => group.channelId === channelId && (topic ?? group.topic) === group.topic)
            .reduce((sum, { ids }) => sum + ids.length, 0);
        const byChannel = channels.map(
          (id) => (counted.get(userId) ?? []).find(({ channelId }) => channelId === id)?.count ?? 0,
        );
        expect(byChannel).toEqual(channels.map((id) => sumOf(id)));
        const places = channels.flatMap((channelId) =>
          ['a', 'b'].map((topic) => ({ userId, channelId, conversationId: null, topic })),
        );
        expect(await countUnreadInTopics(db, organizationId, places)).toEqual(
          places.map(({ channelId, topic }) => sumOf(channelId, topic)),
        );
      }
    }

    test('are counted once, without deadlocks between changes', async () => {
      const { people, organization, channels } = await scene();
      const stop = counting(organization.id);
      const known: number[] = [];
      const before = await deadlocks();
      const act = async (person: Person, i: number): Promise<void> => {
        const to = channels[i % 2] as number;
        const topic = i % 3 === 0 ? 'a' : 'b';
        const some = () => known[Math.floor(Math.random() * known.length)] ?? 0;
        const kind = i % 9;
        if (kind < 4) known.push(await say(person, to, topic));
        else if (kind < 7) {
          const move = { stream_id: to, topic, propagate_mode: i % 4 === 0 ? 'change_later' : 'change_one' };
          const quiet = { send_notification_to_old_thread: false, send_notification_to_new_thread: false };
          await person.rest('PATCH', `/messages/${some()}`, { ...move, ...quiet });
        } else if (kind === 7) await person.rest('DELETE', `/messages/${some()}`);
        else await person.rest('POST', '/messages/flags', { messages: [some(), some()], op: 'add', flag: 'read' });
      };
      for (let i = 0; i < 40; i++) await act(people[i % 3] as Person, i % 4);
      const lanes = Array.from({ length: 8 }, async (_, lane) => {
        for (let i = 0; i < 60; i++) await act(people[lane % 3] as Person, lane * 5 + i);
      });
      await Promise.all(lanes);
      await stop();
      expect(await tallied(organization.id)).toBeGreaterThan(0n);
      await expectCounted(organization.id, people, channels);
      expect((await deadlocks()) - before).toBe(0);
    });

    test('can be moved between two channels in both directions without a deadlock', async () => {
      const { owner, people, organization, channels } = await scene();
      const [one, two] = channels as [number, number];
      const { db } = service.app;
      // Channel `one` contains the messages `there`, and channel `two` the messages `back`. Of each pair, one message was sent
      // in the other channel.
      const there = [await say(owner, one, 'a'), await say(owner, two, 'a')];
      const back = [await say(owner, two, 'a'), await say(owner, one, 'a')];
      await db.$executeRaw`UPDATE message SET channel_id = ${one} WHERE id = ${there[1]}`;
      await db.$executeRaw`UPDATE message SET channel_id = ${two} WHERE id = ${back[1]}`;
      await db.$queryRaw`SELECT tally_messages(${organization.id}::int, 1000) AS more`;
      const [holding, ...moving] = await Promise.all([1, 2, 3].map(() => connect()));
      // The lock makes both moves wait, so that both have started before either continues.
      await holding?.query('BEGIN');
      await holding?.query("SELECT FROM message_count WHERE recipient_id = $1 AND key = '' FOR UPDATE", [one * 2]);
      const waiting = async () => {
        const [row] = await db.$queryRaw<{ count: number }[]>`
        SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE message SET channel_id%'`;
        return row?.count;
      };
      const move = (i: number, ids: readonly number[], to: number) =>
        moving[i]?.query('UPDATE message SET channel_id = $1 WHERE id = ANY($2)', [to, ids]);
      const moves = Promise.all([move(0, there, two), move(1, back, one)]);
      const moved = expect(moves).resolves.toHaveLength(2);
      await expect.poll(waiting).toBe(2);
      await holding?.query('COMMIT');
      await moved;
      await expectCounted(organization.id, people, channels);
    });

    /** Opens a separate database connection, which is closed at the end of the test. */
    async function connect(): Promise<pg.Client> {
      const client = new pg.Client({ connectionString: service.app.config.databaseUrl });
      await client.connect();
      onTestFinished(() => client.end());
      return client;
    }

    test('are also counted in organizations that nodes of the previous version created', async () => {
      const { db } = service.app;
      const { id } = await db.organization.create({
        data: { subdomain: 'before', name: 'Before', createdAt: new Date() },
      });
      expect(await tallied(id)).toBe(0n);
      await db.organization.delete({ where: { id } });
    });
  },
);
