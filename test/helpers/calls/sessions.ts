import { OWNER_PASSWORD } from '../scene.ts';
import type { FeatureCalls } from './feature.ts';

export const sessions: FeatureCalls = {
  rest: {
    'POST /sessions': ({ username }) => [{ parameters: { username, password: OWNER_PASSWORD } }],
    'GET /sessions': () => [{}],
    'DELETE /sessions/{session_id}': ({ sessionId }) => [{ slots: { session_id: sessionId } }],
    'DELETE /sessions': () => [{}],
    'DELETE /sessions/current': () => [{ refusal: 'Signed in by a key, and not in a session' }],
  },
  mutations: {
    signIn: ({ username }) => [{ username, password: OWNER_PASSWORD }],
    revokeSession: ({ sessionId }) => [{ sessionId }],
    revokeOtherSessions: () => [{}],
    signOut: () => [{}],
  },
  refusals: { signOut: 'Signed in by a key, and not in a session' },
  nodes: ({ sessionId }) => ({ Session: sessionId }),
};
