import { fresh } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { heldBy } from '../helpers/piles.ts';

export const alertWords: FeatureTests = {
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
  piles: {
    alert_words: {
      fill: ({ sql }) =>
        sql(`INSERT INTO alert_word (realm_id, user_id, word, head)
        SELECT $1, $2, 'word' || n, 'word' || n FROM generate_series(1, 500) AS n`),
      rest: ({ member }, i) => member.rest('POST', '/users/me/alert_words', { alert_words: [`new${i}`] }),
      graphql: (_, i) => ['addAlertWords', { words: [`new${i}`] }],
      held: heldBy('alert_word', 'user_id = $1'),
      free: ({ member }) => member.ok('DELETE', '/users/me/alert_words', { alert_words: ['word1'] }),
    },
  },
  rules: {
    alert_words: (state, { alert_words }) => {
      state['alert_words'] = alert_words;
    },
  },
};
