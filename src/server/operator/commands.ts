import { z } from 'zod';
import type { App, Ctx, Scope } from '../../access/context.ts';
import { actAs, rotateKey } from '../../access/sign-in.ts';
import { createBot } from '../../administration/bots/service.ts';
import { deactivateBotOf, deactivateUser, reactivateUser } from '../../administration/deactivation/service.ts';
import { createForOwner, createOwnerLink } from '../../administration/new-organizations/service.ts';
import type { NewUser } from '../../administration/new-user.ts';
import { isAwaitingOwner } from '../../administration/organization/awaiting-owner.ts';
import { createOrganization, listOrganizations } from '../../administration/organization/service.ts';
import { readLimits, setLimits } from '../../administration/organization-lifecycle/limits.ts';
import {
  deleteOrganization,
  GRACE_DAYS,
  renameOrganization,
  restoreOrganization,
  resumeOrganization,
  suspendOrganization,
  usageOf,
} from '../../administration/organization-lifecycle/service.ts';

import { createResetLink } from '../../administration/password-resets/service.ts';
import { resetFactor } from '../../administration/second-factor/service.ts';
import { replacePassword } from '../../administration/sign-in/password-change.ts';
import type { SignUpLink } from '../../administration/sign-up/links.ts';
import { redirectUriOf } from '../../administration/single-sign-on/flow.ts';
import { createIdentityProvider, deleteIdentityProvider } from '../../administration/single-sign-on/service.ts';
import { addUser, updateUser } from '../../administration/users/service.ts';
import { writeAuditLog } from '../../events/audit.ts';
import { transact } from '../../events/log.ts';
import type { IdentityProvider, Organization, User } from '../../generated/prisma/client.ts';
import { moveFiles } from '../../messages/attachments/move.ts';
import { GENERIC_BOT } from '../../people/bot-types.ts';
import { findUserByEmail } from '../../people/users.ts';
import { NotFoundError, ValidationError } from '../../platform/errors.ts';
import { urlOf } from '../../platform/hosts.ts';
import { ADMINISTRATOR, GUEST, MEMBER, MODERATOR, OWNER } from '../../platform/roles.ts';
import { renewSealed } from '../secret-key.ts';
import { createBackup } from './backup.ts';
import { numberCell } from './cells.ts';
import { examine } from './doctor.ts';
import { endQueue, shownQueues } from './queues.ts';
import { repairArgs, repairTimes } from './times.ts';

/**
 * A command for the operator. If a server is running, the command line sends the command to that server. Otherwise the command
 * line runs the command itself.
 */
export interface Command {
  readonly name: string;
  readonly summary: string;
  readonly args: z.ZodObject;
  /** Validates the arguments, and runs the command. @returns The result, which can be serialized as JSON. */
  run(app: App, args: unknown): Promise<object>;
}

function command<S extends z.ZodObject>(
  name: string,
  summary: string,
  args: S,
  run: (app: App, args: z.output<S>) => Promise<object>,
): Command {
  return { name, summary, args, run: async (app, given) => run(app, parse(args, given)) };
}

