import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createMigratedDatabase } from '../helpers/database.ts';
import { startDatabaseProxy } from '../helpers/database-proxy.ts';
import { Person } from '../helpers/person.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const { DATABASE_URL } = process.env;
const SELECTION = 'position ... on DraftsAddedEvent { drafts { content } }';
const saveDraft = (person: Person, content: string) =>
  person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });

describe.skipIf(DATABASE_URL === undefined)('a node that the database no longer answers', () => {
  test('is not ready and closes its streams: clients resume at another node, and later at this one', {
    timeout: 120_000,
  }, async () => {
    await using database = await createMigratedDatabase(DATABASE_URL ?? '');
    await using proxy = await startDatabaseProxy(database.url);
    const env = { SECRET_KEY: randomBytes(32).toString('hex'), EVENT_HEARTBEAT_SECONDS: '60' };
    await using whole = await startServer({ env: { ...env, DATABASE_URL: database.url } });
    await using cut = await startServer({ env: { ...env, DATABASE_URL: proxy.url } });
    const { member: there, organization } = await createOrganization({}, { on: whole });
    const here = new Person({ url: cut.url, host: `${organization.subdomain}.localhost:${cut.port}` }, there);
    const { queue_id: queueId } = await here.register({ fetch_event_types: [] });
    const { queue_id: polled, last_event_id: position } = await here.register({ fetch_event_types: [] });
    await using socket = await here.events(SELECTION, { queueId });
    await using sse = await here.events(SELECTION, { transport: 'sse' });
    await using neighbour = await there.events(SELECTION);
    await saveDraft(there, 'before');
    for (const stream of [socket, sse, neighbour]) {
      expect(await stream.next()).toMatchObject({ drafts: [{ content: 'before' }] });
    }
    const poll = here.poll(polled, position + 1).catch(() => []);
    proxy.swallow();
    expect(await socket.ended).toMatchObject({ how: 'closed', code: 1013 });
    expect(await sse.ended).toMatchObject({ how: 'closed' });
    // The node can also refuse the poll as unavailable, if the poll had not started to wait. Then it has no events either.
    expect(await poll).toEqual([]);
    expect((await fetch(`${cut.url}/readyz`)).status).toBe(503);
    await saveDraft(there, 'meanwhile');
    await using resumed = await there.events(SELECTION, { queueId, after: socket.lastId });
    for (const stream of [neighbour, resumed]) {
      expect(await stream.next()).toMatchObject({ drafts: [{ content: 'meanwhile' }] });
    }
    proxy.mend();
    await expect
      .poll(async () => (await fetch(`${cut.url}/readyz`)).status, { timeout: 40_000, interval: 500 })
      .toBe(200);
    await using back = await here.events(SELECTION);
    await saveDraft(there, 'after');
    expect(await back.next()).toMatchObject({ drafts: [{ content: 'after' }] });
  });
});
