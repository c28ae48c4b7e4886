import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import { addRealmDomain, listRealmDomains, removeRealmDomain, updateRealmDomain } from './service.ts';
import { toWire, wireRealmDomain } from './wire.ts';

const domain = inPath(z.string(), { description: 'An allowed domain.', example: 'example.com' });
const allow_subdomains = json(z.boolean(), {
  description: 'Whether email addresses of its subdomains are allowed too.',
});

export const getRealmDomains = endpoint({
  method: 'GET',
  path: '/realm/domains',
  auth: 'basic',
  equivalents: ['realmDomains'],
  summary: 'List the allowed domains',
  params: {},
  reply: { domains: z.array(wireRealmDomain) },
  async handle(ctx) {
    return { domains: (await listRealmDomains(ctx)).map(toWire) };
  },
});

export const postRealmDomain = endpoint({
  method: 'POST',
  path: '/realm/domains',
  auth: 'basic',
  equivalents: ['addRealmDomain'],
  summary: 'Add an allowed domain',
  permission: 'owners',
  params: {
    domain: text(z.string(), {
      description: 'Domain whose email addresses are allowed. Case-insensitive.',
      example: 'example.com',
    }),
    allow_subdomains,
  },
  reply: { new_domain: z.tuple([z.int(), z.string()]) },
  async handle(ctx, { domain, allow_subdomains }) {
    const added = await addRealmDomain(ctx, { domain, allowSubdomains: allow_subdomains });
    return { new_domain: [added.id, added.domain] as const };
  },
});

export const patchRealmDomain = endpoint({
  method: 'PATCH',
  path: '/realm/domains/{domain}',
  auth: 'basic',
  equivalents: ['updateRealmDomain'],
  summary: 'Update an allowed domain',
  permission: 'owners',
  params: { domain, allow_subdomains },
  reply: {},
  async handle(ctx, { domain, allow_subdomains }) {
    await updateRealmDomain(ctx, domain, allow_subdomains);
  },
});

export const deleteRealmDomain = endpoint({
  method: 'DELETE',
  path: '/realm/domains/{domain}',
  auth: 'basic',
  equivalents: ['removeRealmDomain'],
  summary: 'Remove an allowed domain',
  description: 'If none is left, email addresses are no longer restricted to domains.',
  permission: 'owners',
  params: { domain },
  reply: {},
  async handle(ctx, { domain }) {
    await removeRealmDomain(ctx, domain);
  },
});
