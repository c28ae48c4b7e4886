import type { FeatureCalls } from './feature.ts';
import { LATER, PAGE, REST_LATER } from './shared.ts';

export const reminders: FeatureCalls = {
  rest: {
    'GET /reminders': () => [{}],
    'POST /reminders': ({ messageId }) => [{ parameters: { ...REST_LATER, message_id: messageId, note: 'a note' } }],
    'DELETE /reminders/{reminder_id}': ({ reminderId }) => [{ slots: { reminder_id: reminderId } }],
  },
  queries: {
    reminders: () => [{ ...PAGE, orderBy: { field: 'ID', direction: 'DESC' } }],
  },
  mutations: {
    createReminder: ({ messageId }) => [{ messageId, scheduledAt: LATER, note: 'a note' }],
    deleteReminder: ({ reminderId }) => [{ reminderId }],
  },
  nodes: ({ reminderId }) => ({ Reminder: reminderId }),
};
