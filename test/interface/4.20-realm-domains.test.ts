import { describe, expect, test } from 'vitest';
import type { Json } from '../helpers/http.ts';
import { createOrganization } from '../helpers/server.ts';
import { refused, success } from '../helpers/shapes.ts';

const { owner, administrator, member } = await createOrganization();
const add = async (domain: string) => {
  await owner.ok('POST', '/realm/domains', { domain, allow_subdomains: false });
  return domain;
};
const patch = (domain: string, parameters: object, by = owner) =>
  by.rest('PATCH', `/realm/domains/${domain}`, { ...parameters });

describe.concurrent('4.20 PATCH /realm/domains/{domain}', () => {
  test.for([true, false])('sets allow_subdomains to %s', async (allow_subdomains) => {
    const domain = await add(`${allow_subdomains}.example`);
    expect((await patch(domain, { allow_subdomains })).body).toEqual(success());
    const { domains } = await member.ok('GET', '/realm/domains');
    expect(domains.find((entry: Json) => entry.domain === domain)).toEqual({ domain, allow_subdomains });
  });

  test.for([administrator, member])('is for owners only, not for the $name', async (by) => {
    const domain = await add(`${by.name}.example`);
    expect(await patch(domain, { allow_subdomains: true }, by)).toMatchObject(refused('UNAUTHORIZED_PRINCIPAL'));
  });

  test('allow_subdomains is required', async () => {
    const domain = await add('required.example');
    expect(await patch(domain, {})).toMatchObject(
      refused('REQUEST_VARIABLE_MISSING', { var_name: 'allow_subdomains' }),
    );
  });

  test('rejects an unknown domain', async () => {
    expect(await patch('nowhere.example', { allow_subdomains: true })).toMatchObject(refused());
  });
});
