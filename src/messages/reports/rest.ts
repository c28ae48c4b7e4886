import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, text } from '../../api/rest/params.ts';
import { reportMessage } from './service.ts';

export const postReport = endpoint({
  method: 'POST',
  path: '/messages/{message_id}/report',
  auth: 'basic',
  equivalents: ['reportMessage'],
  summary: 'Report a message',
  description: "Sends the report to the organization's channel for moderation requests.",
  params: {
    message_id: inPath(z.int(), { description: 'Message id.' }),
    report_type: text(z.string(), {
      description: 'Reason for the report: a key of `server_report_message_types`.',
      example: 'spam',
    }),
    description: text(z.string(), {
      description: 'Explanation. At most 1,000 characters. Required for "other".',
    }).default(''),
  },
  reply: {},
  async handle(ctx, { message_id, report_type, description }) {
    await reportMessage(ctx, message_id, { reportType: report_type, description });
  },
});
