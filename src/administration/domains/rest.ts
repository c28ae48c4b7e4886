import { z } from 'zod';
import { endpoint } from '../../api/rest/endpoint.ts';
import { inPath, json, text } from '../../api/rest/params.ts';
import {
  addOrganizationDomain,
  listOrganizationDomains,
  removeOrganizationDomain,
  updateOrganizationDomain,
} from './service.ts';
import { toWire, wireOrganizationDomain } from './wire.ts';

const domain = inPath(z.string(), { description: 'An allowed domain.', example: 'example.com' });
const allow_subdomains = json(z.boolean(), {
  description: 'Whether email addresses of subdomains of the domain are allowed too.',
});

export const getOrganizationDomains = endpoint({
  method: 'GET',
  path: '/realm/domains',
  auth: 'basic',
  equivalents: ['organizationDomains'],
  summary: 'List the allowed domains',
  params: {},
  reply: { domains: z.array(wireOrganizationDomain) },
  async handle(ctx) {
    return { domains: (await listOrganizationDomains(ctx)).map(toWire) };
  },
});

export const postOrganizationDomain = endpoint({
  method: 'POST',
  path: '/realm/domains',
  auth: 'basic',
  equivalents: ['addOrganizationDomain'],
  scope: 'administration',
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
    const added = await addOrganizationDomain(ctx, { domain, allowSubdomains: allow_subdomains });
    return { new_domain: [added.id, added.domain] as const };
  },
});

export const patchOrganizationDomain = endpoint({
  method: 'PATCH',
  path: '/realm/domains/{domain}',
  auth: 'basic',
  equivalents: ['updateOrganizationDomain'],
  scope: 'administration',
  summary: 'Update an allowed domain',
  permission: 'owners',
  params: { domain, allow_subdomains },
  reply: {},
  async handle(ctx, { domain, allow_subdomains }) {
    await updateOrganizationDomain(ctx, domain, allow_subdomains);
  },
});

export const deleteOrganizationDomain = endpoint({
  method: 'DELETE',
  path: '/realm/domains/{domain}',
  auth: 'basic',
  equivalents: ['removeOrganizationDomain'],
  scope: 'administration',
  summary: 'Remove an allowed domain',
  description: 'If it is the last allowed domain, email addresses are no longer restricted to domains.',
  permission: 'owners',
  params: { domain },
  reply: {},
  async handle(ctx, { domain }) {
    await removeOrganizationDomain(ctx, domain);
  },
});
