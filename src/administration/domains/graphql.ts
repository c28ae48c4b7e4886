import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/node.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { domainFacts } from './entity-facts.ts';
import type { KnownDomain } from './events.ts';
import { addRealmDomain, listRealmDomains, removeRealmDomain, updateRealmDomain, visibleTo } from './service.ts';

const DOMAIN = 'The part of an address behind the @, in lower case.';
const WHICH = 'Which domain, in whatever case.';
const SUBDOMAINS = 'Whether addresses of its subdomains may be used as well.';

const RealmDomain = builder.prismaNode('RealmDomain', {
  description: 'A domain whose addresses may be used to join the organization.',
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
    description: 'The allowed domains, at most a thousand, in the order in which they were added.',
    resolve: (_root, _args, ctx) => listRealmDomains(signedIn(ctx)),
  }),
);

mutation('addRealmDomain', {
  description: 'Allows the addresses of a domain.',
  errors: [UnauthorizedPrincipalError],
  input: (t) => ({
    domain: t.string({ description: 'The part of an address behind the @.' }),
    allowSubdomains: t.boolean({ description: SUBDOMAINS }),
  }),
  payload: () => ({ realmDomain: { type: RealmDomain, description: 'The new domain.' } }),
  resolve: async (ctx, input) => ({ realmDomain: await addRealmDomain(ctx, input) }),
});

mutation('updateRealmDomain', {
  description: "Sets whether a domain's subdomains are allowed with it.",
  errors: [UnauthorizedPrincipalError],
  input: (t) => ({ domain: t.string({ description: WHICH }), allowSubdomains: t.boolean({ description: SUBDOMAINS }) }),
  payload: () => ({ realmDomain: { type: RealmDomain, description: 'The domain, after the change.' } }),
  resolve: async (ctx, { domain, allowSubdomains }) => ({
    realmDomain: await updateRealmDomain(ctx, domain, allowSubdomains),
  }),
});

mutation('removeRealmDomain', {
  description: "Allows a domain's addresses no more. With the last one goes the restriction to domains.",
  errors: [UnauthorizedPrincipalError],
  input: (t) => ({ domain: t.string({ description: WHICH }) }),
  payload: () => ({ domain: { type: 'String', description: 'Which domain it was.' } }),
  resolve: async (ctx, { domain }) => {
    await removeRealmDomain(ctx, domain);
    return { domain };
  },
});

for (const [op, name, description] of [
  ['add', 'RealmDomainAddedEvent', 'A domain is allowed.'],
  ['change', 'RealmDomainChangedEvent', 'An allowed domain was set anew.'],
] as const) {
  eventType<unknown, { readonly domain: KnownDomain }>(
    'realm_domains',
    op,
    name,
    (t) => ({
      realmDomain: t.field({
        type: RealmDomain,
        nullable: true,
        description: 'The domain, as it is from here on.',
        ...fromEvent(domainFacts, ({ facts }: EventSource<unknown, { readonly domain: KnownDomain }>) => facts.domain),
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
      description: 'The domain that is gone. Null for one that went before events told it: `domain` names it too.',
      resolve: ({ facts }) => facts.id,
    }),
    domain: t.string({ description: 'Which domain it was.', resolve: ({ event }) => event.domain }),
  }),
  { description: 'A domain is allowed no more.' },
);
