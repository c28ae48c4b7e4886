import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { expectShownAlike, logAsBefore, type Shown } from '../helpers/entity-events.ts';
import { globalId } from '../helpers/global-ids.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { createOrganization } from '../helpers/server.ts';

const ONLY = { event_types: ['realm_user'] };

/** Returns the last event that a reader received, as GraphQL returns it. */
const lastOf = (heard: readonly Shown[] | undefined) => heard?.at(-1)?.event;

/** Returns the email addresses of some users, as the events of a queue contain them. Reads the events up to now. */
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

/**
 * Registers the tests of events about users and bots.
 *
 * @param service Returns the service that the tests use.
 */
export function people(service: () => InProcess): void {
  describe('users', () => {
    test('events of new users contain the same data as queries, as far as each viewer can see it', async () => {
      const { owner, member, guest, signUp } = await createOrganization({}, { on: service() });
      const readers = [owner, member, guest];
      const heard = await expectShownAlike(readers, () => signUp('Newcomer'), ONLY);
      for (const events of heard) expect(events.map(({ type }) => type)).toContain('UserAddedEvent');
      const make = () => member.ok('POST', '/bots', { full_name: 'Helper', short_name: 'helper' });
      const bots = await expectShownAlike(readers, make, ONLY);
      expect(bots[2]?.[0]?.event.user).toMatchObject({ isBot: true, botOwner: { databaseId: member.id } });
    });

    test('events of changes contain the same data as queries', async () => {
      const { owner, member, guest, organization, ...rest } = await createOrganization({}, { on: service() });
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
      expect((await told(image))[2]).toMatchObject({ userProperty: 'AVATAR_URL', user: { avatarSource: 'UPLOADED' } });
      const deactivate = () => owner.ok('DELETE', `/users/${rest.moderator.id}`);
      expect((await told(deactivate))[2]).toMatchObject({ userProperty: 'IS_ACTIVE', user: { isActive: false } });
      const give = () => owner.mutate('updateBot', { botId: rest.bot.id, ownerId: member.id }, '__typename');
      expect((await told(give))[2]).toMatchObject({
        userProperty: 'BOT_OWNER',
        user: { botOwner: { databaseId: member.id } },
      });
    });

    test('an event of the address visibility contains the address as each viewer can see it', async () => {
      const { owner, member, guest, administrator } = await createOrganization({}, { on: service() });
      const readers = [owner, administrator, guest, member];
      const told = async (visibility: number) => {
        const queues = await Promise.all(readers.map((reader) => reader.register({ ...ONLY, fetch_event_types: [] })));
        await member.ok('PATCH', '/settings', { email_address_visibility: visibility });
        return Promise.all(readers.map((reader, i) => addressesIn(reader, queues[i]?.queue_id, [member])));
      };
      const hidden = `user${member.id}@users.invalid`;
      // Readers who can see the email address before and after the change receive only the EMAIL event.
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

    test('earlier events do not contain an address that was hidden later', async () => {
      const { member, guest, signUp } = await createOrganization({}, { on: service() });
      await member.ok('PATCH', '/settings', { email_address_visibility: 5 });
      const { queue_id: queueId } = await guest.register({ ...ONLY, fetch_event_types: [] });
      await member.ok('PATCH', '/settings', { email_address_visibility: 1 });
      const newcomer = await signUp('Newcomer');
      for (const person of [member, newcomer]) await person.ok('PATCH', '/settings', { email_address_visibility: 5 });
      const told = await addressesIn(guest, queueId, [member, newcomer]);
      // Expected events, EMAIL and DELIVERY_EMAIL for each change: 2 when the address is shown, and 2 when it is hidden. Then 1
      // about the new user, and 2 when that user's address is hidden.
      expect(told).toHaveLength(2 + 2 + 1 + 2);
      for (const { user } of told) {
        expect(user).toEqual({ email: expect.stringContaining('@users.invalid'), deliveryEmail: null });
      }
    });

    test('events of profile data are read', async () => {
      const { owner, member, guest } = await createOrganization({}, { on: service() });
      const { id } = await owner.ok('POST', '/realm/profile_fields', { field_type: 1, name: 'Ship' });
      const fill = () => member.ok('PATCH', '/users/me/profile_data', { data: [{ id, value: 'Argo' }] });
      const heard = await expectShownAlike([owner, guest], fill, ONLY);
      for (const [event] of heard) expect(event?.event).toMatchObject({ userProperty: 'PROFILE_DATA' });
    });

    test('events of the first sign-in of users created by an administrator contain the same data as queries', async () => {
      const { owner, member, guest, organization } = await createOrganization({}, { on: service() });
      const right = { org: organization.subdomain, user: owner.email, right: 'can_create_users' };
      await runCommand(service().dataDir, 'user grant', right);
      const account = {
        email: `stub@${organization.subdomain}.example`,
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

    test('events logged by a previous version contain the changed field', async () => {
      const { owner, member, organization } = await createOrganization({}, { on: service() });
      const before = { type: 'realm_user', op: 'update', person: { user_id: member.id, full_name: member.name } };
      const [heard] = await expectShownAlike([owner], () => logAsBefore(service(), organization.id, before, [owner]));
      expect(heard?.[0]?.event.user).toMatchObject({ fullName: member.name });
    });
  });
}
