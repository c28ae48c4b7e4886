import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { multipart } from '../helpers/multipart.ts';
import type { Parameters, Person } from '../helpers/person.ts';
import { plain } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';
import { channelOf, say } from '../helpers/talk.ts';

const house = await createOrganization();
const { owner, administrator, moderator, member, guest, bot } = house;
let made = 0;
const newPerson = () => house.signUp(`person ${++made}`);
const deactivate = (person: Person, parameters: object = {}, by = administrator) =>
  by.rest('DELETE', `/users/${person.id}`, { ...parameters });
const userOf = async ({ id }: Person): Promise<Json> => (await owner.ok('GET', `/users/${id}`)).user;

describe.concurrent('4.14 DELETE /users/{user_id}', () => {
  test('deactivates the user', async () => {
    const person = await newPerson();
    expect((await deactivate(person)).body).toEqual(success());
    expect(await userOf(person)).toMatchObject({ is_active: false });
    expect((await person.rest('GET', '/users/me')).status).toBe(401);
  });

  test.for([moderator, member, guest, bot])('is for administrators only, not for the $name', async (by) => {
    const person = await newPerson();
    expect(await deactivate(person, {}, by)).toMatchObject(refused());
    expect((await userOf(person)).is_active).toBe(true);
  });

  /** Creates a user with one message of each kind that the parameter `actions` distinguishes. */
  async function talkative() {
    const person = await newPerson();
    const channel = async (kind: string, more: Parameters) =>
      say(person, await channelOf(owner, `${kind} of ${person.name}`, [owner, person], more), 'topic');
    const direct = { type: 'direct', to: [owner.id], content: 'psst' };
    const messages = {
      delete_public_channel_messages: await channel('public', {}),
      delete_private_channel_messages: await channel('private', { invite_only: true }),
      delete_direct_messages: (await person.ok('POST', '/messages', direct)).id,
    };
    const left = async () => {
      const there = await Promise.all(
        Object.entries(messages).map(async ([name, id]) => [name, (await owner.rest('GET', `/messages/${id}`)).status]),
      );
      return there.filter(([, status]) => status === 200).map(([name]) => name);
    };
    return { person, left, all: Object.keys(messages) };
  }

  test('keeps the messages without actions', async () => {
    const { person, left, all } = await talkative();
    await deactivate(person);
    expect(await left()).toEqual(all);
  });

  test.for(['delete_public_channel_messages', 'delete_private_channel_messages', 'delete_direct_messages'])(
    'actions: %s deletes only those',
    async (action) => {
      const { person, left, all } = await talkative();
      await deactivate(person, { actions: { [action]: true } });
      expect(await left()).toEqual(all.filter((name) => name !== action));
    },
  );

  test('actions that are false have no effect', async () => {
    const { person, left, all } = await talkative();
    await deactivate(person, { actions: Object.fromEntries(all.map((name) => [name, false])) });
    expect(await left()).toEqual(all);
  });

  test('actions: delete_profile renames the user and removes the picture', async () => {
    const person = await newPerson();
    const file = await plain('red').png().toBuffer();
    await person.ok('POST', '/users/me/avatar', {}, { body: multipart([['file', file]]) });
    const before = await userOf(person);
    expect((await deactivate(person, { actions: { delete_profile: true } })).body).toEqual(success());
    const after = await userOf(person);
    expect(after).toMatchObject({ full_name: 'Deleted user', is_active: false });
    expect(after.avatar_url).not.toBe(before.avatar_url);
  });

  test.for(['yes', '[]', '{"delete_profile": 1}'])('rejects the actions %s', async (actions) => {
    expect(await deactivate(await newPerson(), { actions })).toMatchObject(refused());
  });

  // The email about the deactivation is tested in administration/deactivation.test.ts, which has a mailbox.
  test.for([undefined, '', 'Fair winds'])('accepts the comment %j', async (deactivation_notification_comment) => {
    expect((await deactivate(await newPerson(), { deactivation_notification_comment })).body).toEqual(success());
  });

  test('rejects the only organization owner with BAD_REQUEST', async () => {
    expect(await deactivate(owner, {}, owner)).toMatchObject(refused());
    expect((await userOf(owner)).is_active).toBe(true);
  });

  test('deactivates one of two owners', async () => {
    const two = await createOrganization({ second: 'owner' });
    expect((await deactivate(two.second, {}, two.owner)).body).toEqual(success());
  });

  test("deactivates the user's bots first", async () => {
    const { owner, bot, second } = await createOrganization({ second: 'owner' });
    const heard = await second.receiving({ event_types: ['realm_user'] });
    await deactivate(owner, { actions: { delete_profile: true } }, second);
    const told = (await heard()).map(({ person }) => [person.user_id, Object.keys(person)[1]]);
    const firstOfOwner = told.findIndex(([id]) => id === owner.id);
    const lastOfBot = told.findLastIndex(([id]) => id === bot.id);
    expect(lastOfBot).toBeGreaterThanOrEqual(1);
    expect(firstOfOwner).toBeGreaterThan(lastOfBot);
    expect(told).toEqual(expect.arrayContaining([bot, owner].map(({ id }) => [id, 'is_active'])));
  });
});
