import { describe, expect, test } from 'vitest';
import { expectAnswered, expectShownAlike, logAsBefore } from '../helpers/entity-events.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';

const QUIET = { send_notification_to_old_thread: false, send_notification_to_new_thread: false };

/**
 * Registers the tests of events about messages: sending, changes, flags, reactions and typing notifications.
 *
 * @param service Returns the service that the tests use.
 */
export function messagesAndWhatIsDone(service: () => InProcess): void {
  const place = async () => {
    const people = await createOrganization({}, { on: service() });
    const { owner, member, guest } = people;
    const readers = [owner, member, guest];
    return { ...people, readers, channel: await channelOf(owner, 'general', readers) };
  };

  test('the event of a sent message contains the same data as a query', async () => {
    const { owner, member, guest, bot, readers, channel } = await place();
    await owner.ok('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: 'general' }],
      principals: [bot.id],
    });
    const send = async () => {
      await say(owner, channel, 'lunch', `who comes, @**${member.name}**?`);
      await owner.ok('POST', '/messages', { type: 'direct', to: [member.id, guest.id], content: '/me waves' });
      await say(bot, channel, 'dinner', 'I do');
    };
    const heard = await expectShownAlike(readers, send, { event_types: ['message'] });
    for (const events of heard) expect(events.map(({ type }) => type)).toEqual(Array(3).fill('MessageSentEvent'));
  });

  test('the event of a message in a channel without a subscription equals a query: the message was not received', async () => {
    const { owner, administrator, channel } = await place();
    const overhearing = { event_types: ['message'], all_public_streams: true };
    const say3 = async () => {
      await say(owner, channel, 'lunch');
      await say(owner, channel, 'tea', `@**${administrator.name}** @**all**`);
      await say(administrator, channel, 'dinner');
    };
    const heard = await expectShownAlike([administrator, owner], say3, overhearing);
    const flags = heard.map((events) => events.map(({ event }) => event.message.flags));
    expect(flags[0]?.slice(0, 2)).toEqual([
      ['READ', 'HISTORICAL'],
      ['READ', 'HISTORICAL'],
    ]);
    expect(flags[1]?.[2]).toEqual([]);
    const first = await administrator.receiving(overhearing);
    await say(owner, channel, 'lunch');
    expect((await first()).map((event) => event.flags)).toEqual([[]]);
  });

  describe('a change of messages', () => {
    const updates = { event_types: ['update_message'] };

    test('of the content by the sender in a channel contains the complete message', async () => {
      const { owner, member, guest, readers, channel } = await place();
      const id = await say(member, channel, 'lunch', 'first');
      await guest.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'tada' });
      const heard = await expectShownAlike(
        readers,
        () => member.ok('PATCH', `/messages/${id}`, { content: `/me says @**${owner.name}**`, topic: 'dinner' }),
        updates,
      );
      for (const [update] of heard) {
        expect(update?.event).toMatchObject({
          editor: { id: globalId('User', member.id) },
          message: { content: `/me says @**${owner.name}**`, sender: { fullName: member.name } },
          ...{ origContent: 'first', origTopicName: 'lunch', origChannel: { name: 'general' } },
        });
      }
      expect(heard[0]?.[0]?.event.message.flags).toEqual(['MENTIONED']);
      const hasReacted = heard.map(([update]) => update?.event.message.reactionGroups[0].viewerHasReacted);
      expect(hasReacted).toEqual([false, false, true]);
    });

    test('of the content contains the reactions of each viewer, for viewers who are otherwise alike', async () => {
      const { owner, member, signUp, channel } = await place();
      const bystander = await signUp('Bystander');
      await bystander.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'general' }] });
      const id = await say(owner, channel, 'lunch', 'first');
      await member.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'tada' });
      const selection = '... on MessageUpdatedEvent { message { reactionGroups { viewerHasReacted } } }';
      await using first = await bystander.events(selection);
      await using second = await member.events(selection);
      await owner.ok('PATCH', `/messages/${id}`, { content: 'second' });
      const shown = await Promise.all([first.next(), second.next()]);
      expect(shown.map(({ message }) => message.reactionGroups)).toEqual([
        [{ viewerHasReacted: false }],
        [{ viewerHasReacted: true }],
      ]);
    });

    test('of the content needs no statement per recipient for the fields of a message list', async () => {
      const { owner, member, channel } = await place();
      const id = await say(owner, channel, 'lunch', 'first');
      await member.ok('POST', `/messages/${id}/reactions`, { emoji_name: 'tada' });
      const asListed = `id content renderedContent topic { id } topicName sender { id fullName avatarUrl }
        channel { id name } sentAt lastEditedAt viewerHasRead viewerHasStarred
        reactionGroups { emojiName emojiCode reactionType count viewerHasReacted users { id } }`;
      const shown = await expectAnswered(
        member,
        `... on MessageUpdatedEvent { message { ${asListed} } }`,
        () => owner.ok('PATCH', `/messages/${id}`, { content: 'second' }),
        updates,
      );
      expect(shown.message).toMatchObject({ content: 'second', reactionGroups: [{ viewerHasReacted: true }] });
    });

    test('of the channel and topic contains the target', async () => {
      const { owner, readers, channel } = await place();
      const other = await channelOf(owner, 'other', readers);
      const ids = [await say(owner, channel, 'lunch'), await say(owner, channel, 'lunch')];
      const move = { stream_id: other, topic: 'dinner', propagate_mode: 'change_all' };
      const quiet = { send_notification_to_old_thread: false, send_notification_to_new_thread: false };
      const heard = await expectShownAlike(
        readers,
        () => owner.ok('PATCH', `/messages/${ids[0]}`, { ...move, ...quiet }),
        updates,
      );
      for (const [update] of heard) {
        expect(update?.event.messages.map((message: { databaseId: number }) => message.databaseId)).toEqual(ids);
      }
    });

    test('of the channel keeps the letter case of each topic, and contains the topic if all messages have the same', async () => {
      const { owner, readers, channel } = await place();
      const other = await channelOf(owner, 'other', readers);
      const ids = [await say(owner, channel, 'Lunch'), await say(owner, channel, 'lunch')];
      const move = { stream_id: other, propagate_mode: 'change_all', ...QUIET };
      const act = () => owner.ok('PATCH', `/messages/${ids[0]}`, move);
      const heard = await expectShownAlike(readers, act, updates);
      for (const [update] of heard) expect(update?.event.messages[0]).not.toHaveProperty('topicName');
      const alone = await say(owner, channel, 'Dinner');
      const moveOne = () => owner.ok('PATCH', `/messages/${alone}`, { stream_id: other, ...QUIET });
      const [[one] = []] = await expectShownAlike(readers, moveOne, updates);
      expect(one?.event.messages).toMatchObject([{ topicName: 'Dinner' }]);
    });

    test('that resolves the topic does not count as a move', async () => {
      const { owner, readers, channel } = await place();
      const id = await say(owner, channel, 'lunch');
      await say(owner, channel, 'lunch');
      for (const topic of ['✔ lunch', 'lunch']) {
        const resolve = () => owner.ok('PATCH', `/messages/${id}`, { topic, propagate_mode: 'change_all', ...QUIET });
        for (const [update] of await expectShownAlike(readers, resolve, updates)) {
          expect(update?.event.messages).toMatchObject([{ topicName: topic }, { topicName: topic }]);
        }
      }
      const both = () => owner.ok('PATCH', `/messages/${id}`, { topic: '✔ lunch', content: 'done', ...QUIET });
      for (const [update] of await expectShownAlike(readers, both, updates)) {
        expect(update?.event.message).toMatchObject({ content: 'done', lastMovedAt: null });
      }
    });

    test('of the channel names the source channel only to users who can see it', async () => {
      const { owner, member, guest, channel } = await place();
      const secret = await channelOf(owner, 'secret', [owner, guest], { invite_only: true });
      const id = await say(owner, secret, 'lunch');
      const selection =
        '... on MessageUpdatedEvent { message { id } origChannel { id name } origTopic { movedTo { name } } }';
      const streams = await Promise.all([owner, member, guest].map((reader) => reader.events(selection)));
      await owner.ok('PATCH', `/messages/${id}`, { stream_id: channel, ...QUIET });
      const shown = await Promise.all(
        streams.map(async (stream) => {
          for (;;) {
            const event = await stream.next();
            if (event.message !== undefined) return event;
          }
        }),
      );
      await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
      const message = { id: globalId('Message', id) };
      const origChannel = { id: globalId('Channel', secret), name: 'secret' };
      const origTopic = { movedTo: { name: 'lunch' } };
      expect(shown).toEqual([
        { message, origChannel, origTopic },
        { message, origChannel: null, origTopic: null },
        { message, origChannel, origTopic },
      ]);
    });

    test('of the topic contains the previous topic, which leads to the new one if all messages were moved', async () => {
      const { owner, member, channel } = await place();
      const [first, second] = [await say(owner, channel, 'Lunch'), await say(owner, channel, 'lunch')];
      const selection = '... on MessageUpdatedEvent { origTopic { id name movedTo { name } } }';
      await using stream = await member.events(selection);
      const change = async (id: number, to: Json) => {
        await owner.ok('PATCH', `/messages/${id}`, { ...to, ...QUIET });
        return (await stream.next()).origTopic;
      };
      const id = globalId('Topic', `${channel}:lunch`);
      expect(await change(first, { topic: 'dinner' })).toEqual({ id, name: 'lunch', movedTo: null });
      expect(await change(second, { topic: 'dinner' })).toEqual({ id, name: 'lunch', movedTo: { name: 'dinner' } });
      expect(await change(first, { content: 'edited' })).toBe(null);
    });

    test('of the content needs no statement per recipient if the document selects the previous topic', async () => {
      const { owner, member, channel } = await place();
      const id = await say(owner, channel, 'lunch', 'first');
      const act = () => owner.ok('PATCH', `/messages/${id}`, { content: 'second' });
      const selection = '... on MessageUpdatedEvent { message { content } origTopic { name movedTo { name } } }';
      expect(await expectAnswered(member, selection, act, updates)).toMatchObject({ origTopic: null });
    });

    test('in a conversation is read, as are events logged by a previous version', async () => {
      const { owner, member, organization, channel } = await place();
      const note = { type: 'direct', to: [member.id], content: 'hi' };
      const { id } = await owner.ok('POST', '/messages', note);
      await expectShownAlike([owner, member], () => owner.ok('PATCH', `/messages/${id}`, { content: 'ho' }), updates);
      const old = await say(owner, channel, 'lunch', 'as it was');
      const flags = { starred: [], collapsed: [], mentioned: [], topicMentioned: [], alerted: [] };
      const before = {
        ...{ type: 'update_message', editorId: owner.id, timestamp: 1_700_000_000, id: old, ids: [old] },
        ...{ channel: { id: channel, name: 'general' }, move: null, emptyTopicName: 'none' },
        content: {
          origSource: 'a',
          origHtml: '<p>a</p>',
          source: 'as it was',
          html: '<p>as it was</p>',
          isMeMessage: false,
        },
        flags: { ...flags, channelWildcard: false, most: 'unread', others: {} },
      };
      const [heard] = await expectShownAlike(
        [member],
        () => logAsBefore(service(), organization.id, before, [member]),
        updates,
      );
      expect(heard?.[0]?.event.editedAt).toBe('2023-11-14T22:13:20.000Z');
    });

    test('that deletes them contains their ids, channel and topic', async () => {
      const { owner, readers, channel } = await place();
      const id = await say(owner, channel, 'lunch');
      const options = { event_types: ['delete_message'] };
      const heard = await expectShownAlike(readers, () => owner.ok('DELETE', `/messages/${id}`), options);
      for (const [gone] of heard) {
        expect(gone?.event).toMatchObject({
          messageIds: [globalId('Message', id)],
          ...{ channel: { databaseId: channel }, topicName: 'lunch' },
        });
      }
    });
  });

  test('events of flags contain the messages with their new flags', async () => {
    const { owner, member, channel } = await place();
    const id = await say(owner, channel, 'lunch');
    const flags = { event_types: ['update_message_flags'] };
    for (const flag of ['read', 'starred', 'collapsed']) {
      for (const op of ['add', 'remove']) {
        const change = () => member.ok('POST', '/messages/flags', { messages: [id], op, flag });
        await expectShownAlike([member], change, flags);
      }
    }
  });

  describe('a reaction', () => {
    const reactions = { event_types: ['reaction'] };
    const tada = { emoji_name: 'tada' };

    test('is delivered with all reactions to the message, as each viewer sees them', async () => {
      const { owner, member, guest, signUp, channel } = await place();
      // The bystander has the same role as the member who reacts.
      const bystander = await signUp('Bystander');
      await bystander.ok('POST', '/users/me/subscriptions', { subscriptions: [{ name: 'general' }] });
      const readers = [owner, bystander, member, guest];
      const id = await say(owner, channel, 'lunch');
      const react = (who: Person, emoji_name: string) => who.ok('POST', `/messages/${id}/reactions`, { emoji_name });
      await react(guest, 'octopus');
      await react(guest, 'tada');
      const groups = (event: Json) =>
        event.message.reactionGroups.map(({ emojiName, count, viewerHasReacted }: Json) => [
          ...[emojiName, count, viewerHasReacted],
        ]);
      const added = await expectShownAlike(readers, () => react(member, 'tada'), reactions);
      const ofOthers = [
        ['octopus', 1, false],
        ['tada', 2, false],
      ];
      expect(added.map(([heard]) => groups(heard?.event))).toEqual([
        ...[ofOthers, ofOthers],
        [
          ['octopus', 1, false],
          ['tada', 2, true],
        ],
        [
          ['octopus', 1, true],
          ['tada', 2, true],
        ],
      ]);
      for (const [heard] of added) {
        expect(heard?.event.message.reactions.map(({ user }: Json) => user.databaseId)).toEqual([
          ...[guest.id, guest.id, member.id],
        ]);
        expect(heard?.event.user).toMatchObject({ fullName: member.name });
      }
      const take = () => guest.ok('DELETE', `/messages/${id}/reactions`, { emoji_name: 'octopus' });
      const removed = await expectShownAlike(readers, take, reactions);
      expect(removed.map(([heard]) => groups(heard?.event))).toEqual([
        ...[[['tada', 2, false]], [['tada', 2, false]]],
        [['tada', 2, true]],
        [['tada', 2, true]],
      ]);
    });

    test('has unchanged fields over REST', async () => {
      const { owner, member, channel } = await place();
      const id = await say(owner, channel, 'lunch');
      const { queue_id, last_event_id } = await owner.register(reactions);
      await member.ok('POST', `/messages/${id}/reactions`, tada);
      await member.ok('DELETE', `/messages/${id}/reactions`, tada);
      const events = await owner.poll(queue_id, last_event_id, { dontBlock: true });
      // The keys are in the order in which jsonb stores them: shorter keys first.
      const facts = ['user', 'user_id', 'emoji_code', 'emoji_name', 'message_id', 'reaction_type'];
      const fields = ['id', 'type', 'op', ...facts];
      expect(events.map((event: Json) => Object.keys(event))).toEqual([fields, fields]);
    });

    test('does not contain the other reactions if there are too many', async () => {
      const { owner, member, guest, moderator, administrator, bot, organization, channel } = await place();
      await owner.ok('POST', '/users/me/subscriptions', {
        subscriptions: [{ name: 'general' }],
        principals: [bot.id],
      });
      const id = await say(owner, channel, 'lunch', 'many');
      await owner.ok('POST', `/messages/${id}/reactions`, tada);
      const there = await service().app.db.reaction.findFirstOrThrow({ where: { messageId: BigInt(id) } });
      const { emojiCode } = there;
      const data = [owner, member, guest, moderator, administrator].flatMap(({ id: userId }) =>
        Array.from({ length: 100 }, (_, i) => ({
          ...{ organizationId: organization.id, messageId: BigInt(id), userId, reactionType: 'unicode_emoji' },
          ...(i === 0 ? { emojiName: 'tada', emojiCode } : { emojiName: 'other', emojiCode: String(i) }),
        })),
      );
      await service().app.db.reaction.createMany({ data, skipDuplicates: true });
      const react = () => bot.ok('POST', `/messages/${id}/reactions`, tada);
      const [[tooMany] = []] = await expectShownAlike([member], react, reactions);
      expect(Object.keys(tooMany?.event.message)).toEqual(['__typename', 'id', 'databaseId']);
      const take = () => bot.ok('DELETE', `/messages/${id}/reactions`, tada);
      const [[few] = []] = await expectShownAlike([member], take, reactions);
      expect(few?.event.message.reactions).toHaveLength(500);
      await react();
      const edit = () => owner.ok('PATCH', `/messages/${id}`, { content: 'second' });
      const [[edited] = []] = await expectShownAlike([member], edit, { event_types: ['update_message'] });
      expect(edited?.event.message.reactions).toBeUndefined();
    });

    test('logged by a previous version is read', async () => {
      const { owner, member, organization, channel } = await place();
      const id = await say(owner, channel, 'lunch');
      await member.ok('POST', `/messages/${id}/reactions`, tada);
      const before = {
        ...{ type: 'reaction', op: 'add', message_id: id, user_id: member.id },
        ...{ emoji_name: 'tada', emoji_code: '1f389', reaction_type: 'unicode_emoji' },
        user: { id: member.id, email: member.email, full_name: member.name },
      };
      await expectShownAlike([member], () => logAsBefore(service(), organization.id, before, [member]), reactions);
    });
  });

  test('an address that the sender has hidden meanwhile is not in an event that is read later', async () => {
    const { member, guest, channel } = await place();
    const { queue_id: queueId } = await guest.register({ event_types: ['message'], fetch_event_types: [] });
    const selection = '... on MessageSentEvent { message { content sender { id email deliveryEmail } } }';
    await using live = await guest.events(selection);
    await say(member, channel, 'lunch');
    const open = { email: member.email, deliveryEmail: member.email };
    expect((await live.next()).message.sender).toMatchObject(open);
    await member.ok('PATCH', '/settings', { email_address_visibility: 5 });
    await using late = await guest.events(selection, { queueId });
    const { sender } = (await late.next()).message;
    expect(sender).toMatchObject({ email: `user${member.id}@users.invalid`, deliveryEmail: null });
    const query = `{ node(id: "${sender.id}") { ... on User { id email deliveryEmail } } }`;
    expect((await guest.query(query)).node).toEqual(sender);
  });

  test('typing events reference the users, the channel and the topic', async () => {
    const { owner, member, guest, channel } = await place();
    const typing = { event_types: ['typing', 'typing_edit_message'] };
    const direct = { type: 'direct', to: [member.id, guest.id] };
    const inChannel = { type: 'channel', stream_id: channel, topic: 'general chat' };
    const act = async () => {
      await owner.ok('POST', '/typing', { op: 'start', ...direct });
      await owner.ok('POST', '/typing', { op: 'start', ...inChannel });
      const mine = await say(owner, channel, 'lunch');
      await owner.ok('POST', `/messages/${mine}/typing`, { op: 'start' });
    };
    const client_capabilities = { notification_settings_null: true, stream_typing_notifications: true };
    const heard = await expectShownAlike([member, guest], act, { ...typing, client_capabilities });
    for (const events of heard) {
      // The event contains the stored topic name, whether or not the queue was registered with `empty_topic_name`.
      expect(events.map(({ event }) => event.topicName)).toEqual([null, '', 'lunch']);
    }
  });

  test('addresses in typing events are read, since they may have been hidden meanwhile', async () => {
    const { member, guest } = await place();
    const { queue_id: queueId } = await guest.register({ event_types: ['typing'] });
    await member.ok('POST', '/typing', { op: 'start', type: 'direct', to: [guest.id] });
    await member.ok('PATCH', '/settings', { email_address_visibility: 5 });
    const address = 'email deliveryEmail';
    await using stream = await guest.events(
      `... on TypingStartedEvent { sender { id ${address} } recipients { ${address} } }`,
      { queueId },
    );
    const { sender, recipients } = await stream.next();
    expect(sender).toMatchObject({ email: `user${member.id}@users.invalid`, deliveryEmail: null });
    expect(recipients).toContainEqual({ email: `user${member.id}@users.invalid`, deliveryEmail: null });
    await using named = await guest.events('... on TypingStartedEvent { sender { email } }', { queueId, after: -1 });
    expect((await named.next()).sender.email).toBe(`user${member.id}@users.invalid`);
  });

  test("the event of a topic's visibility contains its channel and the topic", async () => {
    const { owner, member, channel } = await place();
    await say(owner, channel, 'lunch');
    const set = { stream_id: channel, topic: 'lunch', visibility_policy: 3 };
    const [heard] = await expectShownAlike([member], () => member.ok('POST', '/user_topics', set), {
      event_types: ['user_topic'],
    });
    expect(heard?.[0]?.event).toMatchObject({
      ...{ topicName: 'lunch', channel: { databaseId: channel }, topic: { viewerVisibility: 'FOLLOWED' } },
    });
  });

  test('events of presence and status contain the same data as queries', async () => {
    const { member, readers } = await place();
    await expectShownAlike(readers, () => member.ok('POST', '/users/me/presence', { status: 'active' }), {
      event_types: ['presence'],
    });
    const emoji = { emoji_name: 'tada' };
    for (const status of [
      { status_text: 'out' },
      emoji,
      { status_text: 'in', ...emoji, away: true },
      { status_text: '' },
    ]) {
      await expectShownAlike(readers, () => member.ok('POST', '/users/me/status', status), {
        event_types: ['user_status'],
      });
    }
  });
}
