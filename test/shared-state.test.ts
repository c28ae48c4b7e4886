import { expect, test } from 'vitest';
import { startInProcess } from './helpers/in-process.ts';
import type { Person } from './helpers/person.ts';
import { organisation } from './helpers/server.ts';

// What registrations share is kept until the log tells of a change. `GET /users` reads everything anew: both must agree,
// whoever asks, after whatever happened.

const GROUPS = { fetch_event_types: ['realm_user'] };

/** Everybody as a registration tells of them, and as `GET /users` does. */
async function told(person: Person, clientGravatar: boolean) {
  const wanted = { client_gravatar: clientGravatar };
  const state = await person.register({ ...GROUPS, ...wanted });
  const { members } = await person.ok('GET', '/users', { ...wanted, include_custom_profile_fields: true });
  const byId = (people: readonly { user_id: number }[]) => people.toSorted((a, b) => a.user_id - b.user_id);
  const lists = (['realm_users', 'realm_non_active_users'] as const).flatMap((name) =>
    state[name].map((user: object) => ({ ...user, is_active: name === 'realm_users' })),
  );
  return { registered: byId(lists), read: byId(members) };
}

test.concurrent('a registration has everybody as they are, whatever was changed since somebody else registered', async () => {
  const { owner, administrator, moderator, member, guest, bot, signUp } = await organisation();
  const viewers = [owner, administrator, moderator, member, guest, bot];
  const agree = async (when: string) => {
    for (const viewer of viewers) {
      for (const clientGravatar of [true, false]) {
        const { registered, read } = await told(viewer, clientGravatar);
        expect(registered, `${viewer.name}, ${when}`).toEqual(read);
      }
    }
  };
  await agree('at first');
  await agree('once more');
  await member.ok('PATCH', '/settings', { full_name: 'Another name, ü 👋' });
  await agree('after a name');
  // Somebody whose address nobody sees sees it themselves; the next of the same role does not.
  await member.ok('PATCH', '/settings', { email_address_visibility: 5 });
  await agree('after an address was hidden');
  const zoe = await signUp('zoe');
  viewers.push(zoe);
  await agree('after somebody came');
  expect(await owner.ok('PATCH', `/users/${zoe.id}`, { role: 600 })).toBeDefined();
  await agree('after another role');
  const { id } = await owner.ok('POST', '/realm/profile_fields', { name: 'Likes', field_type: 1 });
  await member.ok('PATCH', '/users/me/profile_data', { data: [{ id, value: '**tea**' }] });
  await agree('after a profile');
  await owner.ok('DELETE', `/realm/profile_fields/${id}`);
  await agree('after a field was deleted');
  await zoe.ok('PATCH', '/settings', { timezone: 'Europe/Paris' });
  await agree('after a time zone');
  viewers.pop();
  await owner.ok('DELETE', `/users/${zoe.id}`);
  await agree('after somebody was deactivated');
  await owner.ok('POST', `/users/${zoe.id}/reactivate`);
  await agree('after they came back');
});

test.concurrent('those who register at once are told the same', async () => {
  const { member, signUp } = await organisation();
  const others = await Promise.all(['ann', 'bob', 'cas', 'dia'].map((name) => signUp(name)));
  const replies = await Promise.all([member, ...others, member].map((person) => person.register(GROUPS)));
  const ids = replies.map((reply) => reply['realm_users'].map((user: { user_id: number }) => user.user_id));
  expect(new Set(ids.map(String)).size).toBe(1);
  expect(ids[0]).toEqual(expect.arrayContaining(others.map(({ id }) => id)));
});

test.concurrent('what is shared stays within its organisation', async () => {
  const [one, other] = await Promise.all([organisation(), organisation()]);
  const names = async (person: Person) =>
    (await person.register(GROUPS))['realm_users'].map((user: { user_id: number }) => user.user_id);
  const [first, second] = [await names(one.member), await names(other.member)];
  expect(first.filter((id: number) => second.includes(id))).toEqual([]);
});

test('of those who register at once after a change, one reads everybody', async () => {
  await using service = await startInProcess();
  const { owner, member } = await organisation({}, { on: service });
  const everybody = /FROM user_account u WHERE u\.realm_id = \$\d+ ORDER BY u\.id/;
  for (const name of ['One', 'Another']) {
    await owner.ok('PATCH', '/settings', { full_name: `${name} name` });
    const queries = await service.queriesOf(async () => {
      const replies = await Promise.all(Array.from({ length: 8 }, () => member.register(GROUPS)));
      for (const { realm_users: users } of replies) expect(JSON.stringify(users)).toContain(`${name} name`);
    });
    expect(queries.filter((query) => everybody.test(query))).toHaveLength(1);
  }
});
