import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { addAlertWords, listAlertWords, removeAlertWords } from './service.ts';

builder.queryField('alertWords', (t) =>
  t.stringList({
    nullable: true,
    description:
      "The viewer's alert words, oldest first, at most 500. Messages that contain one of them are flagged for the " +
      'viewer.',
    resolve: (_root, _args, ctx) => listAlertWords(signedIn(ctx)),
  }),
);

const payload = () => ({
  alertWords: {
    type: ['String'] as ['String'],
    description: 'All alert words after the change, oldest first, at most 500.',
  },
});

mutation('addAlertWords', {
  description: 'Adds alert words of the viewer. Words that differ only in case from existing ones are ignored.',
  input: (t) => ({
    words: t.stringList({ description: 'Words to add, at most 100 characters each. Blank words are ignored.' }),
  }),
  payload,
  resolve: async (ctx, { words }) => ({ alertWords: await addAlertWords(ctx, words) }),
});

mutation('removeAlertWords', {
  description: 'Removes alert words of the viewer.',
  input: (t) => ({ words: t.stringList({ description: 'Words to remove. Case-insensitive.' }) }),
  payload,
  resolve: async (ctx, { words }) => ({ alertWords: await removeAlertWords(ctx, words) }),
});

eventType<{ alert_words: readonly string[] }>(
  'alert_words',
  undefined,
  'AlertWordsChangedEvent',
  (t) => ({
    alertWords: t.stringList({
      description: 'All alert words, oldest first.',
      resolve: ({ event }) => [...event.alert_words],
    }),
  }),
  { description: "The viewer's alert words changed.", outdates: ['alertWords'] },
);
