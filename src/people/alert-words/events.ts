import { z } from 'zod';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';

/** To the user's own clients: all words there are after the change. */
export const alertWordsChanged = defineEvent('alert_words', undefined, (words: readonly string[]) => ({
  alert_words: words,
}));

tells(alertWordsChanged, 'the user', { alert_words: z.array(z.string()).describe('All there are after the change.') });
