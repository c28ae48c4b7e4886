import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SharedState } from '../../src/access/shared-state.ts';
import { readCounter } from '../../src/events/log-reads.ts';
import { shareInProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { createOrganization } from '../helpers/server.ts';

// Tests the list of users that all registrations share. It is cached until an event changes it. `GET /users` always reads the
// database. Both must agree for every viewer, after every change.

const GROUPS = { fetch_event_types: ['realm_user'] };

/** Returns all users by id: as a registration returns them, and as `GET /users` returns them. */
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

test.concurrent('a registration contains the current users, whatever has changed since another user registered', async () => {
  const { owner, administrator, moderator, member, guest, bot, signUp } = await createOrganization();
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
  // A user sees their own hidden email address. Other users with that role do not.
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

test.concurrent('concurrent registrations get the same data', async () => {
  const { member, signUp } = await createOrganization();
  const others = await Promise.all(['ann', 'bob', 'cas', 'dia'].map((name) => signUp(name)));
  const replies = await Promise.all([member, ...others, member].map((person) => person.register(GROUPS)));
  const ids = replies.map((reply) => reply['realm_users'].map((user: { user_id: number }) => user.user_id));
  expect(new Set(ids.map(String)).size).toBe(1);
  expect(ids[0]).toEqual(expect.arrayContaining(others.map(({ id }) => id)));
});

test.concurrent('shared data stays within its organization', async () => {
  const [one, other] = await Promise.all([createOrganization(), createOrganization()]);
  const names = async (person: Person) =>
    (await person.register(GROUPS))['realm_users'].map((user: { user_id: number }) => user.user_id);
  const [first, second] = [await names(one.member), await names(other.member)];
  expect(first.filter((id: number) => second.includes(id))).toEqual([]);
});

test('concurrent registrations read once, whatever has changed since the previous one', async () => {
  await using service = await shareInProcess();
  const { app } = service;
  const { owner, organization } = await createOrganization({}, { on: service });
  const moment = async () => ({ db: app.db, position: (await readCounter(app.db, organization.id)).lastId });
  const readings: { readonly end: () => void }[] = [];
  const part = {
    ...{ organizationId: organization.id, name: 'names', eventTypes: ['realm_user'], bytesOf: () => 1 },
    async read() {
      const { fullName } = await app.db.user.findFirstOrThrow({ where: { id: owner.id } });
      await new Promise<void>((end) => void readings.push({ end }));
      return fullName;
    },
  };
  const come = async (state: SharedState) => {
    const at = await moment();
    return Array.from({ length: 8 }, () => state.of(at, part));
  };
  /**
   * Completes all reads of the state in the order in which they began, until all callers have a result. @returns Number of
   * reads.
   */
  const endAll = async (told: readonly Promise<string>[]) => {
    let count = 0;
    const all = Promise.allSettled(told);
    for (let isOver = false; !isOver; ) {
      for (const { end } of readings.splice(0)) {
        count++;
        end();
      }
      isOver = await Promise.race([all.then(() => true), setTimeout(10, false)]);
    }
    return count;
  };
  const state = new SharedState();

  const first = await come(state);
  expect(await endAll(first)).toBe(1);
  await owner.ok('PATCH', '/settings', { full_name: 'Once changed' });
  const second = await come(state);
  expect(await endAll(second)).toBe(1);
  expect(await Promise.all(second)).toEqual(Array(8).fill('Once changed'));

  // A caller that needs newer data than the running read waits for its end, and then for a new read.
  await owner.ok('PATCH', '/settings', { full_name: 'Twice changed' });
  const early = await come(state);
  await expect.poll(() => readings.length).toBe(1);
  await owner.ok('PATCH', '/settings', { full_name: 'Changed again' });
  const late = await come(state);
  expect(await endAll([...early, ...late])).toBe(2);
  expect(await Promise.all(late)).toEqual(Array(8).fill('Changed again'));
});
