import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import {
  deleteInvite,
  deleteMultiuseInvite,
  getInvites,
  postInvites,
  postMultiuseInvite,
  postWelcomeTest,
  resendInvite,
} from './rest.ts';

export const invitations: Feature = {
  endpoints: [
    ...[getInvites, postInvites, postMultiuseInvite, resendInvite, deleteInvite, deleteMultiuseInvite],
    postWelcomeTest,
  ],
};
