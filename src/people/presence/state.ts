import type { StateGroup } from '../../api/state-group.ts';
import { yieldToEventLoop } from '../../platform/time-slices.ts';
import { readPresences } from './reads.ts';
import { presencesByEmail, presencesById } from './wire.ts';

/** Maximum number of rows in a batch. Further rows are in the next batch. Reading a batch takes a few milliseconds. */
const AT_ONCE = 1_000;
/** A value that is lower than the id of any presence change. */
const BEFORE_ALL = -1;

/**
 * State group (a part of the response of `POST /register`) with the presence of users: by user id, or by email address for old
 * clients.
 */
export const presenceState: StateGroup = {
  name: 'presence',
  async read({ app, viewer, db, options, presenceHistoryDays: historyDays }) {
    const now = app.now();
    const isModern = options.slimPresence || options.capabilities.simplified_presence_events;
    const presences = {};
    let lastUpdateId = BEFORE_ALL;
    for (let isEnd = false; !isEnd; ) {
      const page = { above: lastUpdateId, below: Number.MAX_SAFE_INTEGER, limit: AT_ONCE, newestFirst: false };
      const some = await readPresences(db, viewer.organization, { historyDays }, now, page);
      Object.assign(presences, isModern ? presencesById(some.presences) : presencesByEmail(some.presences));
      lastUpdateId = some.presences.at(-1)?.updateId ?? lastUpdateId;
      isEnd = some.presences.length < AT_ONCE;
      if (!isEnd) await yieldToEventLoop();
    }
    return {
      presences,
      presence_last_update_id: lastUpdateId,
      server_timestamp: now.getTime() / 1000,
    };
  },
};
