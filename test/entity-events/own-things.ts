import { describe, expect, test } from 'vitest';
import { USER_SETTINGS } from '../../src/access/user-settings.ts';
import type { Setting } from '../../src/platform/setting.ts';
import { expectShownAlike, logAsBefore, type Shown } from '../helpers/entity-events.ts';
import { OWN_CHANGES } from '../helpers/features.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { InProcess } from '../helpers/in-process.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';
import { anotherValue } from '../helpers/settings.ts';
import { channelOf, say, toTopic } from '../helpers/talk.ts';

const typesOf = (heard: readonly Shown[]) => heard.map(({ type }) => type);

/**
 * Registers the tests of events about a user's personal data.
 *
 * @param service Returns the service that the tests use.
 */
export function ownThings(service: () => InProcess): void {
  describe("a user's settings", () => {
    const ONLY = { event_types: ['user_settings'] };

    test('events of each setting contain the same data as queries, for the user only', async () => {
      const { owner, member } = await createOrganization({}, { on: service() });
      const others = Object.entries<Setting<unknown>>(USER_SETTINGS).map(([name, setting]) => [
        ...[name, anotherValue(setting)],
      ]);
      const change = () => member.ok('PATCH', '/settings', { ...Object.fromEntries(others), timezone: 'Asia/Kolkata' });
      const [mine, nobodys] = await expectShownAlike([member, owner], change, ONLY);
      expect(mine).toHaveLength(others.length);
      expect(nobodys).toEqual([]);
      const language = mine?.find(({ event }) => event.userSetting === 'DEFAULT_LANGUAGE')?.event;
      expect(language).toMatchObject({ languageName: 'French', userSettings: { defaultLanguage: 'fr' } });
    });

    test('events have unchanged fields over REST', async () => {
      const { member } = await createOrganization({}, { on: service() });
      const { queue_id, last_event_id } = await member.register({ ...ONLY, fetch_event_types: [] });
      await member.ok('PATCH', '/settings', { enter_sends: true });
      const [event] = await member.poll(queue_id, last_event_id, { dontBlock: true });
      const { id: _, ...told } = event;
      expect(told).toEqual({ type: 'user_settings', op: 'update', property: 'enter_sends', value: true });
    });
  });

  describe('files', () => {
    test('events contain the same data as queries, for the owner only', async () => {
      const { owner, member } = await createOrganization({}, { on: service() });
      const upload = () => owner.ok('POST', '/user_uploads', { file: PNG });
      const [mine, others] = await expectShownAlike([owner, member], upload);
      expect([typesOf(mine ?? []), others]).toEqual([['AttachmentAddedEvent'], []]);
      const { attachments } = await owner.ok('GET', '/attachments');
      const [{ id, path_id }] = attachments;
      const content = `[a picture](/user_uploads/${path_id})`;
      const link = () => owner.ok('POST', '/messages', { type: 'direct', to: [owner.id], content });
      const [linked] = await expectShownAlike([owner, member], link);
      expect(typesOf(linked ?? [])).toContain('AttachmentUpdatedEvent');
      const [deleted] = await expectShownAlike([owner, member], () => owner.ok('DELETE', `/attachments/${id}`));
      expect(typesOf(deleted ?? [])).toEqual(['AttachmentRemovedEvent']);
    });
  });

  describe('drafts', () => {
    test('events contain the same data as queries, for the author only', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const channel = await channelOf(owner, 'general', [owner, member, guest]);
      const note = { type: 'stream', to: [channel], topic: 'lunch', content: 'hello' };
      const drafts = [note, { type: 'private', to: [owner.id], topic: '', content: 'hi', timestamp: 1_700_000_000.25 }];
      for (const author of [owner, member, guest]) {
        const save = () => author.ok('POST', '/drafts', { drafts });
        const [mine, others] = await expectShownAlike([author, author === owner ? member : owner], save);
        expect(typesOf(mine ?? [])).toEqual(['DraftsAddedEvent']);
        expect(mine?.[0]?.event.drafts[1].lastEditedAt).toBe('2023-11-14T22:13:20.250Z');
        expect(others).toEqual([]);
        const { nodes } = (await author.query('{ drafts { nodes { databaseId } } }')).drafts;
        const edit = () =>
          author.ok('PATCH', `/drafts/${nodes[0].databaseId}`, { draft: { ...note, topic: '', content: 'edited' } });
        const [edited] = await expectShownAlike([author], edit);
        expect(typesOf(edited ?? [])).toEqual(['DraftUpdatedEvent']);
        expect(edited?.[0]?.event.draft).toMatchObject({ topicName: '', content: 'edited' });
        const [removed] = await expectShownAlike([author], () => author.ok('DELETE', `/drafts/${nodes[0].databaseId}`));
        expect(removed?.[0]?.event.draftId).toBe(globalId('Draft', nodes[0].databaseId));
      }
    });

    test('deleted drafts are null if they must be read, and the event keeps its position', async () => {
      const { owner } = await createOrganization({}, { on: service() });
      const { queue_id: queueId } = await owner.register({ fetch_event_types: [] });
      const note = { type: '', to: [], topic: '', content: 'hello' };
      const { ids } = await owner.ok('POST', '/drafts', { drafts: [note, note] });
      await owner.ok('PATCH', `/drafts/${ids[0]}`, { draft: { ...note, content: 'edited' } });
      await owner.ok('DELETE', `/drafts/${ids[0]}`);
      await using stream = await owner.events(
        `position ... on DraftsAddedEvent { drafts { id author { fullName } } }
         ... on DraftUpdatedEvent { draft { content author { fullName } } } ... on DraftRemovedEvent { draftId }`,
        { queueId },
      );
      const [added, edited, removed] = await stream.take(3);
      expect(added.drafts).toEqual([null, { id: globalId('Draft', ids[1]), author: { fullName: owner.name } }]);
      expect(edited).toEqual({ position: added.position + 1, draft: null });
      expect(removed).toEqual({ position: edited.position + 1, draftId: globalId('Draft', ids[0]) });
    });

    test('times in events logged by a previous version have a precision of one second', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      const wire = { id: 7, type: 'private', to: [owner.id], topic: '', content: 'hi', timestamp: 1_700_000_000 };
      const { queue_id: queueId } = await owner.register({ fetch_event_types: [] });
      await using stream = await owner.events('... on DraftUpdatedEvent { draft { id content lastEditedAt } }', {
        queueId,
      });
      const before = { type: 'drafts', op: 'update', draft: wire, empty_topic_name: 'general chat' };
      await logAsBefore(service(), organization.id, before, [owner]);
      const lastEditedAt = '2023-11-14T22:13:20.000Z';
      expect(await stream.next()).toEqual({ draft: { id: globalId('Draft', 7), content: 'hi', lastEditedAt } });
    });
  });

  test.for(OWN_CHANGES)(
    'events of %s contain the same data as queries, for their user only',
    async ([, makeChanges]) => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      for (const user of [owner, member, guest]) {
        for (const [name, change] of Object.entries(await makeChanges(user))) {
          const [mine, others] = await expectShownAlike([user, user === owner ? member : owner], change);
          expect([mine?.length, others], name).toEqual([1, []]);
        }
      }
    },
  );

  test('removals of saved snippets and navigation views contain the id of the removed object', async () => {
    const { owner } = await createOrganization({}, { on: service() });
    const { saved_snippet_id: id } = await owner.ok('POST', '/saved_snippets', { title: 'hello', content: '**hi**' });
    const [snippet] = await expectShownAlike([owner], () => owner.ok('DELETE', `/saved_snippets/${id}`));
    const savedSnippetId = globalId('SavedSnippet', id);
    expect(snippet?.[0]).toMatchObject({ type: 'SavedSnippetRemovedEvent', event: { savedSnippetId } });
    const view = { fragment: 'narrow/is/starred', isPinned: true };
    const added = await owner.mutate('addNavigationView', view, 'navigationView { id }');
    const [removed] = await expectShownAlike([owner], () =>
      owner.ok('DELETE', `/navigation_views/${encodeURIComponent(view.fragment)}`),
    );
    const event = { navigationViewId: added.navigationView.id, fragment: view.fragment };
    expect(removed?.[0]).toMatchObject({ type: 'NavigationViewRemovedEvent', event });
  });

  describe('scheduled messages', () => {
    const LATER = 4_102_444_800;

    test('events contain the same data as queries, for the owner only', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const channel = await channelOf(owner, 'general', [owner, member, guest]);
      for (const author of [owner, member, guest]) {
        let id = 0;
        const [mine, others] = await expectShownAlike([author, author === owner ? member : owner], async () => {
          const later = { scheduledAt: '2100-01-01T00:00:00.250Z', readBySender: true };
          const message = { to: toTopic(channel, 'lunch'), content: '*hi*', ...later };
          const made = await author.mutate('scheduleMessage', message, 'scheduledMessage { databaseId }');
          id = made.scheduledMessage.databaseId;
        });
        expect([typesOf(mine ?? []), others]).toEqual([['ScheduledMessagesAddedEvent'], []]);
        expect(mine?.[0]?.event.scheduledMessages[0]).toMatchObject({
          scheduledAt: '2100-01-01T00:00:00.250Z',
          readBySender: true,
          state: 'SCHEDULED',
        });
        const [edited] = await expectShownAlike([author], () =>
          author.ok('PATCH', `/scheduled_messages/${id}`, { type: 'direct', to: [owner.id], content: 'bye' }),
        );
        expect(edited?.[0]).toMatchObject({
          type: 'ScheduledMessageUpdatedEvent',
          event: { scheduledMessage: { topicName: '', content: 'bye' } },
        });
        const [removed] = await expectShownAlike([author], () => author.ok('DELETE', `/scheduled_messages/${id}`));
        expect(removed?.[0]?.event.scheduledMessageId).toBe(globalId('ScheduledMessage', id));
      }
    });

    test('events logged by a previous version contain the logged fields, and the others are read', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      const channel = await channelOf(owner, 'general', [owner]);
      const message = { type: 'channel', to: channel, topic: 'lunch', content: 'hi', read_by_sender: true };
      const { scheduled_message_id: id } = await owner.ok('POST', '/scheduled_messages', {
        ...message,
        scheduled_delivery_timestamp: LATER,
      });
      const wire = {
        ...{ scheduled_message_id: id, type: 'stream', to: channel, topic: 'lunch', content: 'hi', failed: false },
        ...{ rendered_content: '<p>hi</p>', scheduled_delivery_timestamp: LATER },
      };
      const before = { type: 'scheduled_messages', op: 'update', scheduled_message: wire, empty_topic_name: 'none' };
      const [heard] = await expectShownAlike([owner], () => logAsBefore(service(), organization.id, before, [owner]));
      expect(heard?.[0]?.event.scheduledMessage).not.toHaveProperty('readBySender');
    });
  });

  describe('reminders', () => {
    test('events contain the same data as queries, for the owner only', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const channel = await channelOf(owner, 'general', [owner, member, guest]);
      const messageId = await say(owner, channel, 'lunch');
      for (const author of [owner, member, guest]) {
        let id = 0;
        const [mine, others] = await expectShownAlike([author, author === owner ? member : owner], async () => {
          const reminder = { messageId, scheduledAt: '2100-01-01T00:00:00.750Z' };
          id = (await author.mutate('createReminder', reminder, 'reminder { databaseId }')).reminder.databaseId;
        });
        expect([typesOf(mine ?? []), others]).toEqual([['RemindersAddedEvent'], []]);
        expect(mine?.[0]?.event.reminders[0]).toMatchObject({
          scheduledAt: '2100-01-01T00:00:00.750Z',
        });
        const [removed] = await expectShownAlike([author], () => author.ok('DELETE', `/reminders/${id}`));
        expect(removed?.[0]?.event.reminderId).toBe(globalId('Reminder', id));
      }
    });

    test('events logged by a previous version contain the logged fields, and the others are read', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      const messageId = await say(owner, await channelOf(owner, 'general', [owner]), 'lunch');
      await owner.ok('POST', '/reminders', { message_id: messageId, scheduled_delivery_timestamp: 4e9 });
      const { reminders } = await owner.ok('GET', '/reminders');
      const before = { type: 'reminders', op: 'add', reminders };
      const [heard] = await expectShownAlike([owner], () => logAsBefore(service(), organization.id, before, [owner]));
      expect(heard?.[0]?.event.reminders[0]).not.toHaveProperty('failureReason');
    });
  });

  describe('navigation views', () => {
    test('events logged by a previous version contain only the fragment', async () => {
      const { owner, organization } = await createOrganization({}, { on: service() });
      const view = { fragment: 'inbox', is_pinned: true, name: null };
      const [heard] = await expectShownAlike([owner], async () => {
        const navigation_view = 'navigation_view';
        const events = [
          { op: 'add', navigation_view: view },
          { op: 'update', fragment: 'inbox', data: { is_pinned: false } },
          { op: 'remove', fragment: 'inbox' },
        ];
        for (const event of events)
          await logAsBefore(service(), organization.id, { type: navigation_view, ...event }, [owner]);
      });
      expect(heard?.map(({ event: { position: _, type: _type, own_outdated: _own, ...event } }) => event)).toEqual([
        { actor: null, navigationView: null },
        { actor: null, navigationView: null, fragment: 'inbox' },
        { actor: null, navigationViewId: null, fragment: 'inbox' },
      ]);
    });
  });
}
