import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';

/** Event with the complete list of alert words after a change. Recipients: the user's own clients. */
export const alertWordsChanged = defineEvent('alert_words', undefined, (words: readonly string[]) => ({
  alert_words: words,
}));

documentEvent(alertWordsChanged, 'the user whose alert words changed', {
  alert_words: z.array(z.string()).describe('All alert words after the change.'),
});
