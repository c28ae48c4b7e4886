import { LATER, PAGE, REST_LATER } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { heldBy, removeFirst, waiting } from '../helpers/piles.ts';

export const reminders: FeatureTests = {
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
  piles: {
    reminders: {
      fill: ({ sql, messageId }) => sql(waiting('reminder', String(messageId)), 1_000, 1),
      rest: ({ member, messageId }) => member.rest('POST', '/reminders', { message_id: messageId, ...REST_LATER }),
      graphql: ({ messageId }) => ['createReminder', { messageId, scheduledAt: LATER }],
      held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'reminder'"),
      free: ({ member }) => removeFirst(member, '/reminders', 'reminder_id'),
    },
    reminders_total_length: {
      fill: ({ sql, messageId }) => sql(waiting('reminder', String(messageId)), 50, 10_000),
      rest: ({ member, messageId }) => member.rest('POST', '/reminders', { message_id: messageId, ...REST_LATER }),
      graphql: ({ messageId }) => ['createReminder', { messageId, scheduledAt: LATER }],
      held: heldBy('scheduled_message', "owner_id = $1 AND kind = 'reminder'"),
      free: ({ member }) => removeFirst(member, '/reminders', 'reminder_id'),
    },
  },
  objects: {
    reminderId: async (owner, { messageId, text }) =>
      (await owner.ok('POST', '/reminders', { message_id: messageId, ...REST_LATER, note: text })).reminder_id,
  },
  lists: { reminders: 'reminder_id' },
  rules: {
    'reminders/add': (state, { reminders }) => {
      for (const reminder of reminders) state['reminders'][reminder.reminder_id] = reminder;
    },
    'reminders/remove': (state, { reminder_id }) => {
      delete state['reminders'][reminder_id];
    },
  },
};

declare module '../helpers/scene.ts' {
  interface Names {
    readonly reminderId: number;
  }
}
