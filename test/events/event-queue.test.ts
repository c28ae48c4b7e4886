import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import type { Json } from '../helpers/http.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization, serverOf, startServer } from '../helpers/server.ts';

const SELECTION = `position __typename ... on DraftsAddedEvent { drafts { content } }
  ... on SavedSnippetAddedEvent { savedSnippet { title } } ... on ChannelFolderAddedEvent { channelFolder { name } }`;

const draft = (content: string) => ({ drafts: [{ type: '', to: [], topic: '', content }] });
const saveDraft = (person: Person, content: string) => person.ok('POST', '/drafts', draft(content));
const newQueue = async (person: Person, parameters: Json = {}): Promise<{ id: string; lastEventId: number }> => {
  const { queue_id, last_event_id } = await person.register({ fetch_event_types: [], ...parameters });
  return { id: queue_id, lastEventId: last_event_id };
};
/** Returns the content of the first draft in each event. */
const contents = (events: Json[]) => events.map((event) => event.drafts[0].content);

test.concurrent('drafts created over REST and GraphQL arrive over both transports, with the same ids', async () => {
  const { member } = await createOrganization();
  const [polled, subscribed] = [await newQueue(member), await newQueue(member)];
  await using live = await member.events(SELECTION, { queueId: subscribed.id });
  const waiting = member.poll(polled.id, polled.lastEventId);
  await saveDraft(member, 'by REST');
  const [first] = await waiting;
  const { data } = await member.graphql(
    `mutation { createDrafts(input: { drafts: [{ content: "by GraphQL" }] }) { __typename } }`,
  );
  expect(data.createDrafts.__typename).toBe('CreateDraftsPayload');
  const [second] = await member.poll(polled.id, first.id);
  expect(contents([first, second])).toEqual(['by REST', 'by GraphQL']);
  const heard = await live.take(2);
  expect(heard).toEqual([
    { position: first.id, __typename: 'DraftsAddedEvent', drafts: [{ content: 'by REST' }] },
    { position: second.id, __typename: 'DraftsAddedEvent', drafts: [{ content: 'by GraphQL' }] },
  ]);
});

test.concurrent.for(['ws', 'sse'] as const)(
  'ends an older reader over %s with a reason when a newer one claims the queue',
  async (transport) => {
    const { member } = await createOrganization();
    const queue = await newQueue(member);
    await using older = await member.events(SELECTION, { queueId: queue.id, transport });
    await saveDraft(member, 'one');
    await older.next();
    await using newer = await member.events(SELECTION, { queueId: queue.id, after: older.lastId });
    expect(await older.ended).toEqual({
      how: 'errors',
      errors: [
        {
          message: expect.stringMatching(/another reader has taken the queue/),
          extensions: { code: 'BAD_EVENT_QUEUE_ID', queue_id: queue.id, reason: 'displaced' },
        },
      ],
    });
    await saveDraft(member, 'two');
    expect(await newer.next()).toMatchObject({ drafts: [{ content: 'two' }] });
  },
);

test.concurrent('answers an older poll with no events and a reason when a newer one claims the queue', async () => {
  const { member } = await createOrganization();
  const queue = await newQueue(member);
  const older = member.rest('GET', '/events', { queue_id: queue.id, last_event_id: queue.lastEventId });
  await sleep(100);
  const newer = member.poll(queue.id, queue.lastEventId);
  expect(await older).toMatchObject({
    status: 200,
    body: {
      ...{ result: 'success', events: [], queue_id: queue.id },
      ...{ code: 'BAD_EVENT_QUEUE_ID', reason: 'displaced' },
    },
  });
  await saveDraft(member, 'for the newer');
  expect(contents(await newer)).toEqual(['for the newer']);
});

test.concurrent('repeats events until they are acknowledged, and older ones while the log contains them', async () => {
  const { member } = await createOrganization();
  const { id, lastEventId } = await newQueue(member);
  for (const text of ['a', 'b', 'c']) await saveDraft(member, text);
  const all = await member.poll(id, -1, { dontBlock: true });
  expect(contents(all)).toEqual(['a', 'b', 'c']);
  expect(await member.poll(id, lastEventId, { dontBlock: true })).toEqual(all);
  expect(await member.poll(id, all[1].id, { dontBlock: true })).toEqual(all.slice(2));
  expect(await member.poll(id, all[2].id, { dontBlock: true })).toEqual([]);
  expect(await member.poll(id, -1, { dontBlock: true })).toEqual(all);
});

