import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sweep } from '../../src/events/retention.ts';
import { runCommand } from '../helpers/control.ts';
import { globalId, withGlobalIds } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { type InProcess, shareInProcess } from '../helpers/in-process.ts';
import { type Parameters, Person } from '../helpers/person.ts';
import { createOrganization, type Organization, type OrganizationOptions, type RoleName } from '../helpers/server.ts';
import { topicRef } from '../helpers/talk.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
let clock = Date.parse('2026-11-20T10:00:00Z');
let service: InProcess;

beforeAll(async () => {
  service = await shareInProcess({ now: () => new Date(clock) });
});
afterAll(() => service[Symbol.asyncDispose]());

// The tests change a shared clock, so they run one after another.

const MODERN = {
  client_capabilities: { notification_settings_null: true, bulk_message_deletion: true, empty_topic_name: true },
};

const place = <const P extends Readonly<Record<string, RoleName>>>(people: P = {} as P) =>
  createOrganization(people, { on: service } as OrganizationOptions);

const channel = async (by: Person, name: string, subscribers: readonly Person[], fields: Parameters = {}) =>
  (await by.ok('POST', '/channels/create', { name, subscribers: subscribers.map(({ id }) => id), ...fields })).id;

const SHARED = { invite_only: true, history_public_to_subscribers: true };
const GUARDED = { invite_only: true, history_public_to_subscribers: false };

const send = async (by: Person, to: number, topic: string, content = 'hello'): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'channel', to, topic, content })).id;

const direct = async (by: Person, to: readonly Person[], content = 'hello'): Promise<number> =>
  (await by.ok('POST', '/messages', { type: 'direct', to: to.map(({ id }) => id), content })).id;

const patch = (by: Person, id: number, parameters: Parameters) => by.rest('PATCH', `/messages/${id}`, parameters);
const edit = (by: Person, id: number, parameters: Parameters) => by.ok('PATCH', `/messages/${id}`, parameters);
/** Parameters of an edit that suppress the notices about a move. */
const QUIET = { send_notification_to_new_thread: false };

const history = async (by: Person, id: number, parameters: Parameters = {}) =>
  (await by.ok('GET', `/messages/${id}/history`, parameters)).message_history;

const set = (org: Organization, settings: Json) =>
  service.app.db.organization.update({ where: { id: org.organization.id }, data: { settings } });

const row = (id: number) => service.app.db.message.findFirstOrThrow({ where: { id } });

/** Returns a permission value that no user holds, in the format in which organization settings are stored. */
async function nobody(org: Organization) {
  const where = { organizationId: org.organization.id, name: 'role:nobody' };
  const { id } = await service.app.db.userGroup.findFirstOrThrow({ where });
  return { members: [], groups: [id] };
}

/** Checks that an edit is refused over REST, and over GraphQL if it has the parameters. @returns The REST response. */
async function refuse(
  by: Person,
  id: number,
  parameters: Parameters,
  msg: string,
  code = 'BAD_REQUEST',
): Promise<Json> {
  const { status, body } = await patch(by, id, parameters);
  expect([status, body.code, body.msg]).toEqual([400, code, msg]);
  const { content, prev_content_sha256, topic, stream_id, propagate_mode } = parameters;
  const isMove = topic !== undefined || stream_id !== undefined;
  if (isMove === (content !== undefined) || (propagate_mode !== undefined && (!isMove || propagate_mode === 'all'))) {
    return body;
  }
  const mode = typeof propagate_mode === 'string' ? propagate_mode.toUpperCase() : undefined;
  const result = isMove
    ? await by.tryMutation('moveMessages', {
        messageId: id,
        to: await targetOf(by, id, parameters),
        propagateMode: mode,
      })
    : await by.tryMutation('editMessage', { messageId: id, content, prevContentSha256: prev_content_sha256 });
  expect(result.code).toBe(code);
  return body;
}

/** Returns the target of a move over GraphQL. A parameter that is absent over REST has its current value there. */
async function targetOf(by: Person, id: number, { topic, stream_id }: Parameters) {
  const { body } = await by.rest('GET', `/messages/${id}`);
  const channel = stream_id ?? body.message?.stream_id ?? 1;
  return topicRef(channel as number, String(topic ?? body.message?.subject ?? ''));
}

/** Creates a bot that is owned by a user. */
async function ownBot({ organization, ...org }: Organization, owner: Person): Promise<Person> {
  const command = { org: organization.subdomain, owner: owner.email, name: 'beeper', shortName: 'beeper' };
  const { user_id: id, email, api_key: apiKey } = await runCommand(service.dataDir, 'bot create', command);
  const { url, host } = org.owner;
  return new Person({ url, host }, { id, name: 'beeper', email, apiKey, role: 400 });
}

