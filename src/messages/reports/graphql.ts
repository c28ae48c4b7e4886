import { mutation } from '../../api/graphql/mutation.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { reportMessage } from './service.ts';

mutation('reportMessage', {
  description: "Reports a message to the organization's moderators.",
  input: (t) => ({
    messageId: t.id(refersTo('Message')),
    reportType: t.string({ description: 'A key of the types the organization names: "spam", "harassment" …' }),
    description: t.string({
      required: false,
      defaultValue: '',
      description: 'At most 1,000 characters. Required for "other".',
    }),
  }),
  payload: () => ({ messageId: { type: 'ID', refersTo: 'Message' } }),
  resolve: async (ctx, { messageId, reportType, description }) => {
    await reportMessage(ctx, messageId, { reportType, description: description ?? '' });
    return { messageId };
  },
});
