import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyDeclaredProviders, requireDeclaredProviders } from '../../src/administration/single-sign-on/declared.ts';
import { readConfig } from '../../src/platform/config.ts';
import { runCommand } from '../helpers/control.ts';
import type { Json } from '../helpers/http.ts';
import type { InProcess } from '../helpers/in-process.ts';
import type { Person } from '../helpers/person.ts';
import { runProgram, testFolder } from '../helpers/program.ts';
import { createOrganization, OWNER_PASSWORD, startServer } from '../helpers/server.ts';
import { startOnDatabaseOfRun } from '../helpers/service.ts';

// Tests the identity providers that the environment declares.

const SECRET = 'the secret of the client';
const entryOf = (organization: string, more: object = {}) => ({
  ...{ organization, slug: 'company', name: 'Company', issuer: 'https://login.example', client_id: 'chat' },
  ...{ client_secret: SECRET, domains: ['example.com'], create_accounts: true },
  ...more,
});
const variable = (...entries: object[]) => ({ OPENID_CONNECT_PROVIDERS: JSON.stringify(entries) });

const FIELDS = 'id slug name issuer clientId hasClientSecret domains createsAccounts isEnabled isConfiguredByOperator';
const providersOf = async (owner: Person): Promise<Json[]> =>
  (await owner.query(`{ organization { identityProviders(first: 20) { nodes { ${FIELDS} } } } }`)).organization
    .identityProviders.nodes;

const SHOWN = {
  ...{ slug: 'company', name: 'Company', issuer: 'https://login.example', clientId: 'chat', hasClientSecret: true },
  ...{ domains: ['example.com'], createsAccounts: true, isEnabled: true, isConfiguredByOperator: true },
};
const REFUSED = {
  __typename: 'ForbiddenError',
  message: 'The operator of the server configures this provider (OPENID_CONNECT_PROVIDERS). It cannot be changed here.',
};

