import { PNG } from '../pictures.ts';
import type { FeatureCalls } from './feature.ts';

export const avatars: FeatureCalls = {
  rest: {
    'POST /users/me/avatar': () => [{ parameters: { file: PNG } }],
    'DELETE /users/me/avatar': () => [{}],
  },
  mutations: {
    setAvatar: () => [{ image: PNG }, { image: null }],
  },
};
