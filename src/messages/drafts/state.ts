import { userSetting } from '../../access/user-settings.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { TOTALS } from '../../platform/totals.ts';
import { toWire, withShownTopic } from './wire.ts';

/**
 * Initial state of event queues: drafts of the user, newest edit first. Empty if the user has disabled the synchronization of
 * drafts.
 */
export const draftsState: StateGroup = {
  name: 'drafts',
  async read({ viewer, db, options }) {
    if (!userSetting(viewer.user, 'enable_drafts_synchronization')) return { drafts: [] };
    const rows = await db.draft.findMany({
      where: { organizationId: viewer.organization.id, authorId: viewer.id },
      orderBy: [{ lastEditedAt: 'desc' }, { id: 'desc' }],
      take: TOTALS.drafts.max,
    });
    const knowsEmptyTopic = options.capabilities.empty_topic_name;
    return {
      drafts: rows.map((row) => withShownTopic(toWire(row), emptyTopicName(viewer.organization), knowsEmptyTopic)),
    };
  },
};