test.concurrent('receives heartbeats if there are no events, with ascending ids that can be acknowledged like others', async () => {
  const { member } = await createOrganization();
  const { id, lastEventId } = await newQueue(member);
  const [first] = await member.poll(id, lastEventId);
  expect(first).toEqual({ type: 'heartbeat', id: expect.any(Number) });
  expect(first.id).toBeGreaterThan(lastEventId);
  await using stream = await member.events(SELECTION, { queueId: id, after: first.id, heartbeats: true });
  const second = await stream.next();
  expect(second).toEqual({ __typename: 'HeartbeatEvent', position: expect.any(Number) });
  expect(second['position']).toBeGreaterThan(first.id);
  await saveDraft(member, 'after the silence');
  expect(await stream.next()).toMatchObject({ drafts: [{ content: 'after the silence' }] });
});

test.concurrent('loses no event between a heartbeat and the next poll', async () => {
  const { member, administrator } = await createOrganization();
  const { id, lastEventId } = await newQueue(member, { event_types: ['channel_folder'] });
  const seen: Json[] = [];
  let last = lastEventId;
  const names = Array.from({ length: 40 }, (_, i) => `Folder ${i}`);
  const writing = (async () => {
    for (const name of names) await administrator.ok('POST', '/channel_folders/create', { name, description: '' });
  })();
  while (seen.length < names.length) {
    for (const event of await member.poll(id, last)) {
      if (event.type !== 'heartbeat') seen.push(event);
      expect(event.id).toBeGreaterThan(last);
      last = event.id;
    }
  }
  await writing;
  expect(seen.map((event) => event.channel_folder.name)).toEqual(names);
});

test.concurrent('resumes after the received events if a socket client resends its first variables', async () => {
  const { member } = await createOrganization();
  const queue = await newQueue(member);
  const first = await member.events(SELECTION, { queueId: queue.id });
  await saveDraft(member, 'arrived');
  await first.next();
  // The server checks within a second whether the client has received an event. It stores the client's position a second later.
  await sleep(1_500);
  first.cut();
  await saveDraft(member, 'missed');
  await using again = await member.events(SELECTION, { queueId: queue.id });
  expect(await again.next()).toMatchObject({ drafts: [{ content: 'missed' }] });
});

test.concurrent('resumes an event stream after Last-Event-ID', async () => {
  const { member } = await createOrganization();
  const queue = await newQueue(member);
  const first = await member.events(SELECTION, { queueId: queue.id, transport: 'sse' });
  await saveDraft(member, 'one');
  await first.next();
  first.cut();
  await saveDraft(member, 'two');
  const options = { queueId: queue.id, transport: 'sse', lastEventId: first.lastId } as const;
  await using again = await member.events(SELECTION, options);
  expect(await again.next()).toMatchObject({ drafts: [{ content: 'two' }] });
});

test.concurrent('reads events in a query without acknowledging them or claiming the queue', async () => {
  const { member } = await createOrganization();
  const queue = await newQueue(member);
  await using live = await member.events(SELECTION, { queueId: queue.id });
  await saveDraft(member, 'seen twice');
  await live.next();
  const query = `query ($queueId: String!, $after: LongId) {
    events(queueId: $queueId, after: $after) { endPosition hasMore events { __typename ... on DraftsAddedEvent { drafts { content } } } } }`;
  const { data } = await member.graphql(query, { queueId: queue.id, after: -1 });
  expect(data.events).toMatchObject({ hasMore: false, events: [{ drafts: [{ content: 'seen twice' }] }] });
  await saveDraft(member, 'still live');
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'still live' }] });
});

