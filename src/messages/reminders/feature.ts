import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { toWire } from '../scheduled/reminder-wire.ts';
import { IN_ORDER } from '../scheduled/service.ts';
import { deleteReminderEndpoint, getReminders, postReminder } from './rest.ts';
import { undelivered } from './service.ts';

/**
 * Initial state of event queues (a part of the response of `POST /register`): the user's reminders that were not delivered,
 * including failed ones, earliest first.
 */
const remindersState: StateGroup = {
  name: 'reminders',
  async read({ viewer, db }) {
    const rows = await db.scheduledMessage.findMany({ where: undelivered(viewer), orderBy: IN_ORDER });
    return { reminders: rows.map(toWire) };
  },
};

export const reminders: Feature = {
  endpoints: [getReminders, postReminder, deleteReminderEndpoint],
  state: [remindersState],
};
