import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { deleteCustomEmoji, getCustomEmoji, postCustomEmoji } from './rest.ts';
import { toWireMap } from './wire.ts';

/**
 * State group (a part of the response of `POST /register`) with the custom emoji by id. Deactivated emoji are included, because
 * messages and reactions may still show them.
 */
const customEmojiState: StateGroup = {
  name: 'realm_emoji',
  async read({ viewer, db }) {
    const rows = await db.customEmoji.findMany({
      where: { organizationId: viewer.organization.id },
      orderBy: { id: 'asc' },
    });
    return { realm_emoji: toWireMap(rows) };
  },
};

export const emoji: Feature = {
  endpoints: [getCustomEmoji, postCustomEmoji, deleteCustomEmoji],
  state: [customEmojiState],
};