/** Parameters that create a draft, which marks the end of a test's events. Only its author receives the event about it. */
const MARK = { drafts: [{ type: '', to: [], topic: '', content: 'mark' }] };

/** Returns all events of a queue before the event about the draft `MARK`. */
async function upToMark(person: Person, queueId: string, from: number, first: Promise<Json[]>): Promise<Json[]> {
  const events = await first;
  while (events.at(-1)?.type !== 'drafts') {
    events.push(...(await person.poll(queueId, events.at(-1)?.id ?? from)));
  }
  return events.slice(0, -1).map(({ id: _, ...event }) => event);
}

/**
 * Runs `act` and returns the events that each user receives about it. Checks that a poll which waits during `act` and a poll
 * after it return equal events.
 */
async function heardBy(people: readonly Person[], act: () => Promise<unknown>, client: Parameters = MODERN) {
  const parameters = { fetch_event_types: [], ...client };
  const live = await Promise.all(
    people.map(async (person) => {
      const { queue_id, last_event_id } = await person.register(parameters);
      // `first` is an object that contains the promise of the poll, because Promise.all would wait for the promise itself.
      return { person, queue_id, last_event_id, first: { poll: person.poll(queue_id, last_event_id) } };
    }),
  );
  const late = await Promise.all(people.map(async (person) => ({ person, ...(await person.register(parameters)) })));
  await act();
  for (const person of people) await person.ok('POST', '/drafts', MARK);
  const heard = await Promise.all(
    live.map(({ person, queue_id, last_event_id, first }) => upToMark(person, queue_id, last_event_id, first.poll)),
  );
  const replayed = await Promise.all(
    late.map(({ person, queue_id, last_event_id }) => {
      const first = person.poll(queue_id, last_event_id, { dontBlock: true });
      return upToMark(person, queue_id, last_event_id, first);
    }),
  );
  expect(replayed).toEqual(heard);
  return heard;
}

