import { expect, test } from 'vitest';
import { publishedTotals, TOTALS } from '../../src/platform/totals.ts';
import { expectIgnoredParameters } from '../helpers/ignored.ts';
import { Visitor } from '../helpers/person.ts';
import { createOrganization, serverOf } from '../helpers/server.ts';

test.concurrent('describes the server and the organization without credentials', async () => {
  const { anonymous, organization } = await createOrganization();
  const url = `http://${organization.host}`;
  expect(await anonymous.ok('GET', '/server_settings')).toEqual({
    ...{ result: 'success', msg: '', service_feature_level: 496, is_incompatible: false },
    authentication_methods: {
      ...{ password: true, dev: false, email: true, ldap: false, remoteuser: false, saml: false },
      'openid connect': false,
    },
    external_authentication_methods: [
      {
        ...{ name: 'browser', display_name: 'Sign in with the browser', display_icon: null },
        ...{ login_url: '/sign-in/app', signup_url: '/sign-in/app' },
      },
    ],
    service_version: expect.any(String),
    service_merge_base: expect.any(String),
    ...{ push_notifications_enabled: false, email_auth_enabled: true, require_email_format_usernames: true },
    ...publishedTotals({ queuesPerUser: TOTALS.event_queues.max }),
    ...{ realm_uri: url, realm_url: url, realm_name: organization.name, realm_description: '' },
    realm_icon: expect.any(String),
    realm_web_public_access_enabled: false,
  });
});

test.concurrent('does not describe an organization at the root domain if there is none', async () => {
  const { url } = serverOf();
  const settings = await new Visitor({ url, host: 'localhost' }).ok('GET', '/server_settings');
  expect(settings.service_feature_level).toBe(496);
  expect(Object.keys(settings).filter((name) => name.startsWith('realm_'))).toEqual([]);
  expect(settings.external_authentication_methods).toEqual([]);
});

test.concurrent('ignores wrong credentials', async () => {
  const { anonymous } = await createOrganization();
  await anonymous.as('Basic nonsense').ok('GET', '/server_settings');
});

test.concurrent('reports only the reserved test client as incompatible', async () => {
  const { anonymous } = await createOrganization();
  const incompatible = async (agent: string) => {
    const { is_incompatible } = await anonymous.ok('GET', '/server_settings', {}, { headers: { 'user-agent': agent } });
    return is_incompatible;
  };
  expect(await incompatible('ServiceInvalid/1.0')).toBe(true);
  expect(await incompatible('Mobile/27.1 (Android)')).toBe(false);
});

test.concurrent('accepts only GET and HEAD', async () => {
  const { anonymous } = await createOrganization();
  expect((await anonymous.rest('HEAD', '/server_settings')).status).toBe(200);
  for (const method of ['POST', 'PATCH', 'DELETE'] as const) {
    const { status, body, headers } = await anonymous.rest(method, '/server_settings');
    expect([status, body.result, body.allowed_methods]).toEqual([405, 'error', ['GET', 'HEAD']]);
    expect(headers.allow).toBe('GET, HEAD');
  }
});

test.concurrent('returns the same over GraphQL, with and without credentials', async () => {
  const { anonymous, organization } = await createOrganization();
  const { data } = await anonymous.graphql(`{ serverSettings {
    featureLevel isIncompatible emailAuthEnabled authenticationMethods { password openidConnect }
    externalAuthenticationMethods { name } organization { url name webPublicAccessEnabled }
  } }`);
  expect(data.serverSettings).toEqual({
    ...{ featureLevel: 496, isIncompatible: false, emailAuthEnabled: true },
    externalAuthenticationMethods: [{ name: 'browser' }],
    authenticationMethods: { password: true, openidConnect: false },
    organization: { url: `http://${organization.host}`, name: organization.name, webPublicAccessEnabled: false },
  });
});

test.concurrent('returns the address of the emoji data and the typing intervals over GraphQL', async () => {
  const { anonymous, owner } = await createOrganization();
  const { data } = await anonymous.graphql(`{ serverSettings {
    emojiDataUrl typingTimes { repeatSeconds stopSeconds expirySeconds }
  } }`);
  const { emojiDataUrl, typingTimes } = data.serverSettings;
  const state = await owner.ok('POST', '/register', { fetch_event_types: ['realm', 'realm_emoji'] });
  expect(emojiDataUrl).toBe(state['server_emoji_data_url']);
  expect(typingTimes).toEqual({
    repeatSeconds: state['server_typing_started_wait_period_milliseconds'] / 1000,
    stopSeconds: state['server_typing_stopped_wait_period_milliseconds'] / 1000,
    expirySeconds: state['server_typing_started_expiry_period_milliseconds'] / 1000,
  });
});

test.concurrent('names the parameters that it ignored', async () => {
  const { member } = await createOrganization();
  await expectIgnoredParameters(member, 'GET', async () => ({ path: '/server_settings' }));
});