function parse<S extends z.ZodObject>(args: S, given: unknown): z.output<S> {
  const parsed = args.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ValidationError(
    parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`).join('\n'),
  );
}

const ROLE_NUMBERS = {
  owner: OWNER,
  administrator: ADMINISTRATOR,
  moderator: MODERATOR,
  member: MEMBER,
  guest: GUEST,
} as const;
type RoleName = keyof typeof ROLE_NUMBERS;
const roleName = z.enum(Object.keys(ROLE_NUMBERS) as [RoleName, ...RoleName[]]);

/** A path, which the command line resolves, because the working directory of the server can be another one. */
export const filePath = z.string().describe('path of the backup').meta({ isPath: true });

const org = z.string().default('').describe('subdomain of the organization; default: the root domain');
const user = z.string().describe('email address or id of the user');
/** Defines an option for a limit of an organization: a number, or "none" for the default of the server. */
const limit = (meaning: string) =>
  z
    .union([z.literal('none').transform(() => null), z.coerce.number().int()])
    .optional()
    .describe(`${meaning}; none: the default of the server`);
const ifMissing = z.boolean().default(false).describe('if it already exists, return it instead of failing');
const newPassword = z
  .string()
  .optional()
  .describe('8 to 100 characters; without a password, the user can sign in only with the API key');

const person = z.strictObject({
  role: roleName.default('member'),
  name: z.string(),
  email: z.string().optional(),
  bot: z.boolean().default(false),
  password: z.string().optional(),
});
type Person = z.output<typeof person>;

/** A user as commands print it and as DATA_DIR/demo.json stores it. */
export interface ShownUser {
  readonly role: string;
  readonly email: string;
  readonly user_id: number;
  readonly api_key: string;
}

/** Returns a user as commands print it. `role` is "bot" for any bot. */
export function shownUser(user: User, apiKey: string): ShownUser {
  return { role: roleWord(user), email: user.email, user_id: user.id, api_key: apiKey };
}

const roleWord = ({ role, botType }: User) =>
  botType !== null ? 'bot' : (Object.entries(ROLE_NUMBERS).find(([, number]) => number === role)?.[0] ?? String(role));

/** Name of the only command that accepts a SECRET_KEY that did not seal the API keys in the database. */
export const RENEW_SECRET_KEY = 'secret-key renew';

/** All commands, in the order of the help text. */
export const commands: readonly Command[] = [
  command(
    'org create',
    'create an organization and its users',
    z.strictObject({
      subdomain: org,
      name: z.string().describe('1 to 40 characters'),
      ownerName: z
        .string()
        .optional()
        .describe(
          'full name of the owner; without it, a link is printed with which the owner chooses name and password',
        ),
      ownerEmail: z.string().optional(),
      ownerPassword: newPassword,
      people: z.array(person).default([]).describe('other users: [{"role", "name", "email"?, "bot"?, "password"?}, …]'),
      ifMissing,
    }),
    createMissingOrganization,
  ),
  command(
    'org owner-link',
    'print a link with which a person becomes an owner, valid for seven days',
    z.strictObject({ org, email: z.string().describe('email address of the person') }),
    async (app, { email, ...at }) => shownLink(await createOwnerLink(app, await organizationAt(app, at.org), email)),
  ),
  command(
    'org suspend',
    'refuse all requests of an organization, and end its connections; its data remains',
    z.strictObject({ org }),
    async (app, at) => shownLifecycle(app, await suspendOrganization(app, await organizationAt(app, at.org))),
  ),
  command('org resume', 'open a suspended organization again', z.strictObject({ org }), async (app, at) =>
    shownLifecycle(app, await resumeOrganization(app, await organizationAt(app, at.org))),
  ),
  command(
    'org rename',
    'change the name or the subdomain of an organization',
    z.strictObject({
      org,
      name: z.string().optional().describe('new name, 1 to 40 characters'),
      subdomain: z.string().optional().describe('new subdomain; users sign in again at the new address'),
    }),
    async (app, { name, subdomain, ...at }) =>
      shownLifecycle(app, await renameOrganization(app, await organizationAt(app, at.org), { name, subdomain })),
  ),
  command(
    'org delete',
    'suspend an organization, and erase it with all its data after a grace period',
    z.strictObject({
      org,
      days: z.coerce.number().default(GRACE_DAYS).describe('length of the grace period, 0 to 365 days'),
    }),
    async (app, { days, ...at }) =>
      shownLifecycle(app, await deleteOrganization(app, await organizationAt(app, at.org), days)),
  ),
  command(
    'org restore',
    'restore a deleted organization before it is erased',
    z.strictObject({ org }),
    async (app, at) => shownLifecycle(app, await restoreOrganization(app, await organizationAt(app, at.org))),
  ),
  command(
    'org usage',
    'print figures of the use of one organization, or of all',
    z.strictObject({ org: z.string().optional().describe('subdomain; default: all organizations') }),
    usageOfAll,
  ),
  command(
    'org list',
    'list the organizations, and those that have moved to other databases',
    z.strictObject({}),
    listAll,
  ),
  command(
    'org limits',
    'print the limits of an organization with their use; with options, set them',
    z.strictObject({
      org,
      maxUsers: limit('maximum number of active people, guests included and bots not'),
      uploadQuotaMib: limit('disk space of uploaded files, in MiB'),
      requestsPerMinute: limit('requests per minute of all accounts together'),
      invitationsPerDay: limit('emails with invitations within 24 hours'),
    }),
    async (app, { org, ...limits }) => {
      const found = await organizationAt(app, org);
      const isRead = Object.values(limits).every((value) => value === undefined);
      return readLimits(app, isRead ? found : await setLimits(app, found, limits));
    },
  ),
  command(
    'org quota',
    'limit the disk space of the files of an organization, like "org limits --upload-quota-mib"',
    z.strictObject({
      org,
      mib: z.coerce.number().int().min(0).describe('limit in MiB; 0 for no limit'),
    }),
    async (app, { org, mib }) => {
      const uploadQuotaMib = mib === 0 ? null : mib;
      const organization = await setLimits(app, await organizationAt(app, org), { uploadQuotaMib });
      return { ...shownOrganization(app, organization), upload_quota_mib: uploadQuotaMib };
    },
  ),
  command(
    'files move',
    'move the content of all uploaded files to the bucket or to the database, while the service is in use',
    z.strictObject({ to: z.enum(['s3', 'database']).describe('s3 or database') }),
    (app, { to }) => moveFiles(app, to),
  ),
  command(
    'cell number',
    'make this new database another cell: it assigns ids that no other cell assigns',
    z.strictObject({ number: z.coerce.number().describe('1 to 42; 1 for a database without a number') }),
    (app, { number }) => numberCell(app, number),
  ),
  command(
    'user create',
    'create a user',
    z.strictObject({
      org,
      name: z.string().describe('full name'),
      email: z.string(),
      role: roleName.default('member'),
      password: newPassword,
      placeholder: z
        .boolean()
        .default(false)
        .describe('mark the account as a placeholder for a person who has not signed up, until their first sign-in'),
      ifMissing,
    }),
    async (app, { name, email, role, password, placeholder, ifMissing, ...at }) => {
      const organization = await organizationAt(app, at.org);
      const known = ifMissing ? await findUserByEmail(app.db, organization.id, email) : null;
      if (known !== null) return { ...(await withKey(app, known)), created: false };
      const made = await addUser(operatorIn(app, organization.id), organization, {
        email,
        fullName: name,
        role: ROLE_NUMBERS[role],
        ...(password !== undefined && { password }),
        ...(placeholder && { isImportedStub: true, isPlaceholder: true }),
      });
      return { ...shownUser(made.user, made.apiKey), created: true };
    },
  ),
  command('user list', 'list the users', z.strictObject({ org }), async (app, at) => {
    const organization = await organizationAt(app, at.org);
    const users = await app.db.user.findMany({
      where: { organizationId: organization.id, isSystem: false },
      orderBy: { id: 'asc' },
    });
    return users.map((user) => ({
      user_id: user.id,
      role: roleWord(user),
      email: user.email,
      full_name: user.fullName,
      active: user.isActive,
    }));
  }),
  command(
    'user grant',
    'grant or revoke a right that only the operator can give',
    z.strictObject({
      org,
      user,
      right: z.enum(['can_create_users', 'can_change_user_emails']),
      revoke: z.boolean().default(false).describe('revoke the right'),
    }),
    async (app, { right, revoke, ...at }) => {
      const { id, organizationId } = await userAt(app, at);
      const columns = {
        can_create_users: 'canCreateUsers',
        can_change_user_emails: 'canChangeUserEmails',
      } as const;
      await transact(operatorIn(app, organizationId), async (tx, emit) => {
        await tx.user.update({
          where: { organizationId_id: { organizationId, id } },
          data: { [columns[right]]: !revoke },
        });
        emit.audit({
          ...{ action: 'user_rights_changed', objectType: 'user', objectId: id },
          changes: { [right]: { new: !revoke } },
        });
      });
      return { user_id: id, [right]: !revoke };
    },
  ),
  command(
    'user role',
    'change the role of a user',
    z.strictObject({ org, user, role: roleName }),
    async (app, { role, ...at }) => {
      const changed = await userAt(app, at);
      return shownState(await updateUser(await asOwner(app, changed), changed.id, { role: ROLE_NUMBERS[role] }));
    },
  ),
  command(
    'user password',
    'change the password of a person, and sign out all of their browsers',
    z.strictObject({ org, user, password: z.string().describe('8 to 100 characters; - reads it from standard input') }),
    async (app, { password, ...at }) => {
      const changed = await userAt(app, at);
      await replacePassword(await actAs(app, changed), password);
      return shownState(changed);
    },
  ),
  command(
    'user reset-password',
    'print a link with which a person can choose a new password within an hour',
    z.strictObject({ org, user }),
    async (app, at) => {
      const organization = await organizationAt(app, at.org);
      const scope = operatorIn(app, organization.id);
      const { url, expiresAt } = await createResetLink(scope, organization, await userAt(app, at));
      return { url, expires_at: expiresAt.toISOString() };
    },
  ),
  command(
    'user reset-second-factor',
    'remove all second factors of a person who has lost them; the person is notified by email',
    z.strictObject({ org, user }),
    async (app, at) => {
      const person = await userAt(app, at);
      return shownState(await resetFactor(await asOwner(app, person), person.id));
    },
  ),
  command(
    'user deactivate',
    'deactivate a user and the bots they own',
    z.strictObject({ org, user }),
    async (app, at) => {
      const leaving = await userAt(app, at);
      const ctx = await asOwner(app, leaving);
      if (leaving.botType === null) return shownState(await deactivateUser(ctx, leaving.id));
      return shownState(await deactivateBotOf(ctx, async () => leaving));
    },
  ),
  command('user reactivate', 'reactivate a deactivated user', z.strictObject({ org, user }), async (app, at) => {
    const returning = await userAt(app, at);
    return shownState(await reactivateUser(await asOwner(app, returning), returning.id));
  }),
  command('key show', "show a user's API key", z.strictObject({ org, user }), async (app, at) =>
    withKey(app, await userAt(app, at)),
  ),
  command(
    'key rotate',
    "replace a user's API key; the old one becomes invalid",
    z.strictObject({ org, user }),
    async (app, at) => {
      const user = await userAt(app, at);
      return shownUser(user, await rotateKey(operatorIn(app, user.organizationId), user.id));
    },
  ),
  command(
    'bot create',
    'create a bot',
    z.strictObject({
      org,
      owner: user,
      name: z.string().describe('full name'),
      shortName: z.string().describe("start of the bot's email address"),
    }),
    async (app, { owner, name, shortName, ...at }) => {
      const ctx = await actAs(app, await userAt(app, { ...at, user: owner }));
      const made = await createBot(ctx, { fullName: name, shortName });
      return shownUser(made.user, made.apiKey);
    },
  ),
  command(
    'sso add',
    'add an OpenID Connect provider with which people can sign in',
    z.strictObject({
      org,
      slug: z.string().describe('identifier in the redirect URI: lower-case letters, digits and hyphens'),
      name: z.string().describe('name on the button'),
      issuer: z.string().describe('issuer identifier: an https URL'),
      clientId: z.string(),
      clientSecret: z.string().describe('- reads it from standard input'),
      domains: z.array(z.string()).default([]).describe('email domains with which people can sign in; default: any'),
      createAccounts: z.boolean().default(false).describe('create accounts for people of these domains'),
    }),
    async (app, { org, createAccounts, ...given }) => {
      const organization = await organizationAt(app, org);
      const ctx = await asOwner(app, { organizationId: organization.id });
      const made = await createIdentityProvider(ctx, { ...given, createsAccounts: createAccounts });
      return shownProvider(app, organization, made);
    },
  ),
  command(
    'sso list',
    'list the OpenID Connect providers of an organization',
    z.strictObject({ org }),
    async (app, { org }) => {
      const organization = await organizationAt(app, org);
      const where = { organizationId: organization.id };
      const providers = await app.db.identityProvider.findMany({ where, orderBy: { id: 'asc' } });
      return providers.map((provider) => shownProvider(app, organization, provider));
    },
  ),
  command(
    'sso remove',
    'delete an OpenID Connect provider; people keep their accounts',
    z.strictObject({ org, slug: z.string().describe('identifier of the provider') }),
    async (app, { org, slug }) => {
      const { id: organizationId } = await organizationAt(app, org);
      const where = { organizationId_slug: { organizationId, slug } };
      const found = await app.db.identityProvider.findUnique({ where });
      if (found === null) throw new NotFoundError(`No provider has the identifier "${slug}"`);
      await deleteIdentityProvider(await asOwner(app, { organizationId }), found.id);
      return { slug, removed: true };
    },
  ),
  command(
    'queue list',
    'list the live event queues, the one furthest behind first',
    z.strictObject({ org, user: user.optional() }),
    async (app, { org, user }) => {
      const { id: organizationId } = await organizationAt(app, org);
      return shownQueues(app, {
        organizationId,
        ...(user !== undefined && { userId: (await userAt(app, { org, user })).id }),
      });
    },
  ),
  command(
    'queue end',
    'end an event queue; its client is notified and registers a new one',
    z.strictObject({ org, queue: z.string().describe('id of the queue') }),
    async (app, { org, queue }) => endQueue(app, { organizationId: (await organizationAt(app, org)).id }, queue),
  ),
  command(
    'backup create',
    'write a backup of the embedded database while the service uses it',
    z.strictObject({ file: filePath }),
    (app, { file }) => createBackup(app, file),
  ),
  command(
    'log new-epoch',
    'end all event queues, so that all clients register again; for a restore that the service cannot detect itself',
    z.strictObject({}),
    async ({ hub }) => ({ queues_ended: (await hub.beginEpoch('operator')) ?? 0 }),
  ),
  command(
    RENEW_SECRET_KEY,
    'replace the API keys that were sealed with a lost SECRET_KEY',
    z.strictObject({}),
    renewSealed,
  ),
  command(
    'times repair',
    'show times that previous versions stored in the time zone of the database; with --apply, correct them',
    repairArgs,
    repairTimes,
  ),
  // Does nothing: the process that runs commands applied the migrations when it started.
  command('migrate', 'apply the migrations and SQL functions to the database', z.strictObject({}), async () => ({
    applied: [],
  })),
  command('doctor', 'check whether the service can run', z.strictObject({}), examine),
];

const shownLink = ({ url, expiresAt }: SignUpLink) => ({ owner_link: url, expires_at: expiresAt.toISOString() });

/** State of an organization, as commands print it. */
const stateOf = (organization: Organization): string => {
  const { deactivatedAt, deleteAt } = organization;
  if (isAwaitingOwner(organization)) return 'waits for its owner';
  if (deleteAt !== null) return 'deleted';
  return deactivatedAt === null ? 'active' : 'suspended';
};

const shownLifecycle = (app: App, organization: Organization) => ({
  ...shownOrganization(app, organization),
  state: stateOf(organization),
  ...(organization.deleteAt !== null && { erased_at: organization.deleteAt.toISOString() }),
});

/** Returns the usage of one organization, or of all, in the order of their ids. */
async function usageOfAll(app: App, { org }: { readonly org?: string | undefined }): Promise<object> {
  const organizations = org === undefined ? await listOrganizations(app) : [await organizationAt(app, org)];
  const rows: object[] = [];
  for (const organization of organizations) {
    const { id, subdomain } = organization;
    rows.push({ realm_id: id, subdomain, state: stateOf(organization), ...(await usageOf(app, organization)) });
  }
  return org === undefined ? rows : (rows[0] ?? {});
}

/** Lists the organizations. If some have moved to other databases, all rows have a field `moved_to`. */
async function listAll(app: App): Promise<object> {
  const moves = await app.db.organizationMove.findMany({
    where: { state: 'moved' },
    orderBy: { organizationId: 'asc' },
  });
  const here = (await listOrganizations(app)).map((organization) => ({
    ...shownOrganization(app, organization),
    users: organization.userCount,
    state: stateOf(organization),
    ...(moves.length > 0 && { moved_to: '' }),
  }));
  const elsewhere = moves.map(({ organizationId, subdomain, place }) => ({
    ...{
      realm_id: organizationId,
      subdomain,
      name: '',
      url: urlOf(app.config, subdomain),
      users: 0,
      state: 'moved',
      moved_to: place,
    },
  }));
  return [...here, ...elsewhere];
}

interface NewOrganization {
  readonly subdomain: string;
  readonly name: string;
  readonly ownerName?: string | undefined;
  readonly ownerEmail?: string | undefined;
  readonly ownerPassword?: string | undefined;
  readonly people: readonly Person[];
  readonly ifMissing: boolean;
}

async function createMissingOrganization(app: App, input: NewOrganization): Promise<object> {
  const { subdomain, name, ifMissing } = input;
  const known = ifMissing ? await app.db.organization.findUnique({ where: { subdomain } }) : null;
  if (known !== null) {
    const users = await app.db.user.findMany({
      where: { organizationId: known.id, isSystem: false },
      orderBy: { id: 'asc' },
    });
    const shown = await Promise.all(users.map((user) => withKey(app, user)));
    return { ...shownOrganization(app, known), users: shown, created: false };
  }
  if (input.ownerEmail !== undefined && input.ownerName === undefined && input.people.length === 0) {
    const { organization, ...link } = await createForOwner(app, { subdomain, name, email: input.ownerEmail });
    return { ...shownOrganization(app, organization), ...shownLink(link), created: true };
  }
  const people = peopleOf(input);
  const owner = people.find(({ role, bot }) => role === 'owner' && !bot);
  if (owner === undefined)
    throw new ValidationError(
      '--owner-email is required: every organization has an owner. With --owner-name, the account is created at once.',
    );
  const others = people.filter((person) => person !== owner);
  const made = await createOrganization(app, {
    subdomain,
    name,
    owner: toNewUser(owner, subdomain),
    people: others.map((person) => toNewUser(person, subdomain)),
  });
  const users = people.map((person) => {
    const { user, apiKey } = person === owner ? made.owner : (made.people[others.indexOf(person)] ?? made.owner);
    return { ...shownUser(user, apiKey), name: user.fullName };
  });
  return { ...shownOrganization(app, made.organization), users, created: true };
}

function peopleOf({ ownerName, ownerEmail, ownerPassword, people }: NewOrganization): readonly Person[] {
  if (ownerName === undefined) return people;
  return [{ role: 'owner', name: ownerName, email: ownerEmail, password: ownerPassword, bot: false }, ...people];
}

const toNewUser = (person: Person, subdomain: string): NewUser => ({
  fullName: person.name,
  email: person.email ?? addressFor(person, subdomain),
  role: ROLE_NUMBERS[person.role],
  ...(person.password !== undefined && { password: person.password }),
  ...(person.bot && { botType: GENERIC_BOT }),
});

const shownState = (user: User) => ({
  user_id: user.id,
  role: roleWord(user),
  email: user.email,
  active: user.isActive,
});

/** Returns the context of a change that the operator makes in an organization, without a user. */
const operatorIn = (app: App, organizationId: number): Scope => ({
  ...{ app, work: app.work, organizationId },
  isOperator: true,
});

/**
 * Returns a context for actions that require an owner of the organization. The operator acts as the active owner with the
 * lowest id, and events show that owner as the actor.
 *
 * @throws NotFoundError if the organization has no active owner.
 */
async function asOwner(app: App, { organizationId }: Pick<User, 'organizationId'>): Promise<Ctx> {
  const where = { organizationId, role: OWNER, isActive: true, botType: null, isSystem: false };
  const owner = await app.db.user.findFirst({ where, orderBy: { id: 'asc' } });
  if (owner === null) throw new NotFoundError('The organization has no active owner');
  return actAs(app, owner);
}

/** Returns an identity provider as commands print it, without its secret. */
const shownProvider = (app: App, organization: Organization, provider: IdentityProvider) => ({
  slug: provider.slug,
  name: provider.name,
  issuer: provider.issuer,
  redirect_uri: redirectUriOf(app, organization, provider),
  domains: provider.domains.join(' '),
  creates_accounts: provider.createsAccounts,
  enabled: provider.isEnabled,
  declared: provider.isDeclared,
});

/**
 * Returns an invented email address for a person who has none. The top-level domain "example" is reserved, so no email can be
 * delivered to it.
 */
function addressFor({ name, bot }: Person, subdomain: string): string {
  const local = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '.')
    .replace(/^\.|\.$/g, '');
  return `${local || 'user'}${bot ? '-bot' : ''}@${subdomain === '' ? 'team' : subdomain}.example`;
}

const shownOrganization = ({ config }: App, organization: Organization) => ({
  realm_id: organization.id,
  subdomain: organization.subdomain,
  name: organization.name,
  url: urlOf(config, organization.subdomain),
});

async function organizationAt({ db }: App, subdomain: string): Promise<Organization> {
  const organization = await db.organization.findUnique({ where: { subdomain } });
  if (organization !== null) return organization;
  throw new NotFoundError(
    subdomain === ''
      ? 'The root domain has no organization: select one with --org'
      : `There is no organization ${subdomain}`,
  );
}

async function userAt(app: App, at: { org: string; user: string }): Promise<User> {
  const found = await findUser(app, await organizationAt(app, at.org), at.user);
  if (found === null) throw new NotFoundError(`There is no user ${at.user}`);
  return found;
}

async function findUser({ db }: App, { id: organizationId }: Organization, idOrEmail: string): Promise<User | null> {
  if (/^\d{1,9}$/.test(idOrEmail)) return db.user.findFirst({ where: { organizationId, id: Number(idOrEmail) } });
  return findUserByEmail(db, organizationId, idOrEmail);
}

/** Returns a user with their API key, as commands print it. Writes an entry to the audit log. */
async function withKey(app: App, user: User): Promise<ShownUser> {
  const { organizationId, id } = user;
  const { sealed } = await app.db.apiKey.findUniqueOrThrow({
    where: { organizationId_userId: { organizationId, userId: id } },
  });
  const shown = shownUser(user, app.keys.open(sealed));
  await writeAuditLog(app.db, { ...operatorIn(app, organizationId), app }, [
    { action: 'api_key_read', objectType: 'user', objectId: id },
  ]);
  return shown;
}
