import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { type Served, startService } from '../helpers/service.ts';
import { readTogether } from './shared-queue.ts';
import { type QueuePosition, resumingSocket } from './socket.ts';

// Tests the code by which several tabs of a browser read one event queue. Node.js has the locks and channels of browsers; each
// "tab" has its own client and socket.

const QUERY = `subscription ($queueId: String!) {
  events(queueId: $queueId) { ... on DraftsAddedEvent { drafts { content } } }
}`;

function openTab(person: Person, queueId: string, position: number) {
  const place: QueuePosition = { queueId, position };
  const client = resumingSocket(`${person.url}/graphql`, () => person.authorization ?? '', place);
  const texts: unknown[] = [];
  const errors: unknown[] = [];
  const stop = readTogether(client, place, QUERY, (result) => {
    if (result.errors !== undefined) errors.push(...result.errors);
    const { drafts } = (result.data?.['events'] ?? {}) as { drafts?: readonly { readonly content: string }[] };
    for (const { content } of drafts ?? []) texts.push(content);
  });
  return {
    texts,
    errors,
    [Symbol.dispose]() {
      stop();
      client.terminate();
    },
  };
}

let service: Served;
let member: Person;
beforeAll(async () => {
  service = await startService({ env: {} });
  // The client cannot set the header Host, so the organization is at the domain itself.
  ({ member } = await createOrganization({}, { on: service, subdomain: '' }));
});
afterAll(() => service[Symbol.asyncDispose]());

const save = (person: Person, content: string) =>
  person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });

test('two tabs receive each event of one queue once, also after the tab that reads it is closed', async () => {
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  using second = await (async () => {
    using first = openTab(member, queue_id, last_event_id);
    await save(member, 'one');
    await vi.waitFor(() => expect(first.texts).toEqual(['one']), 30_000);
    const other = openTab(member, queue_id, last_event_id);
    await save(member, 'two');
    await vi.waitFor(() => expect([first.texts, other.texts]).toEqual([['one', 'two'], ['two']]), 30_000);
    expect([...first.errors, ...other.errors]).toEqual([]);
    return other;
  })();
  await save(member, 'three');
  await vi.waitFor(() => expect(second.texts).toEqual(['two', 'three']), 30_000);
  expect(second.errors).toEqual([]);
});

test('each tab is notified if another reader takes the queue', async () => {
  const { queue_id, last_event_id } = await member.register({ fetch_event_types: [] });
  using first = openTab(member, queue_id, last_event_id);
  await save(member, 'one');
  await vi.waitFor(() => expect(first.texts).toEqual(['one']), 30_000);
  using second = openTab(member, queue_id, last_event_id);
  await member.poll(queue_id, -1, { dontBlock: true });
  for (const { errors } of [first, second]) {
    await vi.waitFor(() => expect(errors).toMatchObject([{ extensions: { reason: 'displaced' } }]), 30_000);
  }
});
