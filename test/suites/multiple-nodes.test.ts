import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBucket, type TestBucket } from '../helpers/bucket.ts';
import { createMigratedDatabase } from '../helpers/database.ts';
import { type Reply, send } from '../helpers/http.ts';
import { Person } from '../helpers/person.ts';
import { download } from '../helpers/pictures.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, startServer } from '../helpers/server.ts';

const { DATABASE_URL } = process.env;
const SELECTION = 'position ... on DraftsAddedEvent { drafts { content } }';

/** Skipped on the embedded database, which only one process can open. */
describe.skipIf(DATABASE_URL === undefined)('several nodes on one database', () => {
  const stack = new AsyncDisposableStack();
  let nodes: [ServerProcess, ServerProcess];
  let bucket: TestBucket;

  beforeAll(async () => {
    const database = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
    bucket = stack.use(await startBucket());
    const env = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex'), ...bucket.env };
    // Both nodes start on an empty database. One of them migrates it, while the other waits.
    nodes = await Promise.all([startServer({ env }), startServer({ env })]);
    for (const node of nodes) stack.use(node);
  });
  afterAll(() => stack.disposeAsync());

  /** Creates a user. @returns A client of the user at each node. */
  async function newPerson(): Promise<[Person, Person]> {
    const [a, b] = nodes;
    const { member, organization } = await createOrganization({}, { on: a });
    const host = `${organization.subdomain}.localhost:${b.port}`;
    return [member, new Person({ url: b.url, host }, member)];
  }
  const saveDraft = (person: Person, content: string) =>
    person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });

  test('read files that the other node stored in the bucket, and share a resumable upload', async () => {
    const [atA, atB] = await newPerson();
    const content = randomBytes(700_000);
    const { url } = await atA.ok('POST', '/user_uploads', { file: content });
    expect((await download(atB, encodeURI(url), atB.headers)).bytes.equals(content)).toBe(true);
    const tus = (by: Person, method: string, path: string, headers: Record<string, string>, body?: Buffer) =>
      send(by.url, { method, path, body, headers: { ...by.headers, 'tus-resumable': '1.0.0', ...headers } });
    const begun = await tus(atA, 'POST', '/tus', { 'upload-length': '700000', 'upload-metadata': 'filename YQ==' });
    const path = String(begun.headers.location);
    const part = (by: Person, from: number, to: number) =>
      tus(
        ...([by, 'PATCH', path] as const),
        { 'upload-offset': String(from), 'content-type': 'application/offset+octet-stream' },
        content.subarray(from, to),
      );
    expect((await part(atA, 0, 400_000)).status).toBe(204);
    const { status, text } = await part(atB, 400_000, 700_000);
    expect(status).toBe(200);
    const { bytes } = await download(atA, JSON.parse(text).url, atA.headers);
    expect(bytes.equals(content)).toBe(true);
    expect(bucket.keys()).toHaveLength(2);
  });

  test('deliver events of one node to clients of the other', async () => {
    const [atA, atB] = await newPerson();
    const { queue_id, last_event_id } = await atA.register({ fetch_event_types: [] });
    await using live = await atA.events(SELECTION);
    const polled = atA.poll(queue_id, last_event_id);
    await saveDraft(atB, 'from B');
    expect((await polled)[0]).toMatchObject({ drafts: [{ content: 'from B' }] });
    expect(await live.next()).toMatchObject({ drafts: [{ content: 'from B' }] });
  });

  test('include changes made on the other node in a registration', async () => {
    const [atA, atB] = await newPerson();
    const people = { fetch_event_types: ['realm_user'] };
    for (const change of [{ full_name: 'At B' }, { email_address_visibility: 5 }, { full_name: 'At B again' }]) {
      await Promise.all([atA, atB].map((person) => person.register(people)));
      await atB.ok('PATCH', '/settings', change);
      const [{ members }, ...states] = await Promise.all([
        atB.ok('GET', '/users', { include_custom_profile_fields: true }),
        ...Array.from({ length: 10 }, () => atA.register(people)),
      ]);
      const users = members.map(({ is_active: _, ...user }: { is_active: boolean }) => user);
      for (const { realm_users } of states) expect(realm_users).toEqual(users);
    }
  });

  test('serve a queue on any node, from its position', async () => {
    const [atA, atB] = await newPerson();
    const { queue_id, last_event_id } = await atA.register({ fetch_event_types: [] });
    let last = last_event_id;
    const heard: string[] = [];
    for (const [i, person] of Array.from({ length: 20 }, (_, i) => [atA, atB][i % 2] as Person).entries()) {
      await saveDraft([atB, atA][i % 2] as Person, `draft ${i}`);
      for (const event of await person.poll(queue_id, last)) {
        last = event.id;
        if (event.type === 'drafts') heard.push(event.drafts[0].content);
      }
    }
    for (const event of await atA.poll(queue_id, last, { dontBlock: true })) heard.push(event.drafts?.[0].content);
    expect(heard).toEqual(Array.from({ length: 20 }, (_, i) => `draft ${i}`));
  });

  test('let a newer reader on one node claim the queue from a reader on the other', async () => {
    const [atA, atB] = await newPerson();
    const { queue_id } = await atA.register({ fetch_event_types: [] });
    await using older = await atA.events(SELECTION, { queueId: queue_id });
    await saveDraft(atA, 'one');
    await older.next();
    await using newer = await atB.events(SELECTION, { queueId: queue_id, after: older.lastId });
    await saveDraft(atA, 'two');
    expect(await newer.next()).toMatchObject({ drafts: [{ content: 'two' }] });
    // The stream of the older reader ends when the node next writes the positions of queues.
    expect(await older.ended).toMatchObject({
      how: 'errors',
      errors: [{ extensions: { code: 'BAD_EVENT_QUEUE_ID', reason: 'displaced' } }],
    });
    await saveDraft(atA, 'three');
    expect(await newer.next()).toMatchObject({ drafts: [{ content: 'three' }] });
  });
});

