import type { StateGroup } from '../../api/state-group.ts';

/** Whether calls can be made in the user's name. */
export const videoCallsState: StateGroup = {
  name: 'video_calls',
  async read({ viewer, db }) {
    return {
      has_videoprovider_token:
        (await db.callToken.count({ where: { realmId: viewer.realm.id, userId: viewer.id } })) > 0,
    };
  },
};
