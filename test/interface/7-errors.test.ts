import { describe, expect, test } from 'vitest';
import type { Method, Person, RestReply } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';
import { failure } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { owner, member, guest } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member, guest]);
const message = await say(member, general, 'ships');

const NOBODY = 2_000_000_000;
const CAR = { emoji_name: 'car', emoji_code: '1f697', reaction_type: 'unicode_emoji' };
const later = { content: 'x', topic: 'ships', scheduled_delivery_timestamp: 4_102_444_800 };
const draftTo = (to: number[]) => ({ drafts: [{ type: 'stream', to, topic: 't', content: 'c' }] });
const ownStatus = (parameters: object) => [member, 'POST', '/users/me/status', parameters] as const;

type Call = readonly [Person, Method, string, object];

/**
 * Rows of the table of error codes: code, condition, a call that meets the condition, and the additional fields of the error.
 */
const ROWS: readonly (readonly [string, string, Call, object?])[] = [
  [
    'STREAM_DOES_NOT_EXIST',
    'a scheduled channel message targets a channel that does not exist',
    [member, 'POST', '/scheduled_messages', { type: 'channel', to: NOBODY, ...later }],
    { stream_id: NOBODY },
  ],
  [
    'BAD_REQUEST',
    'the recipient user ID of a scheduled message is invalid',
    [member, 'POST', '/scheduled_messages', { type: 'direct', to: [NOBODY], ...later }],
  ],
  ['BAD_REQUEST', 'invalid channel folder ID', [owner, 'PATCH', `/channel_folders/${NOBODY}`, { name: 'x' }]],
  [
    'BAD_REQUEST',
    "the caller lacks permission to update another user's status",
    [member, 'POST', `/users/${owner.id}/status`, { status_text: 'x' }],
  ],
  ['BAD_REQUEST', 'a status update carries no new values', ownStatus({})],
  ['BAD_REQUEST', 'status_text is longer than 60 characters', ownStatus({ status_text: 'x'.repeat(61) })],
  ['BAD_REQUEST', 'emoji_code is sent without emoji_name', ownStatus({ status_text: 'x', emoji_code: '1f697' })],
  [
    'BAD_REQUEST',
    'reaction_type is sent without emoji_name',
    ownStatus({ status_text: 'x', reaction_type: 'unicode_emoji' }),
  ],
  ['BAD_REQUEST', 'the emoji name does not exist', ownStatus({ emoji_name: 'no_such_emoji' })],
  ['BAD_REQUEST', 'the emoji name is invalid', ownStatus({ ...CAR, emoji_name: 'octopus' })],
  ['BAD_REQUEST', 'the custom emoji is invalid', ownStatus({ ...CAR, reaction_type: 'realm_emoji', emoji_code: '1' })],
  ['BAD_REQUEST', 'a draft for a channel has no channel ID', [member, 'POST', '/drafts', draftTo([])]],
  ['BAD_REQUEST', 'a draft for a channel has two channel IDs', [member, 'POST', '/drafts', draftTo([general, 1])]],
  [
    'BAD_REQUEST',
    'the moderation request channel is not configured',
    [member, 'POST', `/messages/${message}/report`, { report_type: 'spam' }],
  ],
  ['BAD_REQUEST', 'the message does not exist', [member, 'GET', `/messages/${NOBODY}/history`, {}]],
  [
    'BAD_REQUEST',
    'a profile field ID is not found',
    [member, 'PATCH', '/users/me/profile_data', { data: [{ id: NOBODY, value: 'x' }] }],
  ],
  ['BAD_REQUEST', 'deactivating the only organization owner', [owner, 'DELETE', `/users/${owner.id}`, {}]],
  ['BAD_REQUEST', 'the channel does not exist', [member, 'GET', `/users/me/${NOBODY}/topics`, {}]],
  ['BAD_REQUEST', 'the channel is inaccessible', [guest, 'GET', `/users/me/${general + NOBODY}/topics`, {}]],
  [
    'BAD_REQUEST',
    'blank fragment',
    [member, 'POST', '/navigation_views', { fragment: ' ', is_pinned: true, name: 'x' }],
  ],
  ['BAD_REQUEST', 'the saved snippet does not exist', [member, 'PATCH', `/saved_snippets/${NOBODY}`, { title: 'x' }]],
];

describe.concurrent('7 Errors', () => {
  test.for(ROWS)('%s: %s', async ([code, , [by, method, path, parameters], added = {}]) => {
    const { status, body }: RestReply = await by.rest(method, path, { ...parameters });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body).toEqual(failure(code, added));
  });

  test('BAD_REQUEST: profile editing is restricted', async () => {
    const field = { name: 'Rank', field_type: 1, editable_by_user: false };
    const { id } = await owner.ok('POST', '/realm/profile_fields', field);
    const { body } = await member.rest('PATCH', '/users/me/profile_data', { data: [{ id, value: 'captain' }] });
    expect(body).toEqual(failure('BAD_REQUEST'));
  });
});
