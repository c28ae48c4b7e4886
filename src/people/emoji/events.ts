import { z } from 'zod';
import type { AuditEntry } from '../../events/audit.ts';
import { defineEvent, type RenderedEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { documentEvent } from '../../events/wire.ts';
import type { CustomEmoji } from '../../generated/prisma/client.ts';
import { toWire, toWireMap, wireCustomEmoji } from './wire.ts';

// Recipients of all events about emoji: all users of the organization. Each change of an emoji is published by two events: one
// with the change alone, and one with the complete list after the change. Each client receives the event that it supports.

const receivesOneEmoji = ({ options }: EventView) => options.capabilities.individual_emoji_changes;

/** Renders an event only for clients with the capability `individual_emoji_changes`. */
const toCapable = (op: string) => ({
  render: (payload: object, view: EventView): RenderedEvent | null =>
    receivesOneEmoji(view) ? { type: 'realm_emoji', op, ...payload } : null,
});

const audited = (action: 'emoji_added' | 'emoji_deactivated', id: number, name: string): AuditEntry => ({
  ...{ action, objectType: 'emoji', objectId: id, objectName: name },
});

export const customEmojiAdded = defineEvent('realm_emoji', 'add', (emoji: CustomEmoji) => ({ emoji: toWire(emoji) }), {
  ...toCapable('add'),
  audit: ({ id, name }) => audited('emoji_added', id, name),
});

export const customEmojiDeactivated = defineEvent(
  'realm_emoji',
  'update_one',
  ({ id }: CustomEmoji) => ({ emoji_id: String(id), data: { deactivated: true } }),
  { ...toCapable('update_one'), audit: ({ id, name }) => audited('emoji_deactivated', id, name) },
);

/** Event with the complete list, for clients without the capability `individual_emoji_changes`. */
export const customEmojiChanged = defineEvent(
  'realm_emoji',
  'update',
  (all: readonly CustomEmoji[]) => ({ realm_emoji: toWireMap(all) }),
  { render: (payload, view) => (receivesOneEmoji(view) ? null : { type: 'realm_emoji', op: 'update', ...payload }) },
);

const CAPABLE = 'all users of the organization, at clients with the capability `individual_emoji_changes`';
documentEvent(customEmojiAdded, CAPABLE, { emoji: wireCustomEmoji });
documentEvent(customEmojiDeactivated, CAPABLE, {
  emoji_id: z.string(),
  data: z.strictObject({ deactivated: z.literal(true) }),
});
documentEvent(
  customEmojiChanged,
  'all users of the organization, at clients without the capability `individual_emoji_changes`',
  {
    realm_emoji: z.record(z.string(), wireCustomEmoji).describe('All custom emoji, by id.'),
  },
);
