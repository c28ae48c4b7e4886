import type { FeatureCalls } from './feature.ts';
import { fresh } from './shared.ts';

export const alertWords: FeatureCalls = {
  rest: {
    'GET /users/me/alert_words': () => [{}],
    'POST /users/me/alert_words': () => [{ parameters: { alert_words: [fresh()] } }],
    'DELETE /users/me/alert_words': () => [{ parameters: { alert_words: ['new'] } }],
  },
  queries: {
    alertWords: () => [{}],
  },
  mutations: {
    addAlertWords: () => [{ words: [fresh()] }],
    removeAlertWords: () => [{ words: ['new'] }],
  },
};
