import type { DemoCalls, Lead } from './call.ts';
import { FILE, PICTURE } from './people.ts';

const HELLO = { type: 'channel', to: 'general', topic: 'hello', content: 'Hello **everyone** :wave:' };
const message: Lead = { call: 'POST /messages', fields: HELLO, set: 'MESSAGE', take: 'id' };
const ofMessage = { first: [message], slots: { message_id: '$MESSAGE' } };
const IN_GENERAL = '[{"operator": "channel", "operand": "general"}]';

const LATER = {
  type: 'channel',
  to: '1',
  topic: 'hello',
  content: 'Good morning!',
  scheduled_delivery_timestamp: '4102444800',
};
const scheduled: Lead = {
  call: 'POST /scheduled_messages',
  fields: LATER,
  set: 'SCHEDULED',
  take: 'scheduled_message_id',
};
const ofScheduled = { first: [scheduled], slots: { scheduled_message_id: '$SCHEDULED' } };
const REMIND = { message_id: '$MESSAGE', scheduled_delivery_timestamp: '4102444800', note: 'Answer this' };

const DRAFT = '{"type": "stream", "to": [1], "topic": "hello", "content": "To be said."}';
const draft: Lead = { call: 'POST /drafts', fields: { drafts: `[${DRAFT}]` }, set: 'DRAFT', take: 'ids' };

const upload: Lead = { call: 'POST /user_uploads', fields: FILE, set: 'ADDRESS', take: 'url' };

/** Example calls for messages, topics, files and drafts. */
export const MESSAGE_CALLS: DemoCalls = {
  'POST /user_uploads': { first: [PICTURE], fields: FILE },
  'GET /user_uploads/{realm_id}/{filename}': {
    first: [PICTURE, upload, 'REALM=$(echo "$ADDRESS" | cut -d/ -f3)', 'REST=$(echo "$ADDRESS" | cut -d/ -f4-)'],
    slots: { realm_id: '$REALM', filename: '$REST' },
  },
  'DELETE /attachments/{attachment_id}': {
    first: [PICTURE, upload, { call: 'GET /attachments', set: 'FILE', take: 'id' }],
    slots: { attachment_id: '$FILE' },
  },
  'POST /messages': { fields: HELLO },
  'GET /messages': { fields: { anchor: 'newest', num_before: '5', num_after: '0', narrow: IN_GENERAL } },
  'GET /messages/{message_id}': ofMessage,
  'PATCH /messages/{message_id}': { ...ofMessage, fields: { content: 'Hello **all** :wave:' } },
  'DELETE /messages/{message_id}': ofMessage,
  'GET /messages/{message_id}/history': {
    ...ofMessage,
    first: [message, { call: 'PATCH /messages/{message_id}', slots: ofMessage.slots, fields: { content: 'Hello!' } }],
  },
  'GET /messages/matches_narrow': { first: [message], fields: { msg_ids: '[$MESSAGE]', narrow: IN_GENERAL } },
  'POST /messages/render': { fields: { content: 'A **bold** word, and :octopus:' } },
  'POST /messages/{message_id}/report': {
    ...ofMessage,
    first: [{ call: 'PATCH /realm', fields: { moderation_request_channel_id: '4' } }, message],
    fields: { report_type: 'spam' },
  },
  'POST /messages/flags': { first: [message], fields: { messages: '[$MESSAGE]', op: 'add', flag: 'starred' } },
  'POST /messages/flags/narrow': {
    fields: { anchor: 'newest', num_before: '10', num_after: '0', narrow: IN_GENERAL, op: 'add', flag: 'read' },
  },
  'POST /mark_topic_as_read': { fields: { stream_id: '1', topic_name: 'summer party' } },
  'GET /messages/{message_id}/read_receipts': {
    ...ofMessage,
    first: [{ call: 'PATCH /realm', fields: { enable_read_receipts: 'true' } }, message],
  },
  'POST /messages/{message_id}/reactions': { ...ofMessage, fields: { emoji_name: 'octopus' } },
  'DELETE /messages/{message_id}/reactions': {
    ...ofMessage,
    first: [
      message,
      { call: 'POST /messages/{message_id}/reactions', slots: ofMessage.slots, fields: { emoji_name: 'octopus' } },
    ],
    fields: { emoji_name: 'octopus' },
  },
  'POST /typing': { fields: { op: 'start', type: 'direct', to: '[4]' } },
  'POST /messages/{message_id}/typing': { ...ofMessage, fields: { op: 'start' } },
  'GET /users/me/{stream_id}/topics': { slots: { stream_id: '1' } },
  'POST /streams/{stream_id}/delete_topic': {
    first: [{ call: 'POST /messages', fields: { ...HELLO, topic: 'to be deleted' } }],
    slots: { stream_id: '1' },
    fields: { topic_name: 'to be deleted' },
  },
  'POST /user_topics': { fields: { stream_id: '1', topic: 'summer party', visibility_policy: '3' } },
  'PATCH /users/me/subscriptions/muted_topics': { fields: { stream_id: '1', topic: 'hello', op: 'add' } },
  'POST /scheduled_messages': { fields: LATER },
  'PATCH /scheduled_messages/{scheduled_message_id}': { ...ofScheduled, fields: { content: 'Good evening!' } },
  'DELETE /scheduled_messages/{scheduled_message_id}': ofScheduled,
  'POST /reminders': { first: [message], fields: REMIND },
  'POST /drafts': { fields: { drafts: `[${DRAFT}]` } },
  'PATCH /drafts/{draft_id}': {
    first: [draft],
    slots: { draft_id: '$DRAFT' },
    fields: { draft: DRAFT.replace('To be said.', 'To be said, at last.') },
  },
  'DELETE /drafts/{draft_id}': { first: [draft], slots: { draft_id: '$DRAFT' } },
  'PATCH /saved_snippets/{saved_snippet_id}': { fields: { title: 'A warmer greeting' } },
};
