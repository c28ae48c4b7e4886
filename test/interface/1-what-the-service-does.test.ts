import { describe, expect, test } from 'vitest';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { nothing } from '../helpers/scene.ts';
import { createOrganization } from '../helpers/server.ts';
import { channelOf, say } from '../helpers/talk.ts';
import { ENDPOINTS, OPEN_ENDPOINTS } from '../helpers/the-22.ts';

const { owner, member, guest, bot, anonymous } = await createOrganization();
const general = await channelOf(owner, 'general', [owner, member, guest, bot]);

/** Reads the newest message that matches a narrow. @param terms Operators and operands of the narrow. */
async function newest(of: typeof member, terms: Readonly<Record<string, unknown>>) {
  const narrow = Object.entries(terms).map(([operator, operand]) => ({ operator, operand }));
  const { messages } = await of.ok('GET', '/messages', { anchor: 'newest', num_before: 1, num_after: 0, narrow });
  return messages[0];
}

describe.concurrent('1 What the service does', () => {
  test('people and bots belong to an organization', async () => {
    const { members } = await member.ok('GET', '/users');
    const belong = members.map(({ user_id, is_bot }: { user_id: number; is_bot: boolean }) => [user_id, is_bot]);
    expect(belong).toEqual(expect.arrayContaining([member, bot].map((person) => [person.id, person === bot])));
  });

  test('users of other organizations do not exist', async () => {
    const other = await createOrganization();
    expect((await member.rest('GET', `/users/${other.member.id}`)).status).toBe(400);
  });

  test('a message to a channel carries a topic', async () => {
    const id = await say(member, general, 'ships');
    expect((await guest.ok('GET', `/messages/${id}`)).message).toMatchObject({
      ...{ type: 'stream', stream_id: general, subject: 'ships', sender_id: member.id },
    });
  });

  test.for([
    ['one user', [guest]],
    ['several users', [guest, owner]],
  ] as const)('a direct message goes to %s', async ([, people]) => {
    const to = people.map(({ id }) => id);
    await member.ok('POST', '/messages', { type: 'direct', to, content: 'psst' });
    const found = await newest(guest, { dm: [...to.filter((id) => id !== guest.id), member.id] });
    expect(found).toMatchObject({ type: 'private', content: '<p>psst</p>' });
    const recipients = found.display_recipient.map(({ id }: { id: number }) => id);
    expect(recipients.toSorted()).toEqual([...to, member.id].toSorted());
  });

  test.for(['stream', 'channel'])('accepts the type "%s" for a channel', async (type) => {
    await member.ok('POST', '/messages', { type, to: general, topic: type, content: 'hello' });
    expect(await newest(member, { [type]: general, topic: type })).toMatchObject({ subject: type });
  });

  test.for(['private', 'direct'])('accepts the type "%s" for a direct message', async (type) => {
    const { id } = await member.ok('POST', '/messages', { type, to: [owner.id], content: type });
    expect((await owner.ok('GET', `/messages/${id}`)).message).toMatchObject({ type: 'private' });
  });

  test.for(ENDPOINTS)('serves %s', async (name) => {
    const [method, path] = name.split(' ') as ['GET', string];
    const { status } = await anonymous.rest(method, pathOf(path, REST_CALLS[name]?.(nothing())[0] ?? {}));
    // Any other status than 404 (unknown path) and 405 (method not allowed) shows that the endpoint exists.
    expect(status).toBe(OPEN_ENDPOINTS[name] ?? 401);
  });
});
