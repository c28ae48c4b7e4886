import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import { deleteAvatar, postAvatar } from './rest.ts';

export const avatars: Feature = {
  endpoints: [postAvatar, deleteAvatar],
};
