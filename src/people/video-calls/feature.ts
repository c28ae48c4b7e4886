import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { getVideoCallComplete, getVideoCallRegister, postVideoCall } from './rest.ts';

/**
 * State group (a part of the response of `POST /register`) that contains whether video calls can be made in the viewer's name.
 */
const videoCallsState: StateGroup = {
  name: 'video_calls',
  async read({ viewer, db }) {
    return {
      has_videoprovider_token:
        (await db.callToken.count({ where: { organizationId: viewer.organization.id, userId: viewer.id } })) > 0,
    };
  },
};

export const videoCalls: Feature = {
  endpoints: [postVideoCall, getVideoCallRegister, getVideoCallComplete],
  state: [videoCallsState],
};