test.concurrent('acknowledges by mutation for a reader without a position', async () => {
  const { member } = await createOrganization();
  const queue = await newQueue(member);
  await saveDraft(member, 'old');
  const [old] = await member.poll(queue.id, -1, { dontBlock: true });
  const { data } = await member.graphql(
    `mutation ($input: AcknowledgeEventsInput!) { acknowledgeEvents(input: $input) { __typename } }`,
    { input: { queueId: queue.id, upTo: old.id } },
  );
  expect(data.acknowledgeEvents.__typename).toBe('AcknowledgeEventsPayload');
  await saveDraft(member, 'new');
  await using stream = await member.events(SELECTION, { queueId: queue.id });
  expect(await stream.next()).toMatchObject({ drafts: [{ content: 'new' }] });
});

test.concurrent('returns one code for every loss, with its reason, in both APIs', async () => {
  const { member, guest } = await createOrganization();
  const queue = await newQueue(member);
  const gone = await newQueue(member);
  await member.ok('DELETE', '/events', { queue_id: gone.id });
  const losses = [
    { person: member, queueId: 'f3a2c1d0-0000-4000-8000-000000000000', after: 0, reason: 'unknown' },
    { person: member, queueId: 'no uuid', after: 0, reason: 'unknown' },
    { person: guest, queueId: queue.id, after: 0, reason: 'unknown' },
    { person: member, queueId: gone.id, after: 0, reason: 'expired' },
    { person: member, queueId: queue.id, after: 1_000_000_000, reason: 'from_future' },
  ];
  for (const { person, queueId, after, reason } of losses) {
    const parameters = { queue_id: queueId, last_event_id: after, dont_block: true };
    const { status, body } = await person.rest('GET', '/events', parameters);
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { code: 'BAD_EVENT_QUEUE_ID', queue_id: queueId, reason },
    });
    const { errors } = await person.graphql(
      `query ($q: String!, $a: LongId) { events(queueId: $q, after: $a) { endPosition } }`,
      {
        q: queueId,
        a: after,
      },
    );
    expect(errors?.[0]).toMatchObject({ message: body.msg, extensions: { code: 'BAD_EVENT_QUEUE_ID', reason } });
    await using stream = await person.events(SELECTION, { queueId, after });
    expect(await stream.ended).toMatchObject({
      how: 'errors',
      errors: [{ extensions: { code: 'BAD_EVENT_QUEUE_ID', reason } }],
    });
  }
});

test.concurrent('requests of other users for a queue do not affect its reader', async () => {
  const { member, guest } = await createOrganization();
  const queue = await newQueue(member);
  await using live = await member.events(SELECTION, { queueId: queue.id });
  await saveDraft(member, 'one');
  await live.next();
  const { body } = await guest.rest('GET', '/events', { queue_id: queue.id, last_event_id: -1, dont_block: true });
  expect(body).toMatchObject({ code: 'BAD_EVENT_QUEUE_ID', reason: 'unknown' });
  await using stranger = await guest.events(SELECTION, { queueId: queue.id });
  expect((await stranger.ended).how).toBe('errors');
  expect((await guest.rest('DELETE', '/events', { queue_id: queue.id })).body.code).toBe('BAD_EVENT_QUEUE_ID');
  await saveDraft(member, 'two');
  expect(await live.next()).toMatchObject({ drafts: [{ content: 'two' }] });
});

test.concurrent('ends the wait of a reader whose queue is deleted', async () => {
  const { member } = await createOrganization();
  const [polled, subscribed] = [await newQueue(member), await newQueue(member)];
  const waiting = member.poll(polled.id, polled.lastEventId);
  await using stream = await member.events(SELECTION, { queueId: subscribed.id });
  await saveDraft(member, 'the stream is up');
  await waiting;
  const last = await member.poll(polled.id, -1, { dontBlock: true });
  const waitingAgain = member.poll(polled.id, last.at(-1).id);
  await stream.next();
  await member.ok('DELETE', '/events', { queue_id: polled.id });
  await member.ok('DELETE', '/events', { queue_id: subscribed.id });
  expect(await waitingAgain).toEqual([]);
  expect(await stream.ended).toEqual({ how: 'complete' });
});

