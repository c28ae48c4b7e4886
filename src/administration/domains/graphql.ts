import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { ProjectedDomain } from './events.ts';
import { addOrganizationDomain, removeOrganizationDomain, updateOrganizationDomain, visibleTo } from './service.ts';

/** Event projection (the fields that an event alone provides) of a domain: all fields of the domain. */
const domainProjection = new EventProjection<NonNullable<ProjectedDomain>>(
  'OrganizationDomain',
  { idOf: ({ id }) => id },
  { domain: ({ domain }) => domain, allowSubdomains: (domain) => domain.allow_subdomains },
);

const DOMAIN = 'The domain: the part of an email address after the @, in lower case.';
const WHICH = 'The domain. Case-insensitive.';
const SUBDOMAINS = 'Whether email addresses of subdomains of this domain are allowed too.';

const OrganizationDomain = builder.prismaNode('OrganizationDomain', {
  description: 'A domain whose email addresses can be used to join the organization.',
  ...byNumber,
  fields: (t) => ({
    domain: t.exposeString('domain', { description: DOMAIN }),
    allowSubdomains: t.exposeBoolean('allowSubdomains', { description: SUBDOMAINS }),
  }),
});
nodeModel('OrganizationDomain', 'OrganizationDomain', visibleTo);

const OrganizationDomainConnection = builder.connectionObject(
  { type: OrganizationDomain, name: 'OrganizationDomainConnection' },
  { name: 'OrganizationDomainEdge' },
);

builder.queryField('organizationDomains', (t) =>
  t.connection(
    {
      type: OrganizationDomain,
      nullable: true,
      description: 'The allowed domains, oldest first: at most 1,000.',
      resolve: (_root, args, ctx, info) =>
        pageOf('OrganizationDomain', { where: visibleTo(signedIn(ctx)), order: { id: 'asc' }, args, ctx, info }),
    },
    OrganizationDomainConnection,
  ),
);

mutation('addOrganizationDomain', {
  scope: 'administration',
  description: 'Allows people to join with email addresses of a domain. For owners.',
  input: (t) => ({
    domain: t.string({ description: 'The domain: the part of an email address after the @.' }),
    allowSubdomains: t.boolean({ description: SUBDOMAINS }),
  }),
  payload: () => ({ organizationDomain: { type: OrganizationDomain, description: 'The new domain.' } }),
  resolve: async (ctx, input) => ({ organizationDomain: await addOrganizationDomain(ctx, input) }),
});

mutation('updateOrganizationDomain', {
  scope: 'administration',
  description: "Sets whether email addresses of a domain's subdomains are allowed too. For owners.",
  input: (t) => ({ domain: t.string({ description: WHICH }), allowSubdomains: t.boolean({ description: SUBDOMAINS }) }),
  payload: () => ({ organizationDomain: { type: OrganizationDomain, description: 'The domain after the change.' } }),
  resolve: async (ctx, { domain, allowSubdomains }) => ({
    organizationDomain: await updateOrganizationDomain(ctx, domain, allowSubdomains),
  }),
});

mutation('removeOrganizationDomain', {
  scope: 'administration',
  description:
    'Removes an allowed domain. If it is the last one, email addresses are no longer restricted to domains. For owners.',
  input: (t) => ({ domain: t.string({ description: WHICH }) }),
  payload: () => ({
    organizationDomainId: { type: 'ID', refersTo: 'OrganizationDomain', description: 'Id of the removed domain.' },
  }),
  resolve: async (ctx, { domain }) => ({ organizationDomainId: (await removeOrganizationDomain(ctx, domain)).id }),
});

for (const [op, name, description] of [
  [
    'add',
    'OrganizationDomainAddedEvent',
    'A domain whose email addresses can be used to join the organization was added.',
  ],
  [
    'change',
    'OrganizationDomainChangedEvent',
    'A domain whose email addresses can be used to join the organization was changed.',
  ],
] as const) {
  eventType<unknown, { readonly domain: ProjectedDomain }>(
    'realm_domains',
    op,
    name,
    (t) => ({
      organizationDomain: t.field({
        type: OrganizationDomain,
        nullable: true,
        description: 'The domain after the change.',
        ...projectedFromEvent(
          domainProjection,
          ({ facts }: EventSource<unknown, { readonly domain: ProjectedDomain }>) => facts.domain,
        ),
      }),
    }),
    { description, outdates: ['organizationDomains'] },
  );
}

eventType<{ domain: string }, { readonly id: number | null }>(
  'realm_domains',
  'remove',
  'OrganizationDomainRemovedEvent',
  (t) => ({
    organizationDomainId: t.id({
      ...refersTo('OrganizationDomain'),
      nullable: true,
      description: 'Id of the removed domain. Null in events of previous versions, which contain only `domain`.',
      resolve: ({ facts }) => facts.id,
    }),
    domain: t.string({ description: 'The removed domain.', resolve: ({ event }) => event.domain }),
  }),
  {
    description: 'A domain whose email addresses can be used to join the organization was removed.',
    outdates: ['organizationDomains'],
  },
);
