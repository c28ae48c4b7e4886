import { describe, expect, test } from 'vitest';
import { TOTAL_NAMES, wireNameOf } from '../../src/platform/totals.ts';
import { Visitor } from '../helpers/person.ts';
import { createOrganization, serverOf } from '../helpers/server.ts';
import { flag, integer, success, text } from '../helpers/shapes.ts';
import { channelOf } from '../helpers/talk.ts';

const { anonymous, member, organization, owner } = await createOrganization();
const OF_ORGANIZATION = {
  ...{ realm_uri: text, realm_url: text, realm_name: text, realm_icon: text, realm_description: text },
  realm_web_public_access_enabled: flag,
};
const OF_SERVER = {
  ...{ authentication_methods: expect.any(Object), external_authentication_methods: expect.any(Array) },
  ...{ service_feature_level: integer, service_version: text, service_merge_base: text },
  ...{ push_notifications_enabled: flag, is_incompatible: flag, email_auth_enabled: flag },
  require_email_format_usernames: flag,
  // Fields that this service adds to the interface: maximum numbers of objects.
  ...Object.fromEntries(TOTAL_NAMES.map((name) => [wireNameOf(name), integer])),
};

describe.concurrent('4.22 GET /server_settings', () => {
  test('returns exactly the documented fields, with and without authentication', async () => {
    for (const visitor of [anonymous, member]) {
      expect(await visitor.ok('GET', '/server_settings')).toEqual(success({ ...OF_SERVER, ...OF_ORGANIZATION }));
    }
  });

  test.for(['password', 'dev', 'email', 'ldap', 'remoteuser', 'saml', 'openid connect'])(
    'authentication_methods contains "%s"',
    async (method) => {
      const { authentication_methods } = await anonymous.ok('GET', '/server_settings');
      expect(authentication_methods[method]).toEqual(flag);
    },
  );

  test('external_authentication_methods have their five members', async () => {
    const { external_authentication_methods } = await anonymous.ok('GET', '/server_settings');
    const method = { name: text, display_name: text, login_url: text, signup_url: text };
    for (const external of external_authentication_methods) expect(external).toMatchObject(method);
  });

  test('realm_uri is an alias of the canonical realm_url', async () => {
    const { realm_uri, realm_url } = await anonymous.ok('GET', '/server_settings');
    expect([realm_uri, realm_url]).toEqual([`http://${organization.host}`, `http://${organization.host}`]);
  });

  test('realm_name is the display name', async () => {
    expect((await anonymous.ok('GET', '/server_settings')).realm_name).toBe(organization.name);
  });

  test('realm_description is HTML', async () => {
    const { owner, anonymous } = await createOrganization();
    await owner.ok('PATCH', '/realm', { description: 'We *build* ships' });
    expect((await anonymous.ok('GET', '/server_settings')).realm_description).toBe('<p>We <em>build</em> ships</p>');
  });

  test('realm_icon is the URL of an image', async () => {
    const { realm_icon } = await anonymous.ok('GET', '/server_settings');
    const { url } = serverOf();
    const reply = await fetch(new URL(realm_icon, url));
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^image\//)]);
  });

  test('service_merge_base is the version of an unforked server, or ""', async () => {
    const { service_version, service_merge_base } = await anonymous.ok('GET', '/server_settings');
    expect(['', service_version]).toContain(service_merge_base);
  });

  test('realm_web_public_access_enabled is false if there is no web-public channel', async () => {
    await channelOf(owner, 'general', []);
    expect((await anonymous.ok('GET', '/server_settings')).realm_web_public_access_enabled).toBe(false);
  });

  test('omits the fields of a realm at the root domain', async () => {
    const root = new Visitor({ url: serverOf().url, host: 'localhost' });
    expect(await root.ok('GET', '/server_settings')).toEqual(success(OF_SERVER));
  });
});
