import { describe, expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { expectShownAlike, logAsBefore, type Shown } from '../helpers/entity-events.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { PNG } from '../helpers/pictures.ts';
import { organisation } from '../helpers/server.ts';

const ONLY = { event_types: ['realm_user'] };

/** Of what the last of the events shows. */
const lastOf = (heard: readonly Shown[] | undefined) => heard?.at(-1)?.event;

/** Of people and bots. */
export function people(service: () => InProcess): void {
  describe('users', () => {
    test('who come are shown by their event as by themselves, to each reader what they may see', async () => {
      const { owner, member, guest, signUp } = await organisation({}, { on: service() });
      const readers = [owner, member, guest];
      const hide = { email_address_visibility: 5 };
      await owner.ok('PATCH', '/realm/user_settings_defaults', hide);
      const heard = await expectShownAlike(readers, () => signUp('Newcomer'), ONLY);
      for (const events of heard) expect(events.map(({ type }) => type)).toContain('UserAddedEvent');
      const addresses = heard.map((events) => events.find(({ type }) => type === 'UserAddedEvent')?.event.user);
      expect(addresses.map(({ deliveryEmail }) => deliveryEmail === null)).toEqual([false, true, true]);
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
      const hide = (visibility: number) => () =>
        member.ok('PATCH', '/settings', { email_address_visibility: visibility });
      const addressesIn = (heard: readonly (readonly Shown[])[], property: string) =>
        heard.map((events) => {
          const [told] = events.filter(({ event }) => event.userProperty === property);
          return told === undefined ? undefined : (told.event.user.deliveryEmail ?? told.event.user.email ?? null);
        });
      const hidden = await expectShownAlike(readers, hide(3), ONLY);
      expect(addressesIn(hidden, 'DELIVERY_EMAIL')).toEqual([undefined, undefined, null, undefined]);
      expect(new Set(addressesIn(hidden, 'EMAIL'))).toEqual(new Set([`user${member.id}@users.invalid`]));
      const shown = await expectShownAlike(readers, hide(1), ONLY);
      expect(addressesIn(shown, 'DELIVERY_EMAIL')).toEqual([undefined, undefined, member.email, undefined]);
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
