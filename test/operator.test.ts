import { expect, test } from 'vitest';
import { runCommand } from './helpers/control.ts';
import { organisation, serverOf } from './helpers/server.ts';

// What the server's operator does with people, at the command line of a server that runs.

const PASSWORD = 'correct horse battery';

async function ground() {
  const { owner, realm, signUp } = await organisation();
  const member = await signUp('Mara', 'member', PASSWORD);
  const command = (name: string, args: object) =>
    runCommand(serverOf().dataDir, name, { org: realm.subdomain, ...args });
  const signIn = (password: string) =>
    member.rest('POST', '/fetch_api_key', { username: member.email, password }).then(({ status }) => status);
  return { owner, member, command, signIn };
}

test.concurrent('gives a role, and everybody is told', async () => {
  const { owner, member, command } = await ground();
  const heard = await owner.hearing();
  expect(await command('user role', { user: member.email, role: 'moderator' })).toMatchObject({ role: 'moderator' });
  const told = (await heard()).find(({ type, op }) => type === 'realm_user' && op === 'update');
  expect(told?.person).toEqual({ user_id: member.id, role: 300 });
  await expect(command('user role', { user: owner.email, role: 'member' })).rejects.toThrow(/only organization owner/);
});

test.concurrent('gives a password, which takes the place of the one that was lost', async () => {
  const { member, command, signIn } = await ground();
  await expect(command('user password', { user: member.email, password: 'short' })).rejects.toThrow(/BAD_REQUEST/);
  expect(await signIn(PASSWORD)).toBe(200);
  await command('user password', { user: String(member.id), password: 'another horse battery' });
  expect([await signIn(PASSWORD), await signIn('another horse battery')]).toEqual([401, 200]);
  expect((await member.rest('GET', '/users/me')).status).toBe(200);
});

test.concurrent('deactivates somebody, and lets them in again', async () => {
  const { owner, member, command } = await ground();
  const status = async () => (await member.rest('GET', '/users/me')).status;
  expect(await command('user deactivate', { user: member.email })).toMatchObject({ active: false });
  expect(await status()).toBe(401);
  expect(await command('user reactivate', { user: member.email })).toMatchObject({ active: true });
  expect(await status()).toBe(200);
  await expect(command('user deactivate', { user: owner.email })).rejects.toThrow(/only organization owner/);
});
