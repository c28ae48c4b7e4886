import type { Runtime } from '../../access/context.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { factorsOf } from './factors.ts';

/** Maximum number of entries of one kind that an email lists. */
const MAX_LISTED = 20;

/**
 * Returns the part of an email about a new password that lists the other credentials of the account, which stay valid: passkeys,
 * authenticator app, identities, API keys with a name, and bots. Another person can have added them. Call it after credentials
 * were revoked.
 *
 * @returns Empty if there are none.
 */
export async function remainingAccess(
  tx: Tx,
  { config, now }: Pick<Runtime, 'config' | 'now'>,
  organization: Organization,
  user: User,
): Promise<string> {
  const { organizationId, id: userId } = user;
  const { app, passkeys } = await factorsOf(tx, user);
  const identities = await tx.linkedIdentity.findMany({
    where: { organizationId, userId },
    orderBy: [{ createdAt: 'asc' }, { issuer: 'asc' }],
  });
  const providers = await tx.identityProvider.findMany({ where: { organizationId } });
  const keys = await tx.namedApiKey.findMany({
    where: { organizationId, userId, OR: [{ expiresAt: null }, { expiresAt: { gt: now() } }] },
    orderBy: { id: 'asc' },
  });
  const bots = await tx.user.findMany({
    where: { organizationId, botOwnerId: userId, botType: { not: null }, isActive: true },
    orderBy: { id: 'asc' },
  });
  const nameOf = (issuer: string) => providers.find((one) => one.issuer === issuer)?.name ?? issuer;
  const inAccount = [
    ...listed(passkeys, ({ name, createdAt }) => `the passkey "${oneLine(name)}", added on ${dayOf(createdAt)}`),
    ...(app === null ? [] : [`the authenticator app, added on ${dayOf(app.createdAt)}`]),
    ...listed(identities, ({ issuer, createdAt }) => `${oneLine(nameOf(issuer))}, linked on ${dayOf(createdAt)}`),
  ];
  const inKeys = [
    ...listed(keys, ({ name, createdAt }) => `the API key "${oneLine(name)}", created on ${dayOf(createdAt)}`),
    ...listed(bots, ({ fullName }) => `the API keys of your bot ${oneLine(fullName)}`),
  ];
  const settings = `${urlOf(config, organization.subdomain)}/settings`;
  const parts = [
    { entries: inAccount, path: 'account' },
    { entries: inKeys, path: 'api-keys' },
  ].filter(({ entries }) => entries.length > 0);
  return parts
    .map(
      ({ entries, path }, i) => `
${i === 0 ? 'The new password does not change these:' : 'And these:'}
${entries.map((entry) => `- ${entry}`).join('\n')}
If you do not recognize one of them, remove it at ${settings}/${path}
`,
    )
    .join('');
}

/** Returns the descriptions of entries, up to 20, and the number of the others. */
function listed<T>(entries: readonly T[], describe: (entry: T) => string): string[] {
  const more = entries.length - MAX_LISTED;
  return [...entries.slice(0, MAX_LISTED).map(describe), ...(more > 0 ? [`${more} more of this kind`] : [])];
}

const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
