import { builder } from '../../api/graphql/builder.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { REPORT_TYPES } from '../../platform/limits.ts';
import { Message, readBack } from '../graphql.ts';
import { reportMessage } from './service.ts';

const ReportType = builder.enumType('ReportType', {
  description: 'What a message is reported as.',
  values: Object.fromEntries(
    REPORT_TYPES.map(({ key, name }) => [key.toUpperCase(), { value: key, description: `${name}.` }]),
  ) as Record<string, { readonly value: (typeof REPORT_TYPES)[number]['key'] }>,
});

mutation('reportMessage', {
  description: "Reports a message to the organization's moderators.",
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'A message the viewer may read.' }),
    reportType: t.field({ type: ReportType, description: 'What is wrong with it.' }),
    description: t.string({
      required: false,
      defaultValue: '',
      description: 'What more there is to say: at most 1,000 characters. Not blank for OTHER.',
    }),
  }),
  // Not `message`: that is the word of every error in the same union.
  payload: () => ({
    reportedMessage: {
      type: Message,
      nullable: true,
      description: 'The message that was reported; null when it is gone by now.',
    },
  }),
  resolve: async (ctx, { messageId, reportType, description }) => {
    await reportMessage(ctx, messageId, { reportType, description: description ?? '' });
    return { reportedMessage: await readBack(ctx, messageId) };
  },
});
