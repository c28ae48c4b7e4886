import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { expectShownAlike, logAsBefore, type Shown } from '../helpers/entity-events.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { organisation } from '../helpers/server.ts';

const ONLY = { event_types: ['realm_user'] };

/** Of what the last of the events shows. */
const lastOf = (heard: readonly Shown[] | undefined) => heard?.at(-1)?.event;

/** What a queue tells of the addresses of some people, until now. */
async function addressesIn(reader: Person, queueId: string, people: readonly Person[]): Promise<Json[]> {
  const ids = people.map(({ id }) => globalId('User', id));
  const events = await reader.poll(queueId, -1, { dontBlock: true });
  const addresses = '{ id email deliveryEmail }';
  await using stream = await reader.events(
    `... on UserAddedEvent { user ${addresses} } ... on UserUpdatedEvent { userProperty user ${addresses} }`,
    { queueId, after: -1 },
  );
  const of = (await stream.take(events.length)).filter(({ user }) => ids.includes(user.id));
  return of.map(({ user: { id: _, ...user }, ...event }) => ({ ...event, user }));
}

/** Of people and bots. */
export function people(service: () => InProcess): void {
  describe('users', () => {
    test('who come are shown by their event as by themselves, to each reader what they may see', async () => {
      const { owner, member, guest, signUp } = await organisation({}, { on: service() });
      const readers = [owner, member, guest];
      const heard = await expectShownAlike(readers, () => signUp('Newcomer'), ONLY);
      for (const events of heard) expect(events.map(({ type }) => type)).toContain('UserAddedEvent');
      const make = () => member.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
      const bots = await expectShownAlike(readers, make, ONLY);
      expect(bots[2]?.[0]?.event.user).toMatchObject({ isBot: true, botOwner: { databaseId: member.id } });
    });

    test('who change are shown by what changed as by themselves', async () => {
      const { owner, member, guest, realm, ...rest } = await organisation({}, { on: service() });
      const readers = [owner, rest.administrator, guest, member];
      const told = async (act: () => Promise<unknown>) => (await expectShownAlike(readers, act, ONLY)).map(lastOf);
      const settings = (input: object) => () => member.ok('PATCH', '/settings', { ...input });
      expect(await told(settings({ full_name: 'Ada' }))).toMatchObject(
        readers.map(() => ({ userProperty: 'FULL_NAME', user: { databaseId: member.id, fullName: 'Ada' } })),
      );
      expect((await told(settings({ timezone: 'Asia/Kolkata' })))[2]).toMatchObject({
        userProperty: 'TIMEZONE',
        user: { timezone: 'Asia/Kolkata' },
      });
      const role = () => owner.ok('PATCH', `/users/${member.id}`, { role: 300 });
      expect((await told(role))[2]).toMatchObject({ userProperty: 'ROLE', user: { role: 'MODERATOR' } });
      const image = () => member.ok('POST', '/users/me/avatar', { file: PNG });
      expect((await told(image))[2]).toMatchObject({ userProperty: 'AVATAR', user: { avatarSource: 'UPLOADED' } });
      const deactivate = () => owner.ok('DELETE', `/users/${rest.moderator.id}`);
      expect((await told(deactivate))[2]).toMatchObject({ userProperty: 'IS_ACTIVE', user: { isActive: false } });
      const give = () => owner.mutate('updateBot', { botId: rest.bot.id, ownerId: member.id }, '__typename');
      expect((await told(give))[2]).toMatchObject({
        userProperty: 'BOT_OWNER',
        user: { botOwner: { databaseId: member.id } },
      });
    });

    test('who hide their address are shown so to each reader as they may see it', async () => {
      const { owner, member, guest, administrator } = await organisation({}, { on: service() });
      const readers = [owner, administrator, guest, member];
      const told = async (visibility: number) => {
        const queues = await Promise.all(readers.map((reader) => reader.register({ ...ONLY, fetch_event_types: [] })));
        await member.ok('PATCH', '/settings', { email_address_visibility: visibility });
        return Promise.all(readers.map((reader, i) => addressesIn(reader, queues[i]?.queue_id, [member])));
      };
      const hidden = `user${member.id}@users.invalid`;
      // Who sees it as before hears of the address for all alone.
      const [ofRole, forAll] = [['DELIVERY_EMAIL'], ['EMAIL']].map(String);
      const seen = { userProperty: forAll, user: { email: hidden, deliveryEmail: member.email } };
      const unseen = { email: hidden, deliveryEmail: null };
      const ofGuest = [ofRole, forAll].map((userProperty) => ({ userProperty, user: unseen }));
      expect(await told(3)).toEqual([[seen], [seen], ofGuest, [seen]]);
      const open = { email: member.email, deliveryEmail: member.email };
      const [all, again] = [[forAll], [ofRole, forAll]].map((properties) =>
        properties.map((userProperty) => ({ userProperty, user: open })),
      );
      expect(await told(1)).toEqual([all, all, again, all]);
    });

    test('who hid their address since are not shown with it by what happened before', async () => {
      const { member, guest, signUp } = await organisation({}, { on: service() });
      await member.ok('PATCH', '/settings', { email_address_visibility: 5 });
      const { queue_id: queueId } = await guest.register({ ...ONLY, fetch_event_types: [] });
      await member.ok('PATCH', '/settings', { email_address_visibility: 1 });
      const newcomer = await signUp('Newcomer');
      for (const person of [member, newcomer]) await person.ok('PATCH', '/settings', { email_address_visibility: 5 });
      const told = await addressesIn(guest, queueId, [member, newcomer]);
      // One shows theirs and hides it again, for all and for the guest's role; the other comes, and hides it.
      expect(told).toHaveLength(2 + 2 + 1 + 2);
      for (const { user } of told) {
        expect(user).toEqual({ email: expect.stringContaining('@users.invalid'), deliveryEmail: null });
      }
    });

    test('whose profile changes are read, for what they have in it', async () => {
      const { owner, member, guest } = await organisation({}, { on: service() });
      const { id } = await owner.ok('POST', '/realm/profile_fields', { field_type: 1, name: 'Ship' });
      const fill = () => member.ok('PATCH', '/users/me/profile_data', { data: [{ id, value: 'Argo' }] });
      const heard = await expectShownAlike([owner, guest], fill, ONLY);
      for (const [event] of heard) expect(event?.event).toMatchObject({ userProperty: 'PROFILE_DATA' });
    });

    test('who were made by somebody and sign in for the first time are shown so', async () => {
      const { owner, member, guest, realm } = await organisation({}, { on: service() });
      const right = { org: realm.subdomain, user: owner.email, right: 'can_create_users' };
      await runCommand(service().dataDir, 'user grant', right);
      const account = {
        email: `stub@${realm.subdomain}.example`,
        full_name: 'Stub',
        password: 'correct horse battery',
      };
      await owner.ok('POST', '/users', account);
      const signIn = () =>
        (guest as Person).ok('POST', '/fetch_api_key', { username: account.email, password: account.password });
      const heard = await expectShownAlike([owner, member, guest], signIn, ONLY);
      for (const events of heard) {
        expect(events.map(({ event }) => event.userProperty)).toEqual(['IS_IMPORTED_STUB', 'JOINED_AT']);
      }
    });

    test('of events logged before are shown by what changed', async () => {
      const { owner, member, realm } = await organisation({}, { on: service() });
      const before = { type: 'realm_user', op: 'update', person: { user_id: member.id, full_name: member.name } };
      const [heard] = await expectShownAlike([owner], () => logAsBefore(service(), realm.id, before, [owner]));
      expect(heard?.[0]?.event.user).toMatchObject({ fullName: member.name });
    });
  });
}
