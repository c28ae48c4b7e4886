import { pino } from 'pino';
import { expect, test } from 'vitest';
import { noRecipients } from '../../src/events/audience.ts';
import { defineEvent } from '../../src/events/define.ts';
import { type EventPiece, keepResult, keptRenderings, keptResult, piecesOf } from '../../src/events/rendering.ts';
import type { StoredEvent } from '../../src/events/stored.ts';
import { ALL_CAPABILITIES, type EventView } from '../../src/events/view.ts';
import type { SentPayload } from '../../src/messages/events.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { createOrganization } from '../helpers/server.ts';

const MIB = 1024 * 1024;
const log = pino({ level: 'silent' });

defineEvent('test_said_for_once', undefined, (text: string) => ({ text }), { perUser: true });

const storedAs = (id: number, { type, payload }: Pick<StoredEvent, 'type' | 'payload'>, bytes = 100): StoredEvent => ({
  ...{ id, type, op: null, payload, audience: noRecipients(), width: 1, ephemeral: false },
  ...{ createdAt: new Date(), actorId: null, bytes },
});

const eventOf = (id: number, text: string): StoredEvent =>
  storedAs(id, { type: 'test_said_for_once', payload: { text } }, text.length);

const viewOf = (userId: number): EventView => ({
  ...{ role: 400, userId, isRecipient: true, queueId: '' },
  options: {
    ...{ applyMarkdown: true, clientGravatar: false, includeSubscribers: 'true', slimPresence: true },
    capabilities: ALL_CAPABILITIES,
  },
});

const pieceFor = (event: StoredEvent, userId: number) => piecesOf(event, viewOf(userId), log)[0] as EventPiece;

test('events are serialized once for all viewers with the same view', () => {
  const event = eventOf(1, 'hello');
  expect(pieceFor(event, 1)).toBe(pieceFor(event, 1));
  expect(pieceFor(event, 1)).not.toBe(pieceFor(event, 2));
  expect(pieceFor(event, 1).event).toMatchObject({ text: 'hello' });
});

test('senders and editors share the serialized event with other users who have the same flags', () => {
  const sender = { id: 1, fullName: 'Ann', email: 'ann@example.com' } as SentPayload['sender'];
  const sent = {
    ...{ id: 1, recipientId: 2, sender, realm: 'a', client: 'bot', timestamp: 0, emptyTopicName: 'general' },
    ...{ channel: { id: 1, name: 'c' }, members: [], topic: 't', topicLinks: [], content: 'x', renderedContent: '' },
    ...{ channelWildcard: false, mentioned: [3], topicMentioned: [], alerted: [] },
  };
  const unread = storedAs(1, { type: 'message', payload: { ...sent, readBySender: false } });
  expect(pieceFor(unread, 1)).toBe(pieceFor(unread, 2));
  expect(pieceFor(unread, 1)).not.toBe(pieceFor(unread, 3));
  const read = storedAs(2, { type: 'message', payload: { ...sent, readBySender: true } });
  expect(pieceFor(read, 1)).not.toBe(pieceFor(read, 2));

  const lists = { starred: [3], collapsed: [], mentioned: [], topicMentioned: [], alerted: [] };
  const flags = { ...lists, channelWildcard: false, most: 'read', others: {} };
  const edited = { editorId: 1, timestamp: 0, id: 1, ids: [1], channel: null, move: null, content: null, flags };
  const updated = storedAs(3, { type: 'update_message', payload: { ...edited, emptyTopicName: 'general' } });
  expect(pieceFor(updated, 1)).toBe(pieceFor(updated, 2));
  expect(pieceFor(updated, 1)).not.toBe(pieceFor(updated, 3));
});

test('serialized events for many kinds of viewers are cached within a limit, then serialized again', () => {
  const event = eventOf(1, 'hello');
  const first = pieceFor(event, 1);
  const others = Array.from({ length: 100 }, (_, i) => eventOf(2 + i, 'x'.repeat(MIB)));
  for (const other of others) expect(pieceFor(other, 1).id).toBe(other.id);
  expect(pieceFor(event, 1)).not.toBe(first);
  expect(pieceFor(event, 1)).toEqual(first);
});

test('results of operations for events are cached within a limit', () => {
  const piece = pieceFor(eventOf(1, 'hello'), 1);
  const makers = Array.from({ length: 20 }, () => ({}));
  for (const maker of makers) keepResult(piece, maker, Buffer.alloc(MIB));
  expect(makers.filter((maker) => keptResult(piece, maker) !== undefined)).toEqual(makers);
  const later = Array.from({ length: 20 }, (_, i) => pieceFor(eventOf(2 + i, 'hello'), 1));
  for (const one of later) keepResult(one, later, Buffer.alloc(MIB));
  expect(keptResult(later.at(-1) as EventPiece, later)).toBeDefined();
  expect(makers.filter((maker) => keptResult(piece, maker) !== undefined)).toEqual([]);
});

test('a result beyond the limit is not cached, and evicts no others', () => {
  const [piece, other] = [pieceFor(eventOf(1, 'hello'), 1), pieceFor(eventOf(2, 'hello'), 1)];
  keepResult(other, piece, Buffer.alloc(MIB));
  keepResult(piece, piece, Buffer.alloc(100 * MIB));
  expect(keptResult(piece, piece)).toBeUndefined();
  expect(keptResult(other, piece)).toBeDefined();
});

test('serialized events are dropped together with their event, when the log tail is full', async () => {
  await using service = await startInProcess();
  const { owner, organization } = await createOrganization({}, { on: service });
  const { queue_id } = await owner.ok('POST', '/register', { event_types: ['drafts'] });
  const tail = await service.app.hub.tail(organization.id);
  const before = keptRenderings();
  for (const content of ['one', 'two', 'three']) {
    await owner.ok('POST', '/drafts', { drafts: [{ type: '', to: [], topic: '', content }] });
  }
  const { events } = await owner.ok('GET', '/events', { queue_id, last_event_id: -1, dont_block: true });
  expect(events).toHaveLength(3);
  expect(keptRenderings()).toBe(before + 3);
  tail.letGo();
  expect(keptRenderings()).toBe(before);
});
