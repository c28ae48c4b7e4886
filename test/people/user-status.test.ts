import { expect, test } from 'vitest';
import { globalId } from '../helpers/global-ids.ts';
import { createOrganization } from '../helpers/server.ts';

const NONE = { emoji_name: '', emoji_code: '', reaction_type: '' };

test.concurrent('sets the given parts of a status, in both APIs, and notifies all users', async () => {
  const { owner, member, guest } = await createOrganization();
  const heard = await guest.receiving();
  const statusOf = async (id: number) => (await guest.ok('GET', `/users/${id}/status`)).status;
  expect(await statusOf(member.id)).toEqual({});
  await member.ok('POST', '/users/me/status', { status_text: `  ${'🚢'.repeat(60)} `, emoji_name: 'car' });
  const car = { emoji_name: 'car', emoji_code: '1f697', reaction_type: 'unicode_emoji' };
  expect(await statusOf(member.id)).toEqual({ status_text: '🚢'.repeat(60), ...car });
  await member.ok('POST', '/users/me/status', { status_text: 'on deck' });
  await owner.ok('POST', `/users/${member.id}/status`, { emoji_name: '' });
  expect(await statusOf(member.id)).toEqual({ status_text: 'on deck' });
  const parts = 'status { text emojiName isAway }';
  const { status } = await member.mutate('setStatus', { text: '', isAway: true }, parts);
  expect(status).toEqual({ text: '', emojiName: null, isAway: true });
  for (const [emoji, emojiName] of [
    [{ code: { emojiCode: '1f697', reactionType: 'UNICODE_EMOJI' } }, 'red_car'],
    [null, null],
    [{ name: 'car' }, 'car'],
    [undefined, 'car'],
    [null, null],
  ] as const) {
    const { status } = await member.mutate('setStatus', { text: '', emoji }, parts);
    expect(status).toEqual({ text: '', emojiName, isAway: true });
  }
  expect(await statusOf(member.id)).toEqual({ away: true });
  expect((await guest.register({ fetch_event_types: ['user_status'] })).user_status).toEqual({
    [member.id]: { away: true },
  });
  await member.ok('POST', '/users/me/status', { away: false });
  const told = { type: 'user_status', user_id: member.id };
  expect(await heard()).toEqual([
    { ...told, status_text: '🚢'.repeat(60), ...car },
    { ...told, status_text: 'on deck' },
    { ...told, ...NONE },
    { ...told, away: true },
    { ...told, status_text: '' },
    ...[{ ...car, emoji_name: 'red_car' }, NONE, car, {}, NONE].map((emoji) => ({
      ...told,
      status_text: '',
      ...emoji,
    })),
    { ...told, away: false },
  ]);
  const { user } = await owner.query(
    `{ user(by: { id: "${globalId('User', member.id)}" }) { status { text isAway } } }`,
  );
  expect(user.status).toEqual({ text: '', isAway: false });
});

test.concurrent('refuses a status in the documented order', async () => {
  const { owner, member, bot } = await createOrganization();
  const own = '/users/me/status';
  for (const [person, path, parameters, msg] of [
    [member, own, { status_text: 'x'.repeat(61) }, 'status_text is too long (limit: 60 characters)'],
    // This control character would reverse the order of the text that follows it.
    [member, own, { status_text: 'at\u202E sea' }, 'Invalid character in status_text, at position 3.'],
    [member, own, {}, 'Client did not pass any new values.'],
    [member, own, { emoji_code: '1f697' }, 'Client did not pass any new values.'],
    [
      member,
      own,
      { status_text: 'x', emoji_code: '1f697' },
      'Client must pass emoji_name if they pass either emoji_code or reaction_type.',
    ],
    [member, own, { emoji_name: 'no_such_thing' }, "Emoji 'no_such_thing' does not exist"],
    [member, own, { emoji_name: 'car', emoji_code: '1f419', reaction_type: 'unicode_emoji' }, 'Invalid emoji name.'],
    [member, own, { emoji_name: 'car', emoji_code: 'zz', reaction_type: 'unicode_emoji' }, 'Invalid emoji code.'],
    [member, own, { emoji_name: 'car', emoji_code: '1', reaction_type: 'realm_emoji' }, 'Invalid custom emoji.'],
    [member, own, { emoji_name: 'car', emoji_code: '1', reaction_type: 'other' }, 'Invalid emoji type.'],
    [bot, own, { status_text: 'x' }, 'This endpoint does not accept bot requests.'],
    [member, `/users/${owner.id}/status`, { status_text: 'x' }, 'Insufficient permission'],
    [owner, `/users/${bot.id}/status`, { status_text: 'x' }, 'No such user'],
    [owner, '/users/2000000000/status', { status_text: 'x' }, 'No such user'],
  ] as const) {
    const { status, body } = await person.rest('POST', path, parameters);
    expect([status, body.code, body.msg], JSON.stringify(parameters)).toEqual([400, 'BAD_REQUEST', msg]);
  }
});
