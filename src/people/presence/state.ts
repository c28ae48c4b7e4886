import type { StateGroup } from '../../api/state-group.ts';
import { letOthersIn } from '../../platform/let-others-in.ts';
import { readPresences } from './reads.ts';
import { presencesByEmail, presencesById } from './wire.ts';

/** Our choice: so many take some milliseconds. */
const AT_ONCE = 1_000;
/** There is no change before the first. */
const BEFORE_ALL = -1;

/** Who was there when: by id, or for old clients by address. */
export const presenceState: StateGroup = {
  name: 'presence',
  async read({ app, viewer, db, options, presenceHistoryDays: historyDays }) {
    const now = app.now();
    const isModern = options.slimPresence || options.capabilities.simplified_presence_events;
    const presences = {};
    let lastUpdateId = BEFORE_ALL;
    for (let isEnd = false; !isEnd; ) {
      const page = { above: lastUpdateId, below: Number.MAX_SAFE_INTEGER, limit: AT_ONCE, newestFirst: false };
      const some = await readPresences(db, viewer.realm, { historyDays }, now, page);
      Object.assign(presences, isModern ? presencesById(some.presences) : presencesByEmail(some.presences));
      lastUpdateId = some.presences.at(-1)?.updateId ?? lastUpdateId;
      isEnd = some.presences.length < AT_ONCE;
      if (!isEnd) await letOthersIn();
    }
    return {
      presences,
      presence_last_update_id: lastUpdateId,
      server_timestamp: now.getTime() / 1000,
    };
  },
};
