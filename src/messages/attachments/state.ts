import type { StateGroup } from '../../api/state-group.ts';
import { spaceUsedBy } from './queries.ts';

/** Initial state of event queues: the size of the user's files, in bytes. */
export const attachmentState: StateGroup = {
  name: 'attachment',
  async read({ viewer, db }) {
    const space = { organizationId: viewer.organization.id, ownerId: viewer.id };
    return { upload_space_used: await spaceUsedBy(db, space) };
  },
};
