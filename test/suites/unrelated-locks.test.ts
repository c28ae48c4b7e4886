import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holdRoles, lockChannels, lockDefaultChannels, lockNewChannels } from '../../src/channels/locks.ts';
import { bumpCounter } from '../../src/events/append.ts';
import { transact } from '../../src/events/log.ts';
import { lockOrganization, lockUser } from '../../src/people/locks.ts';
import type { Tx } from '../../src/platform/db/client.ts';
import { isOrganizationHeld } from '../../src/platform/db/organization-lock.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { type InProcess, startInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, type Organization } from '../helpers/server.ts';
import { channelOf } from '../helpers/talk.ts';

const { DATABASE_URL } = process.env;

// Skipped on the embedded database, because all requests use its only connection and wait for each other.
describe.skipIf(DATABASE_URL === undefined)('during an unrelated change', () => {
  const stack = new AsyncDisposableStack();
  let service: InProcess;
  let people: Organization;
  let channelId: number;
  beforeAll(async () => {
    const { url } = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
    service = stack.use(await startInProcess({ env: { DATABASE_URL: url, SECRET_KEY: 'x'.repeat(32) } }));
    people = await createOrganization({}, { on: service });
    channelId = await channelOf(people.owner, 'general', [people.owner, people.member]);
  });
  afterAll(() => stack.disposeAsync());

  const mute = (person: Person) =>
    person.ok('PATCH', '/users/me/subscriptions/muted_topics', { stream_id: channelId, topic: 'x', op: 'add' });
  const register = (person: Person) => person.register({ fetch_event_types: [] });

  test.for<[string, (tx: Tx) => Promise<void>, (person: Person) => Promise<unknown>]>([
    ['a topic is muted: as channels are made', (tx) => lockNewChannels(tx, people.organization.id), mute],
    ['a topic is muted: as default channels are set', (tx) => lockDefaultChannels(tx, people.organization.id), mute],
    [
      'a queue is registered: as the same user changes something',
      (tx) => lockUser(tx, { organizationId: people.organization.id, id: people.member.id }),
      register,
    ],
  ])('%s', async ([, hold, work]) => {
    await transact({ work: service.app.work, organizationId: people.organization.id }, async (tx) => {
      await hold(tx);
      expect(await work(people.member)).toMatchObject({ result: 'success' });
    });
  });

  test.for<[string, boolean, (tx: Tx) => Promise<unknown>]>([
    ['its event counter', true, (tx) => bumpCounter(tx, people.organization.id)],
    ['its own row', true, (tx) => lockOrganization(tx, people.organization.id)],
    [
      'one of its people',
      false,
      (tx) => lockUser(tx, { organizationId: people.organization.id, id: people.member.id }),
    ],
    ['one of its channels', false, (tx) => lockChannels(tx, people.organization.id, [channelId])],
    ['the roles, which several transactions can hold', false, (tx) => holdRoles(tx, people.organization.id)],
    [
      'the counter of another',
      false,
      async (tx) => bumpCounter(tx, (await createOrganization({}, { on: service })).organization.id),
    ],
  ])('an organization is locked as a whole, or not, by a change that holds %s', async ([, isHeld, hold]) => {
    const { app } = service;
    const organizationId = people.organization.id;
    await app.db.$transaction(
      async (tx) => {
        await hold(tx);
        expect(await isOrganizationHeld(app.db, organizationId)).toBe(isHeld);
      },
      { timeout: 10_000 },
    );
    expect(await isOrganizationHeld(app.db, organizationId)).toBe(false);
  });

  test('pings of an organization that wait for a lock leave connections to others', async () => {
    const { app } = service;
    const neighbour = (await createOrganization({}, { on: service })).member;
    const ping = () => people.member.rest('POST', '/users/me/presence', { status: 'active', ping_only: true });
    await ping();
    // Makes the last activity so old that a ping is stored.
    await app.db.$executeRaw`
      UPDATE presence SET idle_at = now() - interval '1 minute', active_at = now() - interval '1 minute'`;
    let ended = 0;
    const pings = await transact({ work: app.work, organizationId: people.organization.id }, async (tx) => {
      await tx.$queryRaw`SELECT 1 AS held FROM presence_counter WHERE realm_id = ${people.organization.id} FOR UPDATE`;
      const waiting = Array.from({ length: 2 * app.config.databasePoolSize }, () => ping().finally(() => ended++));
      await sleep(500);
      await neighbour.ok('GET', '/users/me');
      expect(ended).toBe(0);
      return waiting;
    });
    for (const { status } of await Promise.all(pings)) expect(status).toBe(200);
  });
});
