import { describe, expect, test } from 'vitest';
import { bothDoors, furnish, NOBODY, type Who } from '../helpers/both-doors.ts';
import { expectParity } from '../helpers/equivalents.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';

describe('users', () => {
  test.concurrent('POST /users and createUser', async () => {
    const ada = { email: 'ada@example.com', password: 'correct horse', fullName: 'Ada' };
    const create = bothDoors('POST', '/users', 'createUser');
    const act = (who: Who, input: object = {}, code?: string) => {
      const { fullName: full_name, ...rest } = { ...ada, ...input };
      return create(
        who,
        () => ({ ...rest, full_name }),
        () => ({ ...ada, ...input }),
        code,
      );
    };
    await expectParity(furnish, {
      'a new user': act('owner'),
      'a member': act('member', {}, 'UNAUTHORIZED_PRINCIPAL'),
      'an administrator without the right': act('administrator', {}, 'BAD_REQUEST'),
      'an address in use': act('owner', {}, 'BAD_REQUEST'),
      'a bad address': act('owner', { email: 'ada' }, 'BAD_REQUEST'),
      'a blank name': act('owner', { fullName: ' ' }, 'BAD_REQUEST'),
      'a null byte in the name': act('owner', { fullName: 'A\0da' }, 'BAD_REQUEST'),
      'a null byte in the address': act('owner', { email: 'a\0da@example.com' }, 'BAD_REQUEST'),
      'a null byte in the password': act('owner', { password: 'correct\0horse' }, 'BAD_REQUEST'),
      'a short password': act('owner', { email: 'b@example.com', password: 'short' }, 'BAD_REQUEST'),
    });
  });

  test.concurrent('PATCH /users/{user_id} and updateUser', async () => {
    const act = (who: Who, whom: Who, input: object, code?: string) => {
      const { fullName: full_name, role } = input as { fullName?: string; role?: string };
      const roles: Record<string, number> = { OWNER: 100, ADMINISTRATOR: 200, GUEST: 600 };
      return bothDoors('PATCH', (world) => `/users/${world[whom].id}`, 'updateUser')(
        who,
        () => ({ full_name, role: role === undefined ? undefined : roles[role] }),
        (world) => ({ userId: world[whom].id, ...input }),
        code,
      );
    };
    const unknown = bothDoors('PATCH', `/users/${NOBODY}`, 'updateUser');
    await expectParity(furnish, {
      'a new name': act('administrator', 'member', { fullName: ' Ann ' }),
      'the same name': act('administrator', 'member', { fullName: 'Ann' }),
      'another role, and a name': act('owner', 'moderator', { role: 'GUEST', fullName: 'Mo' }),
      'one more owner': act('owner', 'moderator', { role: 'OWNER' }),
      'and not any more': act('owner', 'moderator', { role: 'ADMINISTRATOR' }),
      'the only owner': act('owner', 'owner', { role: 'ADMINISTRATOR' }, 'BAD_REQUEST'),
      'an owner made by an administrator': act('administrator', 'member', { role: 'OWNER' }, 'UNAUTHORIZED_PRINCIPAL'),
      'by a member': act('member', 'guest', { fullName: 'Mine' }, 'UNAUTHORIZED_PRINCIPAL'),
      'a name with a star': act('owner', 'member', { fullName: 'A*nn' }, 'BAD_REQUEST'),
      'a nonexistent user': unknown(
        'owner',
        () => ({ full_name: 'x' }),
        () => ({ userId: NOBODY, fullName: 'x' }),
        'BAD_REQUEST',
      ),
    });
  });

  /** The GraphQL fields of a REST user. */
  const USER = `databaseId deliveryEmail email fullName role isActive isBot botType botOwner { databaseId } timezone
    avatarUrl avatarVersion isImportedStub joinedAt`;
  const ROLES: Record<string, number> = { OWNER: 100, ADMINISTRATOR: 200, MODERATOR: 300, MEMBER: 400, GUEST: 600 };

  const toRestUser = (user: Json) => ({
    ...{ user_id: user.databaseId, delivery_email: user.deliveryEmail, email: user.email, full_name: user.fullName },
    ...{ is_active: user.isActive, is_bot: user.isBot, bot_type: user.botType === 'GENERIC' ? 1 : null },
    ...{ bot_owner_id: user.botOwner?.databaseId ?? null, role: ROLES[user.role], timezone: user.timezone },
    ...{ is_owner: user.role === 'OWNER', is_admin: ['OWNER', 'ADMINISTRATOR'].includes(user.role) },
    ...{ is_guest: user.role === 'GUEST', avatar_url: user.avatarUrl, avatar_version: user.avatarVersion },
    ...{ is_imported_stub: user.isImportedStub, date_joined: user.joinedAt.replace(':00.000Z', '+00:00') },
  });

  test.concurrent('GET /users, /users/{user_id}, /users/{email}, /users/me and users, user, viewer', async () => {
    const { guest, owner, member } = await createOrganization();
    const { users } = await guest.query(`{ users { edges { node { ${USER} } } } }`);
    const members = users.edges.map(({ node }: Json) => toRestUser(node));
    expect((await guest.ok('GET', '/users', { client_gravatar: false })).members).toEqual(members);
    const { byId, byEmail, viewer } = await guest.query(
      `query ($userId: ID!, $email: String!) { byId: user(by: { id: $userId }) { ${USER} } byEmail: user(by: { email: $email }) { ${USER} }
        viewer { ${USER} } }`,
      { userId: owner.id, email: member.email },
    );
    const get = async (who: number | string) =>
      (await guest.ok('GET', `/users/${who}`, { client_gravatar: false })).user;
    expect(toRestUser(byId)).toEqual(await get(owner.id));
    expect(toRestUser(byEmail)).toEqual(await get(member.email));
    const me = await guest.ok('GET', '/users/me');
    expect(me).toMatchObject(toRestUser(viewer));
    // For an unknown user REST returns an error, GraphQL null.
    for (const [who, argument] of [
      [NOBODY, `id: "${globalId('User', NOBODY)}"`],
      ['x@example.com', 'email: "x@example.com"'],
    ] as const) {
      expect((await guest.rest('GET', `/users/${who}`)).body).toMatchObject({ code: 'BAD_REQUEST' });
      expect(await guest.query(`{ user(by: { ${argument} }) { databaseId } }`)).toEqual({ user: null });
    }
  });
});