describe('PATCH /messages/{message_id}', () => {
  test('edits content for its sender, in both APIs, with one event for each subscriber', async () => {
    const { owner, member, guest } = await place();
    const general = await channel(owner, 'general', [owner, member, guest]);
    const id = await send(member, general, 'greetings', 'hello');
    const sha = createHash('sha256').update('hello').digest('hex');
    const heard = await heardBy([owner, member, guest], async () => {
      const reply = await edit(member, id, { content: '\n*hi*  ', prev_content_sha256: sha });
      expect(reply).toEqual({ result: 'success', msg: '', detached_uploads: [] });
    });
    for (const [i, events] of heard.entries()) {
      expect(events).toEqual([
        {
          type: 'update_message',
          user_id: member.id,
          rendering_only: false,
          message_id: id,
          message_ids: [id],
          flags: i === 1 ? expect.any(Array) : [],
          edit_timestamp: clock / 1000,
          stream_id: general,
          stream_name: 'general',
          orig_content: 'hello',
          orig_rendered_content: '<p>hello</p>',
          content: '*hi*',
          rendered_content: '<p><em>hi</em></p>',
          is_me_message: false,
        },
      ]);
    }
    // Edits within the same minute are stored as one version, so the clock advances by a minute.
    clock += MINUTE;
    const { editedMessage } = await member.mutate(
      'editMessage',
      { messageId: id, content: ' \n ' },
      'editedMessage { content lastEditedAt lastMovedAt editHistory(last: 2) { edges { node { content prevContent prevTopicName } } } }',
    );
    expect(editedMessage).toEqual({
      content: '(deleted)',
      lastEditedAt: new Date(clock).toISOString(),
      lastMovedAt: null,
      editHistory: {
        edges: [
          { node: { content: '*hi*', prevContent: 'hello', prevTopicName: null } },
          { node: { content: '(deleted)', prevContent: '*hi*', prevTopicName: null } },
        ],
      },
    });
  });

  test('updates mentions for the recipients of the message, and shows each their own flags', async () => {
    const { owner, member, guest, moderator, organization } = await place();
    const general = await channel(owner, 'general', [owner, member, guest]);
    const id = await send(member, general, 'greetings');
    await owner.ok('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: 'general' }],
      principals: [moderator.id],
    });
    await owner.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'starred' });
    await guest.ok('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'read' });
    const people = [owner, guest, moderator];
    const flags = async (content: string) =>
      (await heardBy(people, () => edit(member, id, { content }))).map(([event]) => event?.flags);
    const all = ['stream_wildcard_mentioned', 'wildcard_mentioned'];
    expect(await flags('@**owner** and @**moderator** of @**all**')).toEqual([
      ['starred', 'mentioned', ...all],
      ['read', ...all],
      ['read', 'historical'],
    ]);
    const topic = ['topic_wildcard_mentioned', 'wildcard_mentioned'];
    await guest.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'octopus' });
    expect(await flags('@**topic** @_**owner**')).toEqual([['starred'], ['read', ...topic], ['read', 'historical']]);
    expect(await flags('nobody')).toEqual([['starred'], ['read'], ['read', 'historical']]);
    const rows = await service.app.db.userMessage.findMany({ where: { organizationId: organization.id } });
    expect(rows.map(({ userId }) => userId)).toEqual([owner.id]);
  });

  test('refuses in the documented order, in both APIs', async () => {
    const org = await place();
    const { owner, administrator, member, moderator, guest } = org;
    const general = await channel(owner, 'general', [owner, member, moderator, guest]);
    const hidden = await channel(owner, 'hidden', [owner], { invite_only: true });
    const named = await channel(owner, 'named', [owner, member], { topics_policy: 'disable_empty_topic' });
    const gone = await channel(owner, 'gone', [owner, member]);
    const [mine, theirs] = [await send(member, general, 'a'), await send(owner, general, 'a')];
    const [old, unseen] = [await send(member, gone, 'a'), await send(owner, hidden, 'a')];
    const [note, among] = [await direct(member, [guest]), await direct(owner, [administrator])];
    await owner.ok('DELETE', `/streams/${gone}`);
    const invalid = 'Invalid message(s)';
    for (const id of [unseen, among, old, 2 ** 53 - 1, 0]) await refuse(member, id, { content: 'x' }, invalid);
    await refuse((await place()).member, mine, { content: 'x' }, invalid);

    await refuse(member, theirs, { content: 'x' }, "You don't have permission to edit this message");
    for (const parameters of [{}, { topic: ' a ' }, { stream_id: general }]) {
      await refuse(member, mine, parameters, 'Nothing to change');
    }
    await refuse(member, note, { stream_id: general }, 'Direct messages cannot be moved to channels.');
    // Over GraphQL, the target of a move always has a channel.
    const { body } = await patch(member, note, { topic: 'b' });
    expect(body).toMatchObject({ code: 'BAD_REQUEST', msg: 'Direct messages cannot have topics.' });
    const all = { propagate_mode: 'change_all' };
    await refuse(member, mine, { content: 'x', ...all }, 'Invalid propagate_mode without topic edit');
    await refuse(member, mine, { topic: 'b', propagate_mode: 'all' }, 'Invalid propagate_mode');
    for (const topic of ['✔', '✔ ', '✔ general chat']) {
      await refuse(member, mine, { topic }, 'General chat cannot be marked as resolved');
    }
    await refuse(member, mine, { topic: 'a\u0007b' }, 'Invalid character in topic, at position 2!');
    const both = { content: 'x', stream_id: named };
    await refuse(member, mine, both, 'Cannot change message content while changing channel');
    const outdated = { content: 'x', prev_content_sha256: '0'.repeat(64) };
    const mismatch = "'prev_content_sha256' value does not match the expected value.";
    expect(await refuse(member, mine, outdated, mismatch, 'EXPECTATION_MISMATCH')).toMatchObject({
      field_name: 'prev_content_sha256',
    });
    await refuse(member, mine, { content: 'a\0b' }, 'Message must not contain null bytes');
    for (const stream_id of [hidden, gone, 2_000_000_000])
      await refuse(member, mine, { stream_id }, 'Invalid channel ID');
    const policy = 'Sending messages to the general chat is not allowed in this channel.';
    expect(await refuse(member, mine, { topic: '', stream_id: named }, policy)).toMatchObject({
      empty_topic_display_name: 'general chat',
    });

    const none = await nobody(org);
    await set(org, { allow_message_editing: false });
    await refuse(member, theirs, { content: 'x' }, 'Your organization has turned off message editing');
    await set(org, {
      can_resolve_topics_group: none,
      can_move_messages_between_topics_group: none,
      can_move_messages_between_channels_group: none,
    });
    await refuse(member, mine, { topic: '✔ a' }, "You don't have permission to resolve topics in this channel.");
    await refuse(member, mine, { topic: 'b' }, "You don't have permission to edit this message");
    await refuse(member, mine, { stream_id: named }, "You don't have permission to move this message");
    const grant = (id: number, name: string, group: object) =>
      owner.ok('PATCH', `/streams/${id}`, { [name]: { new: group } });
    const members = { direct_members: [member.id], direct_subgroups: [] };
    for (const name of ['resolve_topics', 'move_messages_within_channel', 'move_messages_out_of_channel']) {
      await grant(general, `can_${name}_group`, members);
    }
    await grant(named, 'can_send_message_group', { direct_members: [owner.id], direct_subgroups: [] });
    await refuse(member, mine, { stream_id: named }, 'You do not have permission to post in this channel.');
    await grant(general, 'can_create_topic_group', { direct_members: [owner.id], direct_subgroups: [] });
    const noTopics = 'You do not have permission to create new topics in this channel.';
    await refuse(member, mine, { topic: 'b' }, noTopics);
    expect(await history(member, mine)).toHaveLength(1);
    // A user who cannot create topics can move messages to existing topics, with or without the resolved mark. Administrators
    // of the organization can always move messages.
    await edit(member, mine, { topic: '✔ a', ...QUIET });
    await edit(member, mine, { topic: 'A', ...QUIET });
    await refuse(administrator, mine, { stream_id: named }, 'You do not have permission to post in this channel.');
    expect((await history(member, mine)).map(({ topic }: Json) => topic)).toEqual(['a', '✔ a', 'A']);
  });

  test('applies time limits, except to moderators, and reports how much of a topic can still be moved', async () => {
    const org = await place();
    const { owner, moderator, member } = org;
    const general = await channel(owner, 'general', [owner, moderator, member]);
    const other = await channel(owner, 'other', [owner, moderator, member]);
    const week = 7 * DAY;
    const old = await send(member, general, 'a');
    clock += 600_000 + 20_000;
    await edit(member, old, { content: 'in time' });
    clock += 1_000;
    await refuse(member, old, { content: 'late' }, 'The time limit for editing this message has passed');
    const young = await send(member, general, 'a');
    const younger = await send(member, general, 'A');
    clock += week - 600_000;
    const all = { propagate_mode: 'change_all' };
    await refuse(member, old, { topic: 'b' }, "The time limit for editing this message's topic has passed.");
    await refuse(member, old, { stream_id: other }, "The time limit for editing this message's channel has passed");
    // The whole topic contains the old message.
    const may = `{ node(id: "${globalId('Message', younger)}") { ... on Message {
      viewerCanMove topic { viewerCanMove viewerCanResolve } } } }`;
    expect(await member.query(may)).toEqual({
      node: { viewerCanMove: true, topic: { viewerCanMove: false, viewerCanResolve: false } },
    });
    expect((await moderator.query(may)).node.topic).toEqual({ viewerCanMove: true, viewerCanResolve: true });
    const resolving = await member.tryMutation('resolveTopic', { topic: topicRef(general, 'a') });
    expect(resolving.__typename).toBe('MoveMessagesTimeLimitExceededError');
    const message = 'You only have permission to move the 2/3 most recent messages in this topic.';
    const code = 'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED';
    expect(await refuse(member, young, { topic: 'b', ...all }, message, code)).toMatchObject({
      first_message_id_allowed_to_move: young,
      total_messages_in_topic: 3,
      total_messages_allowed_to_move: 2,
    });
    await set(org, { move_messages_between_streams_limit_seconds: null });
    await refuse(member, young, { topic: 'b', stream_id: other, ...all }, message, code);
    await edit(member, young, { stream_id: other, ...all, ...QUIET });
    // Each message keeps its own spelling of the topic's name.
    const topics = (await Promise.all([old, young, younger].map(row))).map(({ topic }) => topic);
    expect(topics).toEqual(['a', 'a', 'A']);
    const [[heard]] = (await heardBy([moderator], () => edit(moderator, young, { topic: 'b', ...all, ...QUIET }))) as [
      Json[],
    ];
    expect(heard).toMatchObject({
      message_ids: [old, young, younger],
      orig_subject: 'a',
      subject: 'b',
      stream_id: other,
    });
    await set(org, { message_content_edit_limit_seconds: null });
    await edit(member, old, { content: 'no limit' });
  });
});

