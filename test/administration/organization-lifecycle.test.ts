import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eraseDueOrganizations } from '../../src/administration/organization-lifecycle/service.ts';
import { runCommand } from '../helpers/control.ts';
import { type Json, send } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { basic, Visitor } from '../helpers/person.ts';
import { makeScene } from '../helpers/scene.ts';
import { createOrganization, OWNER_PASSWORD } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

const DAY = 86_400_000;
let clock = Date.now() + 60_000;
let service: InProcess;

beforeAll(async () => {
  service = await startOnDatabaseOfRun({ env: { EVENT_HEARTBEAT_SECONDS: '1' }, now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });
const run = (name: string, args: object) => runCommand(service.dataDir, name, args) as Promise<Json>;
const refusalOf = (name: string, args: object) => run(name, args).then(String, (error: Error) => error.message);

const SUSPENDED = 'REALM_DEACTIVATED';

describe('org suspend', () => {
  test('refuses requests over all transports, ends open connections, and changes no data', async () => {
    const [{ owner, organization, anonymous }, other] = [await place(), await place()];
    const at = { org: organization.subdomain };
    const { queue_id } = await owner.ok('POST', '/register', { event_types: ['message'] });
    const poll = owner.rest('GET', '/events', { queue_id, last_event_id: -1 });
    const socket = new WebSocket(`${owner.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    const [messages, closed]: [Json[], { code?: number }] = [[], {}];
    socket.addEventListener('message', ({ data }) => messages.push(JSON.parse(String(data))));
    socket.addEventListener('close', ({ code }) => Object.assign(closed, { code }));
    await new Promise((resolve) => socket.addEventListener('open', resolve));
    // The host of the URL is the root domain. So the stream over HTTP below covers the organization.
    socket.close();
    const stream = send(owner.url, {
      method: 'POST',
      path: '/graphql',
      headers: { ...owner.headers, host: owner.host, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ query: 'subscription { events { __typename } }' }),
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await run('org suspend', at)).toMatchObject({ state: 'suspended' });
    expect((await poll).body.events ?? []).toEqual([]);
    expect((await stream).status).toBeGreaterThan(0);
    const rest = await owner.rest('GET', '/users/me');
    expect([rest.status, rest.body.code]).toEqual([401, SUSPENDED]);
    const graphql = await owner.graphql('{ viewer { id } }');
    expect(graphql.errors?.[0].extensions.code).toBe(SUSPENDED);
    const login = { username: owner.email, password: OWNER_PASSWORD };
    expect((await anonymous.rest('POST', '/fetch_api_key', login)).body.code).toBe(SUSPENDED);
    const again = await owner.rest('GET', '/events', { queue_id, last_event_id: -1, dont_block: true });
    expect(again.body.code).toBe(SUSPENDED);
    expect((await other.owner.rest('GET', '/users/me')).status).toBe(200);
    expect(await refusalOf('org suspend', at)).toContain('suspended already');
    expect((await run('org list', {})).find((one: Json) => one.subdomain === at.org).state).toBe('suspended');
    expect(await run('org resume', at)).toMatchObject({ state: 'active' });
    expect((await owner.rest('GET', '/users/me')).status).toBe(200);
    const rest2 = await owner.rest('GET', '/events', { queue_id, last_event_id: -1, dont_block: true });
    expect(rest2.status).toBe(200);
    expect(await refusalOf('org resume', at)).toContain('is not suspended');
  });
});

describe('org rename', () => {
  test('changes name and subdomain, notifies users, and refuses names in use', async () => {
    const [{ owner, organization }, other] = [await place(), await place()];
    const at = { org: organization.subdomain };
    const events = await owner.receiving({ event_types: ['realm'] });
    await run('org rename', { ...at, name: ' Acme Two ' });
    expect((await events())[0]).toMatchObject({ op: 'update_dict', data: { name: 'Acme Two' } });
    expect(await refusalOf('org rename', { ...at, subdomain: other.organization.subdomain })).toContain('is in use');
    expect(await refusalOf('org rename', { ...at, subdomain: 'A_b' })).toContain('Invalid subdomain');
    expect(await refusalOf('org rename', at)).toContain('A new name or a new subdomain is required');
    const subdomain = `renamed-${process.pid}`;
    expect(await run('org rename', { ...at, subdomain })).toMatchObject({ subdomain, name: 'Acme Two' });
    const port = new URL(owner.url).port;
    const there = new Visitor({
      url: owner.url,
      host: `${subdomain}.localhost:${port}`,
      authorization: basic(owner.email, owner.apiKey),
    });
    expect((await there.rest('GET', '/users/me')).body.user_id).toBe(owner.id);
    expect((await owner.rest('GET', '/users/me')).status).toBe(404);
  });
});

describe('org delete', () => {
  test('erases the organization after the grace period, and nothing of another one', async () => {
    const [scene, other] = [await makeScene({ on: service }), await place()];
    const { owner, organization } = scene;
    const at = { org: organization.subdomain };
    expect(await refusalOf('org delete', { ...at, days: 400 })).toContain('from 0 to 365');
    const printed = await run('org delete', { ...at, days: 10 });
    expect(printed).toMatchObject({ state: 'deleted', erased_at: new Date(clock + 10 * DAY).toISOString() });
    expect((await owner.rest('GET', '/users/me')).body.code).toBe(SUSPENDED);
    expect(await refusalOf('org resume', at)).toContain('org restore');
    clock += 10 * DAY - 1;
    await eraseDueOrganizations(service.app);
    expect(await run('org restore', at)).toMatchObject({ state: 'active' });
    expect((await owner.rest('GET', '/users/me')).status).toBe(200);
    expect(await refusalOf('org restore', at)).toContain('is not deleted');
    await run('org delete', { ...at, days: 0 });
    await Promise.all([1, 2].map(() => eraseDueOrganizations(service.app)));
    const rows = async (organizationId: number) => {
      const tables = await service.app.db.$queryRaw<{ name: string }[]>`
        SELECT c.relname::text AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'realm_id'
        WHERE c.relkind = 'r' AND c.relnamespace = quote_ident(current_schema())::regnamespace AND NOT a.attisdropped`;
      const found: string[] = [];
      for (const { name } of tables) {
        const [row] = await service.app.db.$queryRawUnsafe<{ n: number }[]>(
          `SELECT count(*)::int AS n FROM "${name}" WHERE realm_id = ${organizationId}`,
        );
        if ((row?.n ?? 0) > 0) found.push(name);
      }
      return found;
    };
    expect(await rows(organization.id)).toEqual([]);
    expect(await service.app.db.organization.findUnique({ where: { id: organization.id } })).toBeNull();
    expect((await owner.rest('GET', '/users/me')).status).toBe(404);
    expect((await other.owner.rest('GET', '/users/me')).status).toBe(200);
    expect((await rows(other.organization.id)).length).toBeGreaterThan(5);
    // The subdomain is free again.
    await createOrganization({}, { on: service, subdomain: organization.subdomain });
  });

  test('removes an organization whose first owner never came, with its link', async () => {
    const subdomain = `never-${process.pid}`;
    await run('org create', { subdomain, name: 'Never', ownerEmail: 'iris@acme.example' });
    expect((await run('org list', {})).find((one: Json) => one.subdomain === subdomain).state).toBe(
      'waits for its owner',
    );
    clock += 7 * DAY;
    await eraseDueOrganizations(service.app);
    expect(await service.app.db.organization.findUnique({ where: { subdomain } })).toBeNull();
  });
});

test('org usage prints figures of one organization, or of all', async () => {
  const { owner, organization } = await place();
  await owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content: 'hello' });
  await owner.ok('POST', '/users/me/presence', { status: 'active', ping_only: true });
  const usage = await run('org usage', { org: organization.subdomain });
  expect(usage).toMatchObject({
    ...{ realm_id: organization.id, people: 5, people_active_30_days: 1, bots: 1, messages: 1, messages_30_days: 1 },
    ...{ message_bytes: 5, image_bytes: 0, live_queues: 0, state: 'active' },
  });
  expect((await run('org usage', {})).map((one: Json) => one.realm_id)).toContain(organization.id);
});