test.concurrent('delivers only the requested event types, and always heartbeats', async () => {
  const { member } = await createOrganization();
  const none = await newQueue(member, { event_types: [] });
  const snippets = await newQueue(member, { event_types: ['saved_snippets', 'no_such_type'] });
  await saveDraft(member, 'not heard');
  await member.ok('POST', '/saved_snippets', { title: 'heard', content: 'x' });
  const events = await member.poll(snippets.id, snippets.lastEventId);
  expect(events.map(({ type, saved_snippet }) => [type, saved_snippet?.title])).toEqual([['saved_snippets', 'heard']]);
  expect(await member.poll(none.id, none.lastEventId)).toMatchObject([{ type: 'heartbeat' }]);
});

test.concurrent('each viewer of one document receives only what they can see', async () => {
  const { owner, member } = await createOrganization();
  const selection = `... on UserAddedEvent { user { fullName } } ${SELECTION}`;
  await using ofOwner = await owner.events(selection);
  await using ofMember = await member.events(selection);
  await saveDraft(owner, "the owner's secret");
  await saveDraft(member, "the member's secret");
  expect(await ofOwner.next()).toMatchObject({ drafts: [{ content: "the owner's secret" }] });
  expect(await ofMember.next()).toMatchObject({ drafts: [{ content: "the member's secret" }] });
});

test.concurrent('GET /events without a queue registers one', async () => {
  const { member } = await createOrganization();
  const { events, queue_id } = await member.ok('GET', '/events', { dont_block: true, event_types: ['drafts'] });
  expect(events).toEqual([]);
  await saveDraft(member, 'into the new queue');
  expect(contents(await member.poll(queue_id, -1))).toEqual(['into the new queue']);
  const { status, body } = await member.rest('GET', '/events');
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'BAD_REQUEST' });
});

test.concurrent('accepts the requested idle timeout, within its limits', async () => {
  const { member } = await createOrganization();
  const effective = async (idle_queue_timeout?: unknown) =>
    (await member.register({ fetch_event_types: [], idle_queue_timeout })).idle_queue_timeout_secs;
  expect(await effective()).toBe(600);
  expect(await effective('"mobile"')).toBe(43_200);
  expect(await effective(90)).toBe(90);
  expect(await effective(10_000_000)).toBe(604_800);
  for (const wrong of [0, -5, '"desktop"', 1.5, 'soon']) {
    const { status, body } = await member.rest('POST', '/register', { idle_queue_timeout: wrong });
    expect({ status, code: body.code }, String(wrong)).toEqual({ status: 400, code: 'BAD_REQUEST' });
  }
});

test.concurrent('refuses invalid registrations', async () => {
  const { guest, member } = await createOrganization();
  const refusals: [Person, Json][] = [
    [guest, { all_public_streams: true }],
    [member, { narrow: [['near', '5']] }],
    [member, { narrow: [['is', 'followed']] }],
    [member, { narrow: [['channel']] }],
    [member, { include_subscribers: 'some' }],
    [member, { client_capabilities: { bulk_message_deletion: true } }],
    [member, { event_types: 'drafts' }],
  ];
  for (const [person, parameters] of refusals) {
    const { status, body } = await person.rest('POST', '/register', parameters);
    expect({ status, code: body.code }, JSON.stringify(parameters)).toEqual({ status: 400, code: 'BAD_REQUEST' });
  }
});

test.concurrent('returns the requested data groups and no others', async () => {
  const { member } = await createOrganization();
  const always = ['result', 'msg', 'queue_id', 'last_event_id', 'idle_queue_timeout_secs'];
  const versions = ['service_feature_level', 'service_version', 'service_merge_base'];
  const some = await member.register({ fetch_event_types: ['drafts', 'no_such_group'] });
  expect(Object.keys(some).sort()).toEqual([...always, ...versions, 'drafts'].sort());
  const byEvents = await member.register({ event_types: ['saved_snippets'] });
  expect(Object.keys(byEvents).sort()).toEqual([...always, ...versions, 'saved_snippets'].sort());
  const all = await member.register();
  for (const field of ['realm_users', 'streams', 'subscriptions', 'channel_folders', 'drafts', 'saved_snippets']) {
    expect(all).toHaveProperty(field);
  }
  expect(all).toMatchObject({
    event_queue_longpoll_timeout_seconds: 90,
    realm_empty_topic_display_name: 'general chat',
  });
});

