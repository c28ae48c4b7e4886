import { expect, test } from 'vitest';
import { runCommand } from '../helpers/control.ts';
import { createOrganization, serverOf } from '../helpers/server.ts';

test.concurrent('lets owners manage the allowed domains, in both APIs, and notifies all users', async () => {
  const { owner, administrator, guest } = await createOrganization();
  const heard = await guest.receiving({ event_types: ['realm_domains', 'realm'] });
  const { new_domain } = await owner.ok('POST', '/realm/domains', {
    domain: ' Acme.Example ',
    allow_subdomains: false,
  });
  expect(new_domain).toEqual([expect.any(Number), 'acme.example']);
  await owner.ok('PATCH', '/realm/domains/Acme.Example', { allow_subdomains: true });
  // This request changes nothing, but sends an event nevertheless.
  await owner.mutate(
    'updateOrganizationDomain',
    { domain: 'acme.example', allowSubdomains: true },
    'organizationDomain { domain }',
  );
  await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
  const acme = { domain: 'acme.example', allow_subdomains: true };
  expect((await guest.ok('GET', '/realm/domains')).domains).toEqual([acme]);
  expect((await guest.register({ fetch_event_types: ['realm_domains'] })).realm_domains).toEqual([acme]);
  const { status, body } = await administrator.rest('PATCH', '/realm/domains/acme.example', {
    allow_subdomains: false,
  });
  expect([status, body.code]).toEqual([400, 'UNAUTHORIZED_PRINCIPAL']);
  // The role is checked before the parameters.
  const invalid = await administrator.rest('POST', '/realm/domains', { domain: '', allow_subdomains: false });
  expect([invalid.status, invalid.body.code]).toEqual([400, 'UNAUTHORIZED_PRINCIPAL']);
  await owner.mutate('removeOrganizationDomain', { domain: 'acme.example' }, 'organizationDomainId');
  expect(await heard()).toEqual([
    { type: 'realm_domains', op: 'add', realm_domain: { domain: 'acme.example', allow_subdomains: false } },
    { type: 'realm_domains', op: 'change', realm_domain: acme },
    { type: 'realm_domains', op: 'change', realm_domain: acme },
    expect.objectContaining({ type: 'realm', data: { emails_restricted_to_domains: true } }),
    { type: 'realm_domains', op: 'remove', domain: 'acme.example' },
    // When the last domain is removed, the restriction to domains is switched off, because no user could satisfy it.
    expect.objectContaining({ type: 'realm', data: { emails_restricted_to_domains: false } }),
  ]);
});

test.concurrent('refuses invalid, existing and unknown domains', async () => {
  const { owner } = await createOrganization();
  await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: false });
  for (const domain of [
    '',
    'acme',
    '.acme.example',
    'acme.example.',
    'a b.example',
    '-a.example',
    `${'a'.repeat(260)}.example`,
  ]) {
    const { body } = await owner.rest('POST', '/realm/domains', { domain, allow_subdomains: true });
    expect([body.code, body.msg.startsWith('Invalid domain: ')], domain).toEqual(['BAD_REQUEST', true]);
  }
  const again = await owner.rest('POST', '/realm/domains', { domain: 'ACME.example', allow_subdomains: true });
  expect(again.body.msg).toBe('The domain acme.example is already a part of your organization.');
  for (const method of ['PATCH', 'DELETE'] as const) {
    const { body } = await owner.rest(method, '/realm/domains/other.example', { allow_subdomains: true });
    expect(body).toMatchObject({ code: 'BAD_REQUEST', msg: 'No entry found for domain other.example.' });
  }
});

test.concurrent('creates users only in the allowed domains, if the organization requires that', async () => {
  const { owner, organization } = await createOrganization();
  await runCommand(serverOf().dataDir, 'user grant', {
    org: organization.subdomain,
    user: owner.email,
    right: 'can_create_users',
  });
  await owner.ok('POST', '/realm/domains', { domain: 'acme.example', allow_subdomains: true });
  await owner.ok('PATCH', '/realm', { emails_restricted_to_domains: true });
  const create = (email: string) =>
    owner.rest('POST', '/users', { email, password: 'correct horse battery', full_name: `At ${email.split('@')[1]}` });
  expect((await create('a@other.example')).body.msg).toBe("Email 'a@other.example' not allowed in this organization");
  expect((await create('a+b@acme.example')).body.msg).toBe('Email addresses containing + are not allowed.');
  expect((await create('a@ships.acme.example')).status).toBe(200);
});
