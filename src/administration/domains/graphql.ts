import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { addRealmDomain, listRealmDomains, removeRealmDomain, updateRealmDomain } from './service.ts';
import { toWire, type WireRealmDomain } from './wire.ts';

const DOMAIN = 'The part of an address behind the @, in lower case.';
const WHICH = 'Which domain, in whatever case.';
const SUBDOMAINS = 'Whether addresses of its subdomains may be used as well.';

const RealmDomain = builder.objectRef<WireRealmDomain>('RealmDomain').implement({
  description: 'A domain whose addresses may be used to join the organization.',
  fields: (t) => ({
    domain: t.exposeString('domain', { description: DOMAIN }),
    allowSubdomains: t.boolean({ description: SUBDOMAINS, resolve: ({ allow_subdomains }) => allow_subdomains }),
  }),
});

builder.queryField('realmDomains', (t) =>
  t.field({
    type: [RealmDomain],
    description: 'The allowed domains, at most a thousand, in the order in which they were added.',
    resolve: async (_root, _args, ctx) => (await listRealmDomains(signedIn(ctx))).map(toWire),
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
  resolve: async (ctx, input) => ({ realmDomain: toWire(await addRealmDomain(ctx, input)) }),
});

mutation('updateRealmDomain', {
  description: "Sets whether a domain's subdomains are allowed with it.",
  errors: [UnauthorizedPrincipalError],
  input: (t) => ({ domain: t.string({ description: WHICH }), allowSubdomains: t.boolean({ description: SUBDOMAINS }) }),
  payload: () => ({ realmDomain: { type: RealmDomain, description: 'The domain, after the change.' } }),
  resolve: async (ctx, { domain, allowSubdomains }) => ({
    realmDomain: toWire(await updateRealmDomain(ctx, domain, allowSubdomains)),
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
  eventType<{ realm_domain: WireRealmDomain }>(
    'realm_domains',
    op,
    name,
    (t) => ({
      realmDomain: t.field({
        type: RealmDomain,
        description: 'The domain, as it is from here on.',
        resolve: ({ event }) => event.realm_domain,
      }),
    }),
    { description },
  );
}

eventType<{ domain: string }>(
  'realm_domains',
  'remove',
  'RealmDomainRemovedEvent',
  (t) => ({ domain: t.string({ description: 'Which domain it was.', resolve: ({ event }) => event.domain }) }),
  { description: 'A domain is allowed no more.' },
);
