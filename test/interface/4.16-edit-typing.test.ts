import { describe, expect, test } from 'vitest';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const { owner, member } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member]);
const message = await say(member, general, 'ships');
const typing = (parameters: object, id = message) => member.rest('POST', `/messages/${id}/typing`, { ...parameters });

describe.concurrent('4.16 POST /messages/{message_id}/typing', () => {
  test.for(['start', 'stop'])('sends an event to users who can read the message: %s', async (op) => {
    const id = await say(member, general, `to ${op}`);
    const heard = await owner.receiving({ event_types: ['typing_edit_message'] });
    expect((await typing({ op }, id)).body).toEqual(success());
    const own = (await heard()).filter(({ message_id }) => message_id === id);
    expect(own).toMatchObject([{ type: 'typing_edit_message', op, sender_id: member.id }]);
  });

  test.for(['begin', '', '"start"'])('rejects the op %j', async (op) => {
    expect(await typing({ op })).toMatchObject(refused());
  });

  test('op is required', async () => {
    expect(await typing({})).toMatchObject(refused('REQUEST_VARIABLE_MISSING', { var_name: 'op' }));
  });

  test('reads the message id from the path', async () => {
    expect((await typing({ op: 'start', message_id: message })).body).toEqual(
      success({ ignored_parameters_unsupported: ['message_id'] }),
    );
    expect((await member.rest('POST', '/message_edit_typing', { op: 'start', message_id: message })).status).toBe(404);
  });

  test('rejects an unknown message', async () => {
    expect(await typing({ op: 'start' }, 2_000_000_000)).toMatchObject(refused());
  });

  test('uses the same values of op as POST /typing', async () => {
    for (const op of ['start', 'stop']) {
      const parameters = { op, type: 'channel', stream_id: general, topic: 'ships' };
      expect(await member.ok('POST', '/typing', parameters)).toEqual(success());
    }
  });
});
