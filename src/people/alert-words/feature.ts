import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { deleteAlertWords, getAlertWords, postAlertWords } from './rest.ts';
import { readAlertWords } from './service.ts';

/**
 * State group (a part of the response of `POST /register`) with the viewer's alert words, in the order in which they were
 * added.
 */
const alertWordsState: StateGroup = {
  name: 'alert_words',
  async read({ viewer, db }) {
    return { alert_words: await readAlertWords(db, viewer) };
  },
};

export const alertWords: Feature = {
  endpoints: [getAlertWords, postAlertWords, deleteAlertWords],
  state: [alertWordsState],
};
