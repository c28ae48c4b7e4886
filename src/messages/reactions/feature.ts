import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { deleteReaction, postReaction } from './rest.ts';

export const reactions: Feature = {
  endpoints: [postReaction, deleteReaction],
};
