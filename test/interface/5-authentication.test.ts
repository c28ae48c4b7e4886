import { describe, expect, test } from 'vitest';
import { basic, type Person } from '../helpers/person.ts';
import { pathOf, REST_CALLS } from '../helpers/rest-calls.ts';
import { nothing } from '../helpers/scene.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';
import { ENDPOINTS, OPEN_ENDPOINTS } from '../helpers/the-22.ts';

const { owner, administrator, moderator, member, guest, bot, anonymous } = await createOrganization();

describe.concurrent('5.1 HTTP Basic', () => {
  test.for([member, bot])('the $name authenticates with API email and API key', async (person) => {
    const { user_id } = await anonymous.as(basic(person.email, person.apiKey)).ok('GET', '/users/me');
    expect(user_id).toBe(person.id);
  });

  test('the API email is the fake address if the real one is hidden', async () => {
    const { member } = await createOrganization();
    await member.ok('PATCH', '/settings', { email_address_visibility: 4 });
    const { email } = await member.ok('GET', '/users/me');
    expect(email).not.toBe(member.email);
    expect((await member.as(basic(email, member.apiKey)).ok('GET', '/users/me')).user_id).toBe(member.id);
  });

  test.for([
    ['no credentials', undefined],
    ['another scheme', `Bearer ${'x'.repeat(32)}`],
    ['no colon', `Basic ${btoa('nobody')}`],
    ['an unknown address', basic('nobody@nowhere.example', member.apiKey)],
    ['a wrong key', basic(member.email, 'x'.repeat(32))],
    ["another user's key", basic(member.email, owner.apiKey)],
    ['an empty key', basic(member.email, '')],
  ] as const)('rejects %s', async ([, authorization]) => {
    const { status, body } = await anonymous.as(authorization).rest('GET', '/users/me');
    expect([status, body.result]).toEqual([401, 'error']);
  });

  test('rejects credentials of another organization', async () => {
    const other = await createOrganization();
    expect((await anonymous.as(other.member.authorization).rest('GET', '/users/me')).status).toBe(401);
  });

  test.for(ENDPOINTS.filter((name) => !(name in OPEN_ENDPOINTS)))('%s requires authentication', async (name) => {
    const [method, path] = name.split(' ') as ['GET', string];
    const { slots = {}, parameters } = REST_CALLS[name]?.(nothing())[0] ?? {};
    expect((await anonymous.rest(method, pathOf(path, { slots }), parameters)).status).toBe(401);
  });
});

describe.concurrent('5.2 Server settings', () => {
  test('need no authentication', async () => {
    expect(await anonymous.ok('GET', '/server_settings')).toMatchObject(success());
  });
});

describe.concurrent('5.4 Role restrictions', () => {
  let made = 0;
  const folder = async (by: Person) => {
    const name = `folder ${++made}`;
    const made_ = await owner.ok('POST', '/channel_folders/create', { name, description: '' });
    return by.rest('PATCH', `/channel_folders/${made_.channel_folder_id}`, { name: `${name}, by ${by.name}` });
  };
  const status = (by: Person) => by.rest('POST', `/users/${member.id}/status`, { status_text: by.name });
  const domain = async (by: Person) => {
    const name = `domain${++made}.example`;
    await owner.ok('POST', '/realm/domains', { domain: name, allow_subdomains: false });
    return by.rest('PATCH', `/realm/domains/${name}`, { allow_subdomains: true });
  };
  const deactivation = async (by: Person) => {
    const other = await createOrganization();
    const same = { owner, administrator, moderator, guest, bot, member }[by.name as 'owner'];
    const role = Object.entries({ owner, administrator, moderator, member, guest, bot }).find(
      ([, one]) => one === same,
    );
    const caller = other[role?.[0] as 'owner'];
    return caller.rest('DELETE', `/users/${other.member.id}`);
  };

  test.for([
    ['updates a channel folder', folder, [owner, administrator], [moderator, guest, bot], 'UNAUTHORIZED_PRINCIPAL'],
    ["updates another user's status", status, [owner, administrator], [moderator, guest, bot], 'BAD_REQUEST'],
    ['deactivates a user', deactivation, [owner, administrator], [moderator, guest, bot], 'BAD_REQUEST'],
    ['updates an allowed domain', domain, [owner], [administrator, moderator, bot], 'UNAUTHORIZED_PRINCIPAL'],
  ] as const)('%s only with the required role', async ([, act, may, mayNot, code]) => {
    for (const by of may) expect((await act(by)).body).toEqual(success());
    for (const by of mayNot) expect(await act(by)).toMatchObject(refused(code));
  });
});
