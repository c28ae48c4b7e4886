import type { DemoCalls, Lead } from './call.ts';

const NEW = { name: 'sailing $RANDOM', subscribers: '[]' };
const channel: Lead = { call: 'POST /channels/create', fields: NEW, set: 'CHANNEL', take: 'id' };
const ofChannel = { first: [channel], slots: { stream_id: '$CHANNEL' } };
const GENERAL = { slots: { stream_id: '1' } };
const FOLDER = { name: 'Boats $RANDOM', description: 'Everything that **floats**.' };
const PIN = { property: 'pin_to_top', value: 'true' };
const queue: Lead = {
  call: 'POST /register',
  fields: { event_types: '["message"]', fetch_event_types: '[]' },
  set: 'QUEUE',
  take: 'queue_id',
};

/** Example calls for channels, subscriptions, and event queues. */
export const CHANNEL_CALLS: DemoCalls = {
  'GET /streams/{stream_id}': GENERAL,
  'GET /streams/{stream_id}/members': GENERAL,
  'POST /channels/create': { fields: NEW },
  'PATCH /streams/{stream_id}': { ...ofChannel, fields: { description: 'Wind and **weather**.' } },
  'DELETE /streams/{stream_id}': ofChannel,
  'POST /default_streams': { fields: { stream_id: '1' } },
  'DELETE /default_streams': {
    first: [{ call: 'POST /default_streams', fields: { stream_id: '1' } }],
    fields: { stream_id: '1' },
  },
  'PATCH /users/me/subscriptions': { fields: { add: '[{"name": "website"}]' } },
  'DELETE /users/me/subscriptions': {
    first: [{ call: 'POST /users/me/subscriptions', fields: { subscriptions: '[{"name": "boats"}]' } }],
    fields: { subscriptions: '["boats"]' },
  },
  'POST /users/me/subscriptions/{stream_id}': { ...GENERAL, fields: PIN },
  'PATCH /users/me/subscriptions/{stream_id}': { ...GENERAL, fields: PIN },
  'GET /users/{user_id}/subscriptions/{stream_id}': { slots: { user_id: '4', stream_id: '1' } },
  'GET /users/{user_id}/channels': { slots: { user_id: '4' } },
  'POST /channel_folders/create': { fields: FOLDER },
  'PATCH /channel_folders': {
    first: [
      { call: 'GET /channel_folders', fields: { include_archived: 'true' }, set: 'FOLDERS', take: 'id', all: true },
    ],
    fields: { order: '[$FOLDERS]' },
  },
  'PATCH /channel_folders/{channel_folder_id}': { fields: { description: 'What floats, and what sank.' } },
  'POST /register': { fields: { event_types: '["message", "drafts"]', fetch_event_types: '["drafts"]' } },
  'GET /events': {
    first: [
      queue,
      { call: 'POST /messages', fields: { type: 'channel', to: 'general', topic: 'hello', content: 'Hello' } },
    ],
    fields: { queue_id: '$QUEUE', last_event_id: '-1' },
  },
  'DELETE /events': { first: [queue], fields: { queue_id: '$QUEUE' } },
};
