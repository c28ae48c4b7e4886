import { defineEvent } from '../../events/define.ts';

/** To the user's own clients: all words there are after the change. */
export const alertWordsChanged = defineEvent('alert_words', undefined, (words: readonly string[]) => ({
  alert_words: words,
}));