/** A browser that reaches both nodes under one host name. */
class Browser {
  #cookies = new Map<string, string>();
  readonly #host: string;

  constructor(host: string) {
    this.#host = host;
  }

  async ask(
    { url }: ServerProcess,
    method: string,
    path: string,
    form?: Readonly<Record<string, string>>,
  ): Promise<Reply> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await send(url, {
      ...{ method, path },
      headers: {
        host: this.#host,
        ...(cookie !== '' && { cookie }),
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      body: form && new URLSearchParams(form).toString(),
    });
    for (const line of reply.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.#cookies.set(name, value);
    }
    return reply;
  }
}

describe.skipIf(DATABASE_URL === undefined)('cookies without TLS', () => {
  const PASSWORD = 'correct horse battery';
  const signIn = (browser: Browser, node: ServerProcess, { email }: Person) =>
    browser.ask(node, 'POST', '/api/v1/sessions', { username: email, password: PASSWORD });
  const statusOf = async (browser: Browser, node: ServerProcess) =>
    (await browser.ask(node, 'GET', '/api/v1/users/me')).status;

  test.for([
    ['one address', { EXTERNAL_HOST: 'http://chat.lan:8080' }, 'chat.lan:8080'],
    // Browsers send the cookies of a host to all its ports.
    ['two ports of one machine', {}, 'localhost'],
  ] as const)('are accepted by both nodes at %s', async ([, external, host]) => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
    const env = { DATABASE_URL: database.url, SECRET_KEY: randomBytes(32).toString('hex'), ...external };
    const nodes = await Promise.all([startServer({ env }), startServer({ env })]);
    for (const node of nodes) stack.use(node);
    const [a, b] = nodes;
    const { owner, organization } = await createOrganization({}, { on: a, password: PASSWORD });
    const browser = new Browser(`${organization.subdomain}.${host}`);
    expect((await signIn(browser, a, owner)).status).toBe(200);
    expect(await statusOf(browser, b)).toBe(200);
    expect((await browser.ask(b, 'POST', '/api/v1/users/me/status', { status_text: 'at B' })).status).toBe(200);
    expect((await browser.ask(b, 'DELETE', '/api/v1/sessions/current')).status).toBe(200);
    expect(await statusOf(browser, a)).toBe(401);
  });

  test('of two services on one machine do not overwrite each other, even with one SECRET_KEY', async () => {
    await using stack = new AsyncDisposableStack();
    const SECRET_KEY = randomBytes(32).toString('hex');
    const start = async () => {
      const database = stack.use(await createMigratedDatabase(DATABASE_URL ?? ''));
      return stack.use(await startServer({ env: { DATABASE_URL: database.url, SECRET_KEY } }));
    };
    const services = await Promise.all([start(), start()]);
    const subdomain = `t${randomBytes(8).toString('hex')}`;
    const browser = new Browser(`${subdomain}.localhost`);
    for (const service of services) {
      const { owner } = await createOrganization({}, { on: service, password: PASSWORD, subdomain });
      expect((await signIn(browser, service, owner)).status).toBe(200);
    }
    const [a, b] = services;
    expect([await statusOf(browser, a), await statusOf(browser, b)]).toEqual([200, 200]);
    expect((await browser.ask(a, 'DELETE', '/api/v1/sessions/current')).status).toBe(200);
    expect([await statusOf(browser, a), await statusOf(browser, b)]).toEqual([401, 200]);
  });
});
