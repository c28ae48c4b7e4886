import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { isAdministrator } from '../../platform/roles.ts';
import { readWireBots } from '../bot-wire.ts';
import { deleteBot, getBotKey, getBots, patchBot, postBot, postBotKey, postOwnKey } from './rest.ts';

/**
 * State group (a part of the response of `POST /register`) with the viewer's own bots, or all bots if the viewer is an
 * administrator. Deactivated bots are included, because no event removes them.
 */
const botsState: StateGroup = {
  name: 'realm_bot',
  async read({ viewer, db }) {
    const own = isAdministrator(viewer.role) ? {} : { botOwnerId: viewer.id };
    const bots = await db.user.findMany({
      where: { organizationId: viewer.organization.id, botType: { not: null }, isSystem: false, ...own },
      orderBy: { id: 'asc' },
    });
    return { realm_bots: await readWireBots(db, viewer.organization.id, bots) };
  },
};

export const bots: Feature = {
  endpoints: [getBots, postBot, patchBot, deleteBot, getBotKey, postBotKey],
  state: [botsState],
};

export const ownApiKey: Feature = {
  endpoints: [postOwnKey],
};
