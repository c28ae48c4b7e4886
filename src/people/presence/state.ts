import type { StateGroup } from '../../api/state-group.ts';
import { readPresences } from './reads.ts';
import { presencesByEmail, presencesById } from './wire.ts';

/** Who was there when: by id, or for old clients by address. */
export const presenceState: StateGroup = {
  name: 'presence',
  async read({ app, viewer, db, options, presenceHistoryDays: historyDays }) {
    const now = app.now();
    const { presences, lastUpdateId } = await readPresences(db, viewer.realm, { historyDays }, now);
    const isModern = options.slimPresence || options.capabilities.simplified_presence_events;
    return {
      presences: isModern ? presencesById(presences) : presencesByEmail(presences),
      presence_last_update_id: lastUpdateId,
      server_timestamp: now.getTime() / 1000,
    };
  },
};
