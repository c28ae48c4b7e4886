import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { deleteCurrentSession, deleteOtherSessions, deleteSession, getSessions, postSession } from './rest.ts';

export const sessions: Feature = {
  endpoints: [postSession, getSessions, deleteSession, deleteCurrentSession, deleteOtherSessions],
};
