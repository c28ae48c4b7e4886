import type { StateGroup } from '../../api/state-group.ts';
import { readAlertWords } from './service.ts';

/** The viewer's alert words, in the order in which they were added. */
export const alertWordsState: StateGroup = {
  name: 'alert_words',
  async read({ viewer, db }) {
    return { alert_words: await readAlertWords(db, viewer) };
  },
};
