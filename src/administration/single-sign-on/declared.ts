import type { App, Scope } from '../../access/context.ts';
import { transact } from '../../events/log.ts';
import type { IdentityProvider } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import { type Config, ConfigError } from '../../platform/config.ts';
import { ChatError, ValidationError } from '../../platform/errors.ts';
import type { Address } from './issuer.ts';
import { addProvider, changeProvider, checkedNew, type NewProvider } from './service.ts';

/**
 * Checks the values of the providers that the environment declares.
 *
 * @throws ConfigError with one line for each provider with an invalid value.
 */
export function requireDeclaredProviders(
  config: Address & Pick<Config, 'openidConnectProviders'>,
): readonly { readonly subdomain: string; readonly provider: NewProvider }[] {
  const problems: string[] = [];
  const providers = (config.openidConnectProviders ?? []).flatMap(({ subdomain, ...given }, i) => {
    try {
      return [{ subdomain, provider: checkedNew(config, given) }];
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      problems.push(`OPENID_CONNECT_PROVIDERS: ${i}.${error.parameter}: ${error.message}`);
      return [];
    }
  });
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return providers;
}

/**
 * Applies the providers that the environment declares to their organizations: adds and changes them, and disables those that are
 * not declared any more. A disabled one keeps the links of people to their identities, so a start without a part of the list
 * loses nothing that a start with it does not restore. Providers that owners have added stay. Several nodes can apply them at the
 * same time. A problem with one organization is logged, and does not concern the others. Does nothing if the environment has no
 * list.
 *
 * @throws ConfigError if a declared value is invalid.
 */
export async function applyDeclaredProviders(app: App): Promise<void> {
  if (app.config.openidConnectProviders === undefined) return;
  const bySubdomain = Map.groupBy(requireDeclaredProviders(app.config), ({ subdomain }) => subdomain);
  const former = await app.db.$queryRaw<{ id: number }[]>`
    SELECT DISTINCT p.realm_id AS id FROM identity_provider p WHERE p.is_declared`;
  const ids = new Set(former.map(({ id }) => id));
  let areAllKnown = true;
  for (const [subdomain, declared] of bySubdomain) {
    const organization = await app.db.organization.findUnique({ where: { subdomain }, select: { id: true } });
    if (organization === null) {
      areAllKnown = false;
      const where = { subdomain, variable: 'OPENID_CONNECT_PROVIDERS' };
      app.log.warn(where, 'identity providers of an unknown organization were not applied');
      continue;
    }
    ids.delete(organization.id);
    await applyTo(
      app,
      organization.id,
      declared.map(({ provider }) => provider),
    );
  }
  // One of the others can be the unknown one, under a subdomain that it had before.
  if (areAllKnown) for (const id of ids) await applyTo(app, id, []);
}

async function applyTo(app: App, organizationId: number, providers: readonly NewProvider[]): Promise<void> {
  const scope: Scope = { app, work: app.work, organizationId, isOperator: true };
  const change = (slug: string | null, run: Parameters<typeof transact<void>>[1]) =>
    transact(scope, async (tx, emit) => {
      await lockOrganization(tx, organizationId);
      await run(tx, emit);
    }).catch((err: unknown) => {
      // The message of an error that clients can read contains no secret.
      const reason = err instanceof ChatError ? { reason: err.message } : { err };
      app.log.error({ organization: organizationId, provider: slug, ...reason }, 'identity provider was not applied');
    });
  for (const provider of providers) {
    await change(provider.slug, async (tx, emit) => {
      const where = { organizationId, slug: provider.slug, isDeclared: true };
      const before = await tx.identityProvider.findFirst({ where });
      if (before === null) await addProvider(tx, emit, scope, provider, { isDeclared: true });
      else if (!isUnchanged(app, before, provider)) {
        const { slug: _, ...edit } = provider;
        await changeProvider(tx, emit, scope, before, edit);
      }
    });
  }
  const slug = { notIn: providers.map((provider) => provider.slug) };
  await change(null, async (tx, emit) => {
    const where = { organizationId, isDeclared: true, isEnabled: true, slug };
    for (const provider of await tx.identityProvider.findMany({ where, orderBy: { id: 'asc' } })) {
      await changeProvider(tx, emit, scope, provider, { isEnabled: false });
      const which = { organization: organizationId, provider: provider.slug };
      app.log.warn(which, 'identity provider is not declared any more, and was disabled');
    }
  });
}

/** Returns whether a stored provider has the declared values. */
function isUnchanged({ keys }: Pick<App, 'keys'>, before: IdentityProvider, provider: NewProvider): boolean {
  const { clientSecret, domains, ...values } = provider;
  const { sealedSecret } = before;
  const isSame = Object.entries(values).every(([name, value]) => {
    const stored = before[name as keyof typeof values];
    return JSON.stringify(stored) === JSON.stringify(value);
  });
  return (
    isSame &&
    JSON.stringify(before.domains) === JSON.stringify(domains) &&
    sealedSecret !== null &&
    keys.canOpen(sealedSecret) &&
    keys.open(sealedSecret) === clientSecret
  );
}
