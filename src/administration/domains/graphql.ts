import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { domainProjection } from './event-projections.ts';
import type { ProjectedDomain } from './events.ts';
import { addRealmDomain, listRealmDomains, removeRealmDomain, updateRealmDomain, visibleTo } from './service.ts';

const DOMAIN = 'The domain: the part of an email address after the @, in lower case.';
const WHICH = 'The domain. Case-insensitive.';
const SUBDOMAINS = 'Whether email addresses of its subdomains are allowed too.';

const RealmDomain = builder.prismaNode('RealmDomain', {
  description: 'A domain whose email addresses can be used to join the organization.',
  ...byNumber,
  fields: (t) => ({
    domain: t.exposeString('domain', { description: DOMAIN }),
    allowSubdomains: t.exposeBoolean('allowSubdomains', { description: SUBDOMAINS }),
  }),
});
nodeModel('RealmDomain', 'RealmDomain', visibleTo);

builder.queryField('realmDomains', (t) =>
  t.field({
    type: [RealmDomain],
    nullable: true,
    description: 'The allowed domains, oldest first, at most 1,000.',
    resolve: (_root, _args, ctx) => listRealmDomains(signedIn(ctx)),
  }),
);

mutation('addRealmDomain', {
  description: 'Allows the email addresses of a domain. For owners.',
  errors: [UnauthorizedPrincipalError],
  input: (t) => ({
    domain: t.string({ description: 'The domain: the part of an email address after the @.' }),
    allowSubdomains: t.boolean({ description: SUBDOMAINS }),
  }),
  payload: () => ({ realmDomain: { type: RealmDomain, description: 'The new domain.' } }),
  resolve: async (ctx, input) => ({ realmDomain: await addRealmDomain(ctx, input) }),
});

mutation('updateRealmDomain', {
  description: "Sets whether email addresses of a domain's subdomains are allowed too. For owners.",
  errors: [UnauthorizedPrincipalError],
  input: (t) => ({ domain: t.string({ description: WHICH }), allowSubdomains: t.boolean({ description: SUBDOMAINS }) }),
  payload: () => ({ realmDomain: { type: RealmDomain, description: 'The domain after the change.' } }),
  resolve: async (ctx, { domain, allowSubdomains }) => ({
    realmDomain: await updateRealmDomain(ctx, domain, allowSubdomains),
  }),
});

mutation('removeRealmDomain', {
  description:
    'Removes an allowed domain. If none is left, email addresses are no longer restricted to domains. For owners.',
  errors: [UnauthorizedPrincipalError],
  input: (t) => ({ domain: t.string({ description: WHICH }) }),
  payload: () => ({ domain: { type: 'String', description: 'The removed domain.' } }),
  resolve: async (ctx, { domain }) => {
    await removeRealmDomain(ctx, domain);
    return { domain };
  },
});

for (const [op, name, description] of [
  ['add', 'RealmDomainAddedEvent', 'An allowed domain was added.'],
  ['change', 'RealmDomainChangedEvent', 'An allowed domain was changed.'],
] as const) {
  eventType<unknown, { readonly domain: ProjectedDomain }>(
    'realm_domains',
    op,
    name,
    (t) => ({
      realmDomain: t.field({
        type: RealmDomain,
        nullable: true,
        description: 'The domain after the change.',
        ...projectedFromEvent(
          domainProjection,
          ({ facts }: EventSource<unknown, { readonly domain: ProjectedDomain }>) => facts.domain,
        ),
      }),
    }),
    { description },
  );
}

eventType<{ domain: string }, { readonly id: number | null }>(
  'realm_domains',
  'remove',
  'RealmDomainRemovedEvent',
  (t) => ({
    realmDomainId: t.id({
      ...refersTo('RealmDomain'),
      nullable: true,
      description: 'Id of the removed domain. Null in events of previous versions, which contain only `domain`.',
      resolve: ({ facts }) => facts.id,
    }),
    domain: t.string({ description: 'The removed domain.', resolve: ({ event }) => event.domain }),
  }),
  { description: 'An allowed domain was removed.' },
);