/** Returns the fields of an event that distinguish it from the other events. */
const brief = ({ type, message_ids, flags, message, ...event }: Json) => {
  if (type === 'update_message') return { moved: message_ids, flags, ...(event.content && { says: event.content }) };
  if (type === 'delete_message') return { gone: message_ids, from: event.topic };
  if (type === 'user_topic') return { topic: event.topic_name, policy: event.visibility_policy };
  if (type === 'muted_topics') return { muted: event.muted_topics.map(([, topic]: Json) => topic) };
  return { [type]: message?.content };
};

/**
 * Returns the distinguishing fields of each user's events. Omits events about the visibility policies that sending sets for the
 * sender.
 */
const briefly = (heard: readonly Json[][]) =>
  heard.map((events) => events.filter(({ type }) => type !== 'user_topic').map(brief));

const leave = (person: Person, name: string) =>
  person.ok('DELETE', '/users/me/subscriptions', { subscriptions: [name] });
describe('moving', () => {
  test('applies to one message, later ones or the whole topic, and is recorded in the history of each', async () => {
    const org = await place({ reader: 'member' });
    const { owner, member, reader } = org;
    const general = await channel(owner, 'general', [owner, member, reader]);
    const other = await channel(owner, 'other', [owner, member]);
    const ids: number[] = [];
    for (const content of ['one', 'two', 'three', 'four']) ids.push(await send(member, general, 'lunch', content));
    const [one, two, three, four] = ids as [number, number, number, number];
    clock += 1_000;
    await edit(member, two, { topic: 'dinner', content: 'zwei', ...QUIET });
    await edit(owner, three, { topic: 'Dinner', propagate_mode: 'change_later', ...QUIET });
    clock += 1_000;
    const parameters = { messageId: four, to: topicRef(other, ''), propagateMode: 'CHANGE_ALL' };
    const [heard] = await heardBy([member], () =>
      member.mutate(
        'moveMessages',
        { ...parameters, sendNotificationToNewTopic: false },
        'movedMessage { topicName topic { name } channel { name } lastMovedAt lastEditedAt }',
      ),
    );
    expect(heard).toEqual([
      {
        type: 'update_message',
        user_id: member.id,
        rendering_only: false,
        message_id: four,
        message_ids: [two, three, four],
        flags: expect.any(Array),
        edit_timestamp: clock / 1000,
        stream_id: general,
        stream_name: 'general',
        propagate_mode: 'change_all',
        orig_subject: 'Dinner',
        subject: '',
        topic_links: [],
        new_stream_id: other,
      },
    ]);
    const at = clock / 1000;
    const lunch = { topic: 'lunch', content: 'two', rendered_content: '<p>two</p>', user_id: member.id };
    const dinner = { topic: 'dinner', prev_topic: 'lunch', content: 'zwei', rendered_content: '<p>zwei</p>' };
    const moved = { topic: 'general chat', prev_topic: 'dinner', stream: other, prev_stream: general };
    const snapshots = [
      { ...lunch, timestamp: at - 2 },
      {
        ...{
          ...dinner,
          prev_content: 'two',
          prev_rendered_content: '<p>two</p>',
          user_id: member.id,
          timestamp: at - 1,
        },
        content_html_diff:
          '<p><span class="highlight_text_deleted">two</span><span class="highlight_text_inserted">zwei</span></p>',
      },
      { ...moved, content: 'zwei', rendered_content: '<p>zwei</p>', user_id: member.id, timestamp: at },
    ];
    expect(await history(owner, two)).toEqual(snapshots);
    expect((await history(owner, two, { allow_empty_topic_name: true }))[2].topic).toBe('');
    expect((await history(owner, four)).map(({ user_id, topic }: Json) => [user_id, topic])).toEqual([
      [member.id, 'lunch'],
      [owner.id, 'Dinner'],
      [member.id, 'general chat'],
    ]);
    expect(await history(owner, one)).toHaveLength(1);

    // If the organization shows only moves, the history omits previous content.
    await set(org, { message_edit_history_visibility_policy: 'moves' });
    await edit(member, two, { content: 'deux' });
    const { prev_content, prev_rendered_content, content_html_diff, ...first } = snapshots[1] as Json;
    const deux = { content: 'deux', rendered_content: '<p>deux</p>' };
    expect(await history(owner, two)).toEqual([snapshots[0], first, snapshots[2]].map((one) => ({ ...one, ...deux })));
    await set(org, { message_edit_history_visibility_policy: 'none' });
    const { body } = await owner.rest('GET', `/messages/${two}/history`);
    expect(body.msg).toBe('Message edit history is disabled in this organization');
    // Users who cannot read a message cannot read its edit history.
    await set(org, {});
    const note = await direct(member, [owner]);
    expect(await history(owner, note)).toMatchObject([{ topic: '', content: 'hello', user_id: member.id }]);
    expect((await reader.rest('GET', `/messages/${note}/history`)).body.msg).toBe('Invalid message(s)');
  });

  test('posts notices in the topics, and moves policies if no message stays behind', async () => {
    const { owner, member, moderator } = await place();
    const general = await channel(owner, 'general', [owner, member, moderator]);
    const other = await channel(owner, 'other', [owner, member, moderator]);
    const [one] = [await send(member, general, 'breakfast'), await send(member, general, 'breakfast')];
    const ids = [await send(member, general, 'lunch'), await send(member, general, 'lunch')];
    const [first] = ids as [number, number];
    for (const [topic, visibility_policy] of [
      ['lunch', 3],
      ['dinner', 1],
    ]) {
      await moderator.ok('POST', '/user_topics', { stream_id: general, topic, visibility_policy });
    }
    const toldOld = { send_notification_to_old_thread: true };
    const [here, by] = ['moved here from', `by @_**member|${member.id}**.`];
    // Changing only the case of a topic's name is not a move.
    const [spelled] = await heardBy([moderator], () => edit(member, one, { topic: 'Breakfast', ...toldOld }));
    expect((spelled ?? []).map(brief)).toEqual([{ moved: [one], flags: [] }]);
    await edit(member, one, { topic: 'breakfast', ...toldOld });
    const [part] = await heardBy([moderator], () => edit(member, one, { topic: 'tea', ...toldOld }));
    expect((part ?? []).map(brief)).toEqual([
      { moved: [one], flags: [] },
      {
        message: `[A message](#narrow/channel/${general}-general/topic/tea/near/${one}) was ${here} #**general>breakfast** ${by}`,
      },
      { message: `A message was moved from this topic to #**general>tea** ${by}` },
    ]);
    const later = { propagate_mode: 'change_later', ...QUIET };
    const [whole] = await heardBy([moderator], () => edit(member, first, { topic: 'dinner', ...later, ...toldOld }));
    expect((whole ?? []).map(brief)).toEqual([
      { topic: 'lunch', policy: 0 },
      { topic: 'dinner', policy: 3 },
      { muted: [] },
      { moved: ids, flags: [] },
      { message: `This topic was moved to #**general>dinner** ${by}` },
    ]);
    const [away] = await heardBy([moderator], () =>
      edit(member, first, { stream_id: other, propagate_mode: 'change_all' }),
    );
    expect((away ?? []).map(brief)).toEqual([
      { topic: 'dinner', policy: 0 },
      { topic: 'dinner', policy: 3 },
      { moved: ids, flags: [] },
      { message: `This topic was ${here} #**general>dinner** ${by}` },
    ]);
  });

  test('shows moved messages only to users who can read them, and deletes them for users who could', async () => {
    const { owner, member, moderator, administrator, guest, bot, ...org } = await place({
      newcomer: 'member',
      reactor: 'member',
    });
    const { newcomer, reactor } = org;
    const open = await channel(owner, 'open', [owner, member, guest, moderator, reactor]);
    const closed = await channel(owner, 'closed', [owner, administrator, newcomer], SHARED);
    const ids = [await send(member, open, 'plans'), await send(owner, open, 'plans')];
    const [first, second] = ids as [number, number];
    await reactor.ok('POST', `/messages/${first}/reactions`, { emoji_name: 'octopus' });
    await leave(reactor, 'open');
    await leave(moderator, 'open');
    const people = [owner, member, guest, moderator, reactor, administrator, newcomer, bot];
    const said = await heardBy(people, () => edit(member, first, { content: 'secret' }));
    const edited = { moved: [first], flags: [], says: 'secret' };
    // Users who received the message, or who have flags on it, receive events about it as long as they can read it.
    expect(briefly(said)).toEqual([
      [edited],
      [{ ...edited, flags: expect.any(Array) }],
      [edited],
      ...[1, 2].map(() => [{ ...edited, flags: expect.any(Array) }]),
      [],
      [],
      [],
    ]);
    const all = { propagate_mode: 'change_all', ...QUIET };
    const went = await heardBy(people, () => edit(owner, first, { stream_id: closed, ...all }));
    const gone = { gone: ids, from: 'plans' };
    const arrived = { moved: ids, flags: ['read', 'historical'] };
    expect(briefly(went)).toEqual([
      [{ moved: ids, flags: [] }],
      ...[member, guest, moderator, reactor].map(() => [gone]),
      ...[administrator, newcomer].map(() => [arrived]),
      [],
    ]);
    // Users who cannot read the message cannot edit, delete or move it either.
    for (const person of [member, guest, moderator])
      await refuse(person, first, { content: 'x' }, 'Invalid message(s)');
    expect((await member.rest('DELETE', `/messages/${first}`)).body.msg).toBe('Invalid message(s)');
    const hidden = await heardBy(people, () => edit(owner, second, { content: 'for us', topic: 'more', ...QUIET }));
    expect(briefly(hidden).map((events) => events.length)).toEqual([1, 0, 0, 0, 0, 1, 1, 0]);
    // When the message moves back to the public channel, all users there receive the event.
    const back = await heardBy(people, () => edit(owner, first, { stream_id: open, ...QUIET }));
    expect(briefly(back).map((events) => events.map(({ moved }) => moved))).toEqual([
      ...[[[first]], [[first]], [[first]], [[first]], [[first]]],
      ...[[[first]], [[first]], []],
    ]);
  });

  test('shows each user only what they received in a protected history', async () => {
    const { owner, member, moderator, administrator } = await place();
    const guarded = await channel(owner, 'guarded', [owner, member], GUARDED);
    const before = await send(owner, guarded, 'plans', 'before');
    const invite = (person: Person, name: string) =>
      owner.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name }], principals: [person.id] });
    await invite(moderator, 'guarded');
    const after = await send(owner, guarded, 'plans', 'after');
    const people = [owner, member, moderator, administrator];
    const ids = [before, after];
    expect(briefly(await heardBy(people, () => edit(owner, before, { content: 'earlier' })))).toEqual([
      ...[owner, member].map(() => [{ moved: [before], flags: expect.any(Array), says: 'earlier' }]),
      ...[[], []],
    ]);
    const renamed = await heardBy(people, () =>
      edit(owner, before, { topic: 'schemes', content: 'earliest', propagate_mode: 'change_all', ...QUIET }),
    );
    expect(briefly(renamed)).toEqual([
      ...[owner, member].map(() => [{ moved: ids, flags: expect.any(Array), says: 'earliest' }]),
      [{ moved: [after], flags: [] }],
      [],
    ]);
    expect(renamed[2]?.[0].message_id).toBe(after);
    // Subscribers of the target channel receive the moved messages. For other users, the messages are deleted.
    const shared = await channel(owner, 'shared', [owner, administrator, moderator], SHARED);
    const all = { propagate_mode: 'change_all', ...QUIET };
    const went = await heardBy(people, () => edit(owner, before, { stream_id: shared, ...all }));
    expect(briefly(went).map((events) => events.map(({ flags: _, ...event }) => event))).toEqual([
      [{ moved: ids }],
      [{ gone: ids, from: 'schemes' }],
      [{ moved: ids }],
      [{ moved: ids }],
    ]);
    const back = await heardBy(people, () => edit(owner, after, { stream_id: guarded, ...all }));
    expect(briefly(back).map((events) => events.map(({ flags: _, ...event }) => event))).toEqual([
      [{ moved: ids }],
      [{ moved: ids }],
      // Messages that these users did not receive are deleted again.
      [{ moved: [after] }, { gone: [before], from: 'schemes' }],
      [{ gone: ids, from: 'schemes' }],
    ]);
    const deleted = await heardBy(people, async () => {
      for (const id of ids) await owner.ok('DELETE', `/messages/${id}`);
    });
    const each = (id: number) => ({ gone: [id], from: 'schemes' });
    expect(briefly(deleted)).toEqual([ids.map(each), ids.map(each), [each(after)], []]);
  });
});