test('closes streams within seconds when the API key that opened them is changed', async () => {
  const { member } = await createOrganization();
  const queue = await newQueue(member);
  await using socket = await member.events(SELECTION);
  await using stream = await member.events(SELECTION, { transport: 'sse' });
  const polling = member.poll(queue.id, queue.lastEventId);
  await saveDraft(member, 'up');
  await socket.next();
  await stream.next();
  await polling;
  const waiting = member.poll(queue.id, -1, { dontBlock: true }).then((seen) => member.poll(queue.id, seen.at(-1).id));
  await sleep(100);
  const subdomain = member.host.split('.')[0];
  await runCommand(serverOf().dataDir, 'key rotate', { org: subdomain, user: member.email });
  expect(await socket.ended).toEqual({ how: 'closed', code: 4403 });
  expect((await stream.ended).how).toBe('complete');
  expect(await waiting).toEqual([]);
  const { status, body } = await member.rest('GET', '/users/me');
  expect({ status, code: body.code }).toEqual({ status: 401, code: 'INVALID_API_KEY' });
});

test('keeps queues and positions over a restart, and ends the connections of clients', async () => {
  await using server = await startServer();
  const { member } = await createOrganization({}, { on: server });
  const queue = await newQueue(member);
  const socketQueue = await newQueue(member);
  const socket = await member.events(SELECTION, { queueId: socketQueue.id });
  await saveDraft(member, 'before');
  const [before] = await member.poll(queue.id, queue.lastEventId);
  await socket.next();
  const waiting = member.poll(queue.id, before.id);
  await sleep(200);
  const [code, ended] = await Promise.all([server.stop(), socket.ended]);
  expect(code).toBe(0);
  expect(ended).toEqual({ how: 'closed', code: 1012 });
  expect(await waiting).toEqual([]);
  await server.restart();
  const [heardOfStart] = await member.poll(queue.id, before.id);
  expect(heardOfStart.type).toBe('restart');
  await saveDraft(member, 'after');
  expect(contents(await member.poll(queue.id, heardOfStart.id))).toEqual(['after']);
  await using again = await member.events(SELECTION, { queueId: socketQueue.id });
  const heard = (await again.take(2)).filter(({ drafts }) => drafts !== undefined);
  expect(['before', 'after']).toContain(heard[0].drafts[0].content);
});

test('sends an event that the service has started to every queue with this event type', async () => {
  await using server = await startServer();
  const { member, guest, owner } = await createOrganization({}, { on: server });
  const unconcerned = await createOrganization({}, { on: server });
  const register = (person: Person, event_types?: readonly string[]) =>
    person.register({ fetch_event_types: ['realm'], ...(event_types !== undefined && { event_types }) });
  const [all, named, others] = [
    await register(member),
    await register(guest, ['restart']),
    await register(owner, ['drafts']),
  ];
  const last = async () => (await register(unconcerned.owner, ['drafts'])).last_event_id;
  const before = await last();
  await server.restart();
  const event = {
    type: 'restart',
    service_version: all.service_version,
    service_merge_base: all.service_merge_base,
    service_feature_level: all.service_feature_level,
    server_generation: expect.any(Number),
  };
  const [heard] = await member.poll(all.queue_id, all.last_event_id);
  expect(heard).toEqual({ id: expect.any(Number), ...event });
  expect(heard.server_generation).toBeGreaterThanOrEqual(all.server_generation);
  expect(Math.abs(heard.server_generation - Date.now() / 1000)).toBeLessThan(60);
  expect(await guest.poll(named.queue_id, named.last_event_id)).toEqual([{ id: heard.id, ...event }]);
  await owner.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content: 'only this' }] });
  expect(await owner.poll(others.queue_id, others.last_event_id)).toMatchObject([{ type: 'drafts' }]);
  await using stream = await guest.events('type ... on ServiceRestartedEvent { serviceVersion serviceFeatureLevel }', {
    queueId: named.queue_id,
  });
  expect(await stream.next()).toMatchObject({
    type: 'RESTART',
    serviceVersion: all.service_version,
    serviceFeatureLevel: all.service_feature_level,
  });
  expect(await last()).toBe(before);
});
