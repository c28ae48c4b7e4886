import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { addAlertWords, listAlertWords, removeAlertWords } from './service.ts';

builder.queryField('alertWords', (t) =>
  t.stringList({
    nullable: true,
    description:
      "The viewer's alert words, in the order in which they were added, at most 500. Messages that hold one are " +
      'flagged for the viewer.',
    resolve: (_root, _args, ctx) => listAlertWords(signedIn(ctx)),
  }),
);

const payload = () => ({
  alertWords: {
    type: ['String'] as ['String'],
    description: 'All there are after it, in the order in which they were added; at most 500.',
  },
});

mutation('addAlertWords', {
  description: "Adds to the viewer's alert words. One that is there in another case stays as it is.",
  input: (t) => ({
    words: t.stringList({ description: 'What to add: at most 100 characters each. Blank ones are passed over.' }),
  }),
  payload,
  resolve: async (ctx, { words }) => ({ alertWords: await addAlertWords(ctx, words) }),
});

mutation('removeAlertWords', {
  description: "Removes from the viewer's alert words.",
  input: (t) => ({ words: t.stringList({ description: 'What to remove, in whatever case.' }) }),
  payload,
  resolve: async (ctx, { words }) => ({ alertWords: await removeAlertWords(ctx, words) }),
});

eventType<{ alert_words: readonly string[] }>(
  'alert_words',
  undefined,
  'AlertWordsChangedEvent',
  (t) => ({
    alertWords: t.stringList({
      description: 'All there are, in the order in which they were added.',
      resolve: ({ event }) => [...event.alert_words],
    }),
  }),
  { description: "The user's alert words changed; these are all of them." },
);