describe('resolving a topic', () => {
  test('posts a notice, unread only for followers, which is deleted if undone within a minute', async () => {
    const org = await place();
    const { owner, member, moderator, guest } = org;
    const general = await channel(owner, 'general', [owner, member, moderator, guest]);
    const id = await send(member, general, 'lunch');
    await send(owner, general, 'Lunch');
    await guest.ok('POST', '/user_topics', { stream_id: general, topic: 'lunch', visibility_policy: 3 });
    const settings = { resolved_topic_notice_auto_read_policy: 'never' };
    await service.app.db.user.updateMany({ where: { id: moderator.id }, data: { settings } });
    const all = { propagate_mode: 'change_all' };
    const resolve = (by: Person, topic: string) => edit(by, id, { topic, ...all });
    const people = [owner, guest, moderator];
    const told = async (act: () => Promise<unknown>) =>
      (await heardBy(people, act)).map((events) =>
        events.flatMap(({ type, flags, message, message_ids }) =>
          type === 'user_topic' ? [] : [[message?.content ?? message_ids, ...(message ? flags : [])]],
        ),
      );
    const who = `@_**owner|${owner.id}**`;
    const resolved = `${who} has marked this topic as resolved.`;
    const ids = [id, id + 1];
    const first = await told(() => resolve(owner, '✔ lunch'));
    expect(first).toEqual([
      [[ids], [resolved, 'read']],
      [[ids], [resolved]],
      [[ids], [resolved]],
    ]);
    expect((await row(id)).lastMovedAt).toBeNull();
    const notice = Number((await service.app.db.message.findFirst({ orderBy: { id: 'desc' } }))?.id);
    clock += 60_000;
    // The move is undone with the id of the notice. Some clients identify a topic by its last message, which is the notice.
    const undone = await told(() => edit(owner, notice, { topic: 'lunch', ...all }));
    expect(undone).toEqual(people.map(() => [[[notice]], [ids]]));
    expect(await service.app.db.message.count({ where: { id: notice } })).toBe(0);
    expect((await history(owner, id)).map(({ topic }: Json) => topic)).toEqual(['lunch', '✔ lunch', 'lunch']);

    await resolve(owner, '✔ lunch');
    clock += 61_000;
    const later = await told(() => resolve(owner, 'lunch'));
    expect(later[1]?.at(-1)).toEqual([`${who} has marked this topic as unresolved.`]);
    // If a topic is moved to another channel and gets the resolved mark at the same time, this counts as a move.
    const other = await channel(owner, 'other', [owner, guest]);
    const moved = await told(() => edit(owner, id, { topic: '✔ lunch', stream_id: other, ...all }));
    expect(moved[1]?.at(-1)).toEqual([`This topic was moved here from #**general>lunch** by ${who}.`]);
    expect((await row(id)).lastMovedAt).toEqual(new Date(clock));
  });
});

