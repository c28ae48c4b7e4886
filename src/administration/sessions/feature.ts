import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import {
  deleteCurrentSession,
  deleteOtherSessions,
  deleteSession,
  getSessions,
  getSessionsOf,
  postSecondStep,
  postSession,
} from './rest.ts';

export const sessions: Feature = {
  endpoints: [
    postSession,
    postSecondStep,
    getSessions,
    getSessionsOf,
    deleteSession,
    deleteCurrentSession,
    deleteOtherSessions,
  ],
};
