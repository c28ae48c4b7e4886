import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { failure, integer, success, text } from '../helpers/shapes.ts';

const { member, guest, owner, moderator } = await createOrganization();

const save = (person: Person, content: string) =>
  person.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });
const registered = (person: Person) => person.register({ event_types: ['drafts'], fetch_event_types: [] });
const contents = (events: Json[]) => events.map(({ drafts }) => drafts[0].content);

describe.concurrent('4.3 GET /events', () => {
  test('answers with events and queue_id', async () => {
    const { queue_id, last_event_id } = await registered(member);
    const parameters = { queue_id, last_event_id, dont_block: true };
    expect(await member.ok('GET', '/events', parameters)).toEqual(success({ events: [], queue_id }));
  });

  test('returns the events after last_event_id, with increasing integer ids', async () => {
    const { queue_id, last_event_id } = await registered(guest);
    for (const content of ['a', 'b', 'c']) await save(guest, content);
    const all = await guest.poll(queue_id, last_event_id);
    expect(contents(all)).toEqual(['a', 'b', 'c']);
    const ids = all.map(({ id }) => id);
    expect(ids).toEqual([integer, integer, integer]);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(ids[0]).toBeGreaterThan(last_event_id);
    expect(contents(await guest.poll(queue_id, ids[0]))).toEqual(['b', 'c']);
  });

  test('blocks until there is an event', async () => {
    const { queue_id, last_event_id } = await registered(owner);
    const waiting = owner.poll(queue_id, last_event_id);
    await save(owner, 'awaited');
    expect(contents(await waiting)).toEqual(['awaited']);
  });

  test('returns an empty list with dont_block', async () => {
    const { queue_id, last_event_id } = await registered(member);
    // Without dont_block, the request would return a heartbeat.
    expect(await member.poll(queue_id, last_event_id, { dontBlock: true })).toEqual([]);
  });

  test('returns a heartbeat if there is no event', async () => {
    const { queue_id, last_event_id } = await registered(moderator);
    const events = await moderator.poll(queue_id, last_event_id);
    expect(events).toEqual([{ type: 'heartbeat', id: integer }]);
    expect(events[0].id).toBeGreaterThan(last_event_id);
  });

  test('continues after the acknowledged event without last_event_id', async () => {
    const { member } = await createOrganization();
    const { queue_id, last_event_id } = await registered(member);
    await save(member, 'old');
    const [old] = await member.poll(queue_id, last_event_id);
    await save(member, 'new');
    await member.poll(queue_id, old.id);
    expect(contents((await member.ok('GET', '/events', { queue_id, dont_block: true })).events)).toEqual(['new']);
  });

  test.for([
    ['event_types', ['drafts']],
    ['fetch_event_types', []],
    ['apply_markdown', true],
    ['queue_lifespan_secs', 60],
  ] as const)('registers a queue if it gets %s of POST /register instead of a queue id', async ([name, value]) => {
    const { events, queue_id } = await member.ok('GET', '/events', { [name]: value, dont_block: true });
    expect([events, queue_id]).toEqual([[], text]);
    await member.ok('GET', '/events', { queue_id, last_event_id: -1, dont_block: true });
  });

  test.for(['no such queue', 'f3a2c1d0-0000-4000-8000-000000000000'])('rejects the queue %s', async (queue_id) => {
    const { status, body } = await member.rest('GET', '/events', { queue_id, last_event_id: -1 });
    expect([status, body]).toEqual([400, failure('BAD_EVENT_QUEUE_ID', { queue_id, reason: 'unknown' })]);
  });

  test('registration returns event_queue_longpoll_timeout_seconds, longer than the heartbeat interval', async () => {
    const { event_queue_longpoll_timeout_seconds } = await member.register({ fetch_event_types: ['realm'] });
    // The heartbeat interval is 45 to 55 s by default.
    expect(event_queue_longpoll_timeout_seconds).toBeGreaterThan(55);
  });
});