describe('DELETE /messages/{message_id}', () => {
  test('deletes for permitted users, in both APIs, once, and keeps the message for 30 days', async () => {
    const org = await place();
    const { owner, administrator, member, moderator, guest, organization } = org;
    const general = await channel(owner, 'general', [owner, member, moderator]);
    const remove = async (by: Person, id: number) => {
      const { status, body } = await by.rest('DELETE', `/messages/${id}`);
      return status === 200 ? 'deleted' : body.msg;
    };
    const refused = async (by: Person, id: number, msg: string) => {
      expect(await remove(by, id)).toBe(msg);
      expect(await by.tryMutation('deleteMessage', { messageId: id })).toMatchObject({ code: 'BAD_REQUEST' });
    };
    const notTheirs = "You don't have permission to delete this message";
    const bot = await ownBot(org, member);
    const mine = await send(member, general, 'a');
    const ofBot = await direct(bot, [member], 'beep');
    await refused(moderator, mine, notTheirs);
    await refused(guest, mine, 'Invalid message(s)');
    await refused(guest, 2 ** 50, 'Invalid message(s)');
    await set(org, { can_delete_own_message_group: await nobody(org) });
    await refused(member, mine, notTheirs);
    const members = { direct_members: [member.id, moderator.id], direct_subgroups: [] };
    await owner.ok('PATCH', `/streams/${general}`, { can_delete_own_message_group: { new: members } });
    clock += 601_000;
    await refused(member, mine, 'The time limit for deleting this message has passed');
    await set(org, { message_content_delete_limit_seconds: null });
    // The administrator receives the events without being subscribed.
    const heard = await heardBy([owner, member, administrator, guest], async () => {
      expect(await remove(member, ofBot)).toBe('deleted');
      expect(await administrator.mutate('deleteMessage', { messageId: mine }, 'messageId')).toEqual(
        withGlobalIds({ messageId: mine }),
      );
    });
    const message_type = 'stream';
    const gone = { type: 'delete_message', message_ids: [mine], message_type, stream_id: general, topic: 'a' };
    const beep = { type: 'delete_message', message_ids: [ofBot], message_type: 'private' };
    expect(heard).toEqual([[gone], [beep, gone], [gone], []]);
    await refused(member, mine, 'Message already deleted');
    await refused(member, ofBot, 'Message already deleted');
    await refused(owner, ofBot, 'Invalid message(s)');
    await refused(guest, mine, 'Invalid message(s)');
    await refuse(member, mine, { content: 'x' }, 'Invalid message(s)');

    await owner.ok('PATCH', `/streams/${general}`, { can_delete_any_message_group: { new: members } });
    expect(await remove(moderator, await send(owner, general, ''))).toBe('deleted');
    const kept = { where: { organizationId: organization.id, body: { path: ['content'], equals: 'hello' } } };
    expect(await service.app.db.deletedMessage.findFirst({ ...kept, orderBy: { id: 'asc' } })).toMatchObject({
      ...{ id: BigInt(mine), deleterId: administrator.id },
      body: { topic: 'a', sender_id: member.id, sent_channel_id: general },
    });
    clock += 30 * DAY;
    await sweep(service.app);
    expect(await service.app.db.deletedMessage.count(kept)).toBe(2);
    clock += 1_000;
    await sweep(service.app);
    expect(await service.app.db.deletedMessage.count(kept)).toBe(0);
  });

  test('sends one event for each message to clients without the capability', async () => {
    const { owner, member } = await place();
    const open = await channel(owner, 'open', [owner, member]);
    const closed = await channel(owner, 'closed', [owner], SHARED);
    const ids = [await send(owner, open, ''), await send(member, open, '')];
    const move = { stream_id: closed, topic: 'b', propagate_mode: 'change_all', ...QUIET };
    const heard = await heardBy([owner, member], () => edit(owner, ids[0] ?? 0, move), {});
    const gone = { type: 'delete_message', message_type: 'stream', stream_id: open, topic: 'general chat' };
    expect(heard[0]?.slice(2)).toMatchObject([{ message_ids: ids, orig_subject: 'general chat', subject: 'b' }]);
    expect(heard[1]).toEqual(ids.map((message_id) => ({ ...gone, message_id })));
    // Users who are not in the conversation receive no events about a direct message.
    const note = await direct(owner, [owner]);
    const alone = await heardBy([owner, member], async () => {
      await edit(owner, note, { content: '/me thinks' });
      await owner.ok('DELETE', `/messages/${note}`);
    });
    expect(alone[1]).toEqual([]);
    expect(alone[0]).toMatchObject([{ is_me_message: true }, { message_ids: [note] }]);
    expect(alone[0]?.[0]).not.toHaveProperty('stream_id');
  });
});
