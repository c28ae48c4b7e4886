import { describe, expect, test } from 'vitest';
import { createOrganization } from '../helpers/server.ts';
import { refused, success, text, USER } from '../helpers/shapes.ts';

const { member, guest, owner, bot, administrator, organization } = await createOrganization();
/** An organization in which new users get an avatar from the hosted avatar service. */
const hosting = await createOrganization();
await hosting.owner.ok('PATCH', '/realm', { default_avatar_source: 'G' });

describe.concurrent('4.5 GET /users/{user_id}', () => {
  test('answers with the user', async () => {
    expect(await member.ok('GET', `/users/${guest.id}`)).toEqual(
      success({ user: { ...USER, user_id: guest.id, full_name: 'guest', role: 600, is_guest: true } }),
    );
  });

  test.for([owner, administrator, member, guest, bot])('can be used by the $name', async (by) => {
    expect((await by.ok('GET', `/users/${owner.id}`)).user.user_id).toBe(owner.id);
  });

  test('returns the own user, and bots', async () => {
    expect((await member.ok('GET', `/users/${member.id}`)).user.user_id).toBe(member.id);
    expect((await member.ok('GET', `/users/${bot.id}`)).user.is_bot).toBe(true);
  });

  test.for([
    [undefined, text],
    [true, text],
    [false, text],
  ] as const)('client_gravatar %j: avatar_url of a hosted avatar is %j', async ([client_gravatar, shown]) => {
    const { id } = await hosting.signUp(`hosted ${client_gravatar}`);
    const { user } = await hosting.member.ok('GET', `/users/${id}`, { client_gravatar });
    expect(user.avatar_url).toEqual(shown);
  });

  test('returns the avatar_url even if the real email is hidden', async () => {
    const person = await hosting.signUp('hidden');
    await person.ok('PATCH', '/settings', { email_address_visibility: 4 });
    expect((await hosting.guest.ok('GET', `/users/${person.id}`)).user.avatar_url).toEqual(text);
    expect((await person.ok('GET', `/users/${person.id}`)).user.avatar_url).toEqual(text);
  });

  test.for([
    [undefined, false],
    [false, false],
    [true, true],
  ] as const)('include_custom_profile_fields %j: profile_data is present: %j', async ([wanted, isThere]) => {
    const parameters = { include_custom_profile_fields: wanted };
    const { user } = await member.ok('GET', `/users/${guest.id}`, parameters);
    expect('profile_data' in user).toBe(isThere);
  });

  test.for(['client_gravatar', 'include_custom_profile_fields'])('%s must be a boolean', async (name) => {
    expect(await member.rest('GET', `/users/${guest.id}`, { [name]: 'yes' })).toMatchObject(refused());
  });

  test('rejects an unknown user, and users of other organizations', async () => {
    const other = await createOrganization();
    for (const id of [0, 2_000_000_000, other.member.id]) {
      expect(await member.rest('GET', `/users/${id}`)).toMatchObject(refused());
    }
    expect(other.organization.id).not.toBe(organization.id);
  });
});
