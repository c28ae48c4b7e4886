import type { FeatureTests } from '../helpers/feature.ts';
import { OWNER_PASSWORD } from '../helpers/server.ts';

export const sessions: FeatureTests = {
  rest: {
    'POST /sessions': ({ username }) => [{ parameters: { username, password: OWNER_PASSWORD } }],
    'GET /sessions': () => [{}],
    'GET /users/{user_id}/sessions': ({ userId }) => [{ slots: { user_id: userId } }],
    'DELETE /sessions/{session_id}': ({ sessionId }) => [{ slots: { session_id: sessionId } }],
    'DELETE /sessions': () => [{}],
    'DELETE /sessions/current': () => [
      { refusal: 'The request has no session to end: it is authenticated by an API key' },
    ],
  },
  mutations: {
    signIn: ({ username }) => [{ username, password: OWNER_PASSWORD }],
    revokeSession: ({ sessionId }) => [{ sessionId }],
    revokeOtherSessions: () => [{}],
    signOut: () => [{}],
  },
  refusals: { signOut: 'The request has no session to end: it is authenticated by an API key' },
  nodes: ({ sessionId }) => ({ Session: sessionId }),
};
