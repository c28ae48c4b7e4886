import type { FeatureTests } from '../helpers/feature.ts';
import { PNG } from '../helpers/pictures.ts';

export const avatars: FeatureTests = {
  rest: {
    'POST /users/me/avatar': () => [{ parameters: { file: PNG } }],
    'DELETE /users/me/avatar': () => [{}],
  },
  mutations: {
    setAvatar: () => [{ image: PNG }, { image: null }],
  },
};