async function attempt(by: Person, name: string, input: Json): Promise<Json> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input!`;
  const document = `mutation ($input: ${type}) { ${name}(input: $input) { __typename ... on ServiceError { message } } }`;
  return (await by.graphql(document, { input })).data?.[name];
}

test('each start applies them, and disables those that are not declared any more', { timeout: 240_000 }, async () => {
  await using server = await startServer();
  const { owner, member, organization } = await createOrganization({}, { on: server, password: OWNER_PASSWORD });
  const { subdomain } = organization;
  await owner.mutate(
    'createIdentityProvider',
    { slug: 'own', name: 'Own', issuer: 'https://own.example', clientId: 'a', clientSecret: 'b' },
    'identityProvider { id }',
  );
  await server.restart(variable(entryOf(subdomain), entryOf('nowhere')));
  const [own, declared] = await providersOf(owner);
  expect(own).toMatchObject({ slug: 'own', isConfiguredByOperator: false });
  expect(declared).toMatchObject(SHOWN);
  const { body } = await member.rest('GET', '/server_settings');
  expect(body.external_authentication_methods.map(({ display_name }: Json) => display_name)).toContain('Company');
  const which = { identityProviderId: declared?.['id'] };
  expect(await attempt(owner, 'updateIdentityProvider', { ...which, name: 'x' })).toEqual(REFUSED);
  expect(await attempt(owner, 'deleteIdentityProvider', which)).toEqual(REFUSED);
  await expect(runCommand(server.dataDir, 'sso remove', { org: subdomain, slug: 'company' })).rejects.toThrow(
    REFUSED.message,
  );
  expect(server.log()).toContain('identity providers of an unknown organization were not applied');

  await server.restart(variable(entryOf(subdomain, { name: 'Another name' })));
  expect(await providersOf(owner)).toEqual([own, { ...declared, name: 'Another name' }]);
  // A start without the variable, or with a list of an unknown organization, changes nothing.
  await server.restart({ OPENID_CONNECT_PROVIDERS: undefined });
  await server.restart(variable(entryOf('nowhere')));
  expect(await providersOf(owner)).toEqual([own, { ...declared, name: 'Another name' }]);
  await server.restart({ OPENID_CONNECT_PROVIDERS: '[]' });
  expect(await providersOf(owner)).toEqual([own, { ...declared, name: 'Another name', isEnabled: false }]);
  expect(server.log()).toContain('identity provider is not declared any more, and was disabled');
  await server.restart(variable(entryOf(subdomain)));
  expect(await providersOf(owner)).toEqual([own, declared]);
  await server.restart({ OPENID_CONNECT_PROVIDERS: '[]' });
  expect(await attempt(owner, 'updateIdentityProvider', { ...which, isEnabled: true })).toEqual(REFUSED);
  expect((await attempt(owner, 'deleteIdentityProvider', which))?.__typename).toBe('DeleteIdentityProviderPayload');
  expect(await providersOf(owner)).toEqual([own]);
  expect(server.log()).not.toContain(SECRET);
});

describe('when they are applied', () => {
  let service: InProcess;
  beforeAll(async () => {
    service = await startOnDatabaseOfRun();
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const apply = (...entries: object[]) =>
    applyDeclaredProviders({ ...service.app, config: { ...service.app.config, ...declaredIn(...entries) } });
  const declaredIn = (...entries: object[]) => {
    const { openidConnectProviders } = readConfig(variable(...entries));
    return { openidConnectProviders };
  };
  const place = () => createOrganization({}, { on: service, password: OWNER_PASSWORD });
  const auditOf = async (organizationId: number) =>
    (
      await service.app.db.auditLogEntry.findMany({
        where: { organizationId, objectType: 'identity_provider' },
        orderBy: { id: 'asc' },
      })
    ).map(({ action, actorKind, details }) => [
      action,
      actorKind,
      Object.keys(details as Json)
        .sort()
        .join(),
    ]);

  test('several nodes that start at the same time add one provider, and nothing is written if nothing changed', async () => {
    const { owner, organization } = await place();
    const events = await owner.receiving({ event_types: ['identity_providers_changed'] });
    const entry = entryOf(organization.subdomain);
    await Promise.all([apply(entry), apply(entry), apply(entry)]);
    await apply(entry);
    expect(await providersOf(owner)).toEqual([expect.objectContaining(SHOWN)]);
    expect(await events()).toHaveLength(1);
    const created = 'clientId,createsAccounts,domains,groupRules,groupsClaim,isEnabled,issuer,name,slug';
    expect(await auditOf(organization.id)).toEqual([['identity_provider_created', 'operator', created]]);
    const { sealedSecret } = await service.app.db.identityProvider.findFirstOrThrow({
      where: { organizationId: organization.id },
    });
    expect(service.app.keys.open(sealedSecret ?? new Uint8Array())).toBe(SECRET);
    await apply({ ...entry, client_secret: 'another secret' });
    await apply();
    expect(await providersOf(owner)).toEqual([expect.objectContaining({ ...SHOWN, isEnabled: false })]);
    const written = await service.app.db.auditLogEntry.findMany({ where: { organizationId: organization.id } });
    expect(JSON.stringify(written.map(({ details }) => details))).not.toMatch(/secret of|another secret/);
    expect((await auditOf(organization.id)).slice(1).map(([action, actor]) => [action, actor])).toEqual([
      ['identity_provider_changed', 'operator'],
      ['identity_provider_changed', 'operator'],
    ]);
  });

  test('a provider of an owner with the same identifier stays, and other providers are applied', async () => {
    const { owner, organization } = await place();
    const { subdomain } = organization;
    await owner.mutate(
      'createIdentityProvider',
      { slug: 'company', name: 'Own', issuer: 'https://own.example', clientId: 'a', clientSecret: 'b' },
      'identityProvider { id }',
    );
    await apply(entryOf(subdomain), entryOf(subdomain, { slug: 'second' }));
    expect(await providersOf(owner)).toEqual([
      expect.objectContaining({ slug: 'company', name: 'Own', isConfiguredByOperator: false }),
      expect.objectContaining({ slug: 'second', isConfiguredByOperator: true }),
    ]);
    await apply();
    const enabled = (await providersOf(owner)).filter(({ isEnabled }) => isEnabled);
    expect(enabled.map(({ slug }) => slug)).toEqual(['company']);
  });

  test('a secret that was lost with SECRET_KEY is stored again, and the provider is enabled', async () => {
    const { owner, organization } = await place();
    const entry = entryOf(organization.subdomain);
    await apply(entry);
    const lost = { sealedSecret: null, isEnabled: false };
    await service.app.db.identityProvider.updateMany({ where: { organizationId: organization.id }, data: lost });
    await apply(entry);
    expect(await providersOf(owner)).toEqual([expect.objectContaining(SHOWN)]);
    await apply();
  });
});

describe('an invalid value', () => {
  const problemOf = (text: string): string => {
    try {
      const { host, port, ...config } = readConfig({ OPENID_CONNECT_PROVIDERS: text });
      requireDeclaredProviders({ host, port, ...config });
    } catch (error) {
      return (error as Error).message;
    }
    return 'no problem';
  };
  const withEntry = (more: object) => problemOf(JSON.stringify([entryOf('a', more)]));

  test('is named with its position and field, and without the secret', () => {
    expect(withEntry({})).toBe('no problem');
    expect(problemOf(`[{"client_secret": "${SECRET}"`)).toBe('OPENID_CONNECT_PROVIDERS: is not valid JSON');
    expect(problemOf('{}')).toMatch(/^OPENID_CONNECT_PROVIDERS: .*expected array/);
    expect(withEntry({ name: undefined })).toMatch(/^OPENID_CONNECT_PROVIDERS: 0\.name: /);
    expect(withEntry({ client_secret: 7 })).toMatch(/^OPENID_CONNECT_PROVIDERS: 0\.client_secret: /);
    expect(withEntry({ secret: SECRET })).toMatch(/^OPENID_CONNECT_PROVIDERS: 0: Unrecognized key: "secret"$/);
    expect(problemOf(JSON.stringify([entryOf('a'), entryOf('a')]))).toBe(
      'OPENID_CONNECT_PROVIDERS: 1.slug: Another provider of this organization has the slug "company"',
    );
    expect(withEntry({ slug: 'My Company' })).toMatch(/^OPENID_CONNECT_PROVIDERS: 0\.slug: The identifier must have/);
    expect(withEntry({ issuer: 'http://login.example' })).toMatch(
      /^OPENID_CONNECT_PROVIDERS: 0\.issuer: Invalid issuer\. /,
    );
    expect(withEntry({ domains: ['example'] })).toMatch(/^OPENID_CONNECT_PROVIDERS: 0\.domains\[0\]: Invalid domain/);
    expect(withEntry({ domains: [] })).toMatch(/^OPENID_CONNECT_PROVIDERS: 0\.domains: Accounts are created only/);
    const long = SECRET.repeat(50);
    expect(withEntry({ client_secret: long })).toMatch(/^OPENID_CONNECT_PROVIDERS: 0\.client_secret: /);
    expect(withEntry({ client_secret: long })).not.toContain(SECRET);
  });

  test('prevents the start before the database is created', async () => {
    const dataDir = `${testFolder()}/data`;
    const env = { DATA_DIR: dataDir, PORT: '0', DEMO: 'off', ...variable(entryOf('a', { issuer: 'nothing' })) };
    const { code, said } = await runProgram(['main.ts'], env);
    expect([code, said.split('\n')[0]]).toEqual([1, 'Invalid configuration:']);
    expect(said).toContain('OPENID_CONNECT_PROVIDERS: 0.issuer: Invalid issuer.');
    expect(said).not.toContain(SECRET);
  });
});
