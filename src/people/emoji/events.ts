import { z } from 'zod';
import { defineEvent, type RenderedEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import { tells } from '../../events/wire.ts';
import type { CustomEmoji } from '../../generated/prisma/client.ts';
import { toWire, toWireMap, wireCustomEmoji } from './wire.ts';

// All go to everyone of the organisation: a change is told as such, and as all there are after it, and each client hears
// what it can handle.

const hearsOne = ({ options }: EventView) => options.capabilities.individual_emoji_changes;

/** To the clients that hear of one emoji at a time. */
const toCapable = (op: string) => ({
  render: (payload: object, view: EventView): RenderedEvent | null =>
    hearsOne(view) ? { type: 'realm_emoji', op, ...payload } : null,
});

export const customEmojiAdded = defineEvent(
  'realm_emoji',
  'add',
  (emoji: CustomEmoji) => ({ emoji: toWire(emoji) }),
  toCapable('add'),
);

export const customEmojiDeactivated = defineEvent(
  'realm_emoji',
  'update_one',
  ({ id }: CustomEmoji) => ({ emoji_id: String(id), data: { deactivated: true } }),
  toCapable('update_one'),
);

/** To the clients that hear of all emoji each time. */
export const customEmojiChanged = defineEvent(
  'realm_emoji',
  'update',
  (all: readonly CustomEmoji[]) => ({ realm_emoji: toWireMap(all) }),
  { render: (payload, view) => (hearsOne(view) ? null : { type: 'realm_emoji', op: 'update', ...payload }) },
);

const CAPABLE = 'everyone whose client knows `individual_emoji_changes`';
tells(customEmojiAdded, CAPABLE, { emoji: wireCustomEmoji });
tells(customEmojiDeactivated, CAPABLE, {
  emoji_id: z.string(),
  data: z.strictObject({ deactivated: z.literal(true) }),
});
tells(customEmojiChanged, 'everyone whose client does not know `individual_emoji_changes`', {
  realm_emoji: z.record(z.string(), wireCustomEmoji).describe('All there are, by id.'),
});
