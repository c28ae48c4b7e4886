import { builder } from '../../api/graphql/schema/builder.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { REPORT_TYPES } from '../../platform/limits.ts';
import { Message, readBack } from '../graphql.ts';
import { reportMessage } from './service.ts';

const ReportType = builder.enumType('ReportType', {
  description: 'Reason for reporting a message.',
  values: Object.fromEntries(
    REPORT_TYPES.map(({ key, name }) => [key.toUpperCase(), { value: key, description: `${name}.` }]),
  ) as Record<string, { readonly value: (typeof REPORT_TYPES)[number]['key'] }>,
});

mutation('reportMessage', {
  description: "Reports a message to the organization's moderators.",
  input: (t) => ({
    messageId: t.id({ ...refersTo('Message'), description: 'Id of a message that the viewer can read.' }),
    reportType: t.field({ type: ReportType, description: 'Reason for the report.' }),
    description: t.string({
      required: false,
      defaultValue: '',
      description: 'Explanation. At most 1,000 characters. Required for OTHER.',
    }),
  }),
  // The field is not named `message`, because all errors in the same union have a field of that name.
  payload: () => ({
    reportedMessage: {
      type: Message,
      nullable: true,
      description: 'The reported message. Null if it no longer exists or the viewer can no longer read it.',
    },
  }),
  resolve: async (ctx, { messageId, reportType, description }) => {
    await reportMessage(ctx, messageId, { reportType, description: description ?? '' });
    return { reportedMessage: await readBack(ctx, messageId) };
  },
});
