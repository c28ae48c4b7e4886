import type { Ctx } from '../../access/context.ts';
import { emitKeysChanged, revokeNamedKeys } from '../../access/named-keys.ts';
import { readsAsAdministrator } from '../../access/roles.ts';
import { asOfNow, requireLiveCredential } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { NamedApiKey, Prisma, User } from '../../generated/prisma/client.ts';
import { lockOrganization, lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ForbiddenError, NotFoundError, requireScopes, ValidationError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import type { KeyScope } from '../../platform/key-scopes.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { isGuest, isOwner, OWNER } from '../../platform/roles.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin } from '../../platform/totals.ts';
import { accessBot } from '../bots/service.ts';
import { personToNotify, queueSecurityMail } from '../security-mail.ts';
import { requireProof } from '../sign-in/proof.ts';

const MAX_NAME_LENGTH = 100;
/** Longest time until a key expires, in milliseconds: ten years. Keys without a time do not expire. */
const MAX_LIFETIME_MS = 10 * 366 * 24 * 3_600_000;

/** Properties of a new key. */
export interface NewApiKey {
  readonly name: string;
  /** At least one. */
  readonly scopes: readonly KeyScope[];
  /** Time from which the key is invalid. Absent: never. */
  readonly expiresAt?: Date | undefined;
  /** Id of a bot that the viewer can administer. Absent: the key is for the viewer. */
  readonly botId?: number | undefined;
  readonly currentPassword?: string | undefined;
}

/**
 * Returns the filter for the keys that the viewer can see and revoke: their own, those of their bots and, for administrators,
 * those of all users except owners. Owners can see and revoke the keys of all users. A limited API key needs the scope
 * `administration` for keys of other people and of their bots.
 */
export function visibleTo(ctx: Ctx): Prisma.NamedApiKeyWhereInput {
  const { organizationId, viewer } = ctx;
  const own = { userId: viewer.id };
  if (isGuest(viewer.role)) return { organizationId, ...own };
  const ofOwnBots = { user: { botType: { not: null }, isSystem: false, botOwnerId: viewer.id } };
  if (!readsAsAdministrator(ctx)) return { organizationId, OR: [own, ofOwnBots] };
  const ofOthers = { user: { isSystem: false, ...(!isOwner(viewer.role) && { role: { not: OWNER } }) } };
  return { organizationId, OR: [own, ofOwnBots, ofOthers] };
}

/** Returns the named keys of users that the viewer can see, the newest first. */
export const listApiKeys = (ctx: Ctx, userIds: readonly number[]): Promise<NamedApiKey[]> =>
  ctx.work.db.namedApiKey.findMany({
    where: { AND: [visibleTo(ctx), { userId: { in: [...userIds] } }] },
    orderBy: { id: 'desc' },
  });

/**
 * Creates an API key with a name and scopes. The viewer, or the owner of a viewer who is a bot, is notified by email. Deletes
 * expired keys of the user.
 *
 * @returns The key's row, and the key itself, which is not stored.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 * @throws ValidationError if the name is blank or too long, there is no scope, or the time is not within the next ten years.
 * @throws InsufficientScopeError if the viewer's own key lacks one of the scopes.
 * @throws NotFoundError, ForbiddenError, UnauthorizedPrincipalError if the viewer cannot administer the bot.
 * @throws UnauthorizedError, InvalidApiKeyError if the viewer's session or key has ended in the meantime.
 * @throws TotalReachedError if the user would have more than 100 keys that have not expired.
 */
export async function createApiKey(
  ctx: Ctx,
  given: NewApiKey,
): Promise<{ readonly apiKey: NamedApiKey; readonly secret: string }> {
  const { app, organizationId, viewer } = ctx;
  const { botId, currentPassword } = given;
  const name = requireName(given.name);
  const scopes = [...new Set(given.scopes)];
  if (scopes.length === 0) {
    throw new ValidationError('A key needs at least one scope.', { parameter: 'scopes', minimum: 1 });
  }
  requireScopes(viewer, scopes);
  const expiresAt = requireExpiry(ctx, given.expiresAt);
  await requireProof(ctx, currentPassword);
  const secret = app.keys.newKey();
  const apiKey = await transact(ctx, async (tx, emit) => {
    await lockOrganization(tx, organizationId);
    await lockUser(tx, viewer.user);
    await requireLiveCredential(tx, ctx);
    const now = await asOfNow(tx, ctx);
    const user = botId === undefined ? now.viewer.user : await accessBot(tx, now, botId);
    const where = { organizationId, userId: user.id };
    await tx.namedApiKey.deleteMany({ where: { ...where, expiresAt: { lte: app.now() } } });
    requireWithin('api_keys', 1 + (await tx.namedApiKey.count({ where })));
    const made = await tx.namedApiKey.create({
      data: { ...where, name, scopes, hash: app.keys.hash(secret), createdAt: app.now(), expiresAt },
    });
    emit.audit({
      ...{ action: 'api_key_created', objectType: 'api_key', objectId: made.id, objectName: name },
      changes: { user_id: { new: user.id }, scopes: { new: scopes }, expires_at: { new: expiresAt } },
    });
    emitKeysChanged(emit, user);
    const person = viewer.credential === null ? null : await personToNotify(tx, now.viewer.user);
    if (person !== null) {
      await queueSecurityMail(tx, now.viewer.organization, person, {
        subject: 'A new API key',
        happened: `${described(name, user)} was created.`,
      });
    }
    return made;
  });
  return { apiKey, secret };
}

/** Describes a key in an email to its user, or to the owner of a bot. */
const described = (name: string, { botType, fullName }: User): string =>
  `the API key "${oneLine(name)}"${botType === null ? '' : ` of the bot ${oneLine(fullName)}`}`;

function requireName(given: string): string {
  return requireText('name', given, { strip: true, min: 1, max: MAX_NAME_LENGTH });
}

/** Returns the time from which a new key is invalid. Not after that of the key with which it is created. */
function requireExpiry({ app, viewer: { credential } }: Ctx, given: Date | undefined): Date | null {
  const own = credential?.kind === 'key' ? credential.endsAt : undefined;
  if (given === undefined) return own ?? null;
  const left = given.getTime() - app.now().getTime();
  if (!(left > 0 && left <= MAX_LIFETIME_MS)) {
    throw new ValidationError('The time must be within the next ten years.', { parameter: 'expires_at' });
  }
  return own !== undefined && own < given ? own : given;
}

/**
 * Renames an API key of the viewer, or of a bot that the viewer can administer.
 *
 * @throws ValidationError if the name is blank or too long.
 * @throws NotFoundError if the viewer cannot see the key.
 * @throws ForbiddenError if the key belongs to another person.
 */
export function renameApiKey(ctx: Ctx, id: number, given: string): Promise<NamedApiKey> {
  const name = requireName(given);
  return transact(ctx, async (tx, emit) => {
    const { user, ...key } = await findKey(tx, ctx, id);
    if (user.botType === null && user.id !== ctx.viewer.id) {
      throw new ForbiddenError('Only its user can rename this API key.', { parameter: 'api_key_id' });
    }
    if (key.name === name) return key;
    const { organizationId } = key;
    const renamed = await tx.namedApiKey.update({
      where: { organizationId_id: { organizationId, id } },
      data: { name },
    });
    emit.audit({
      ...{ action: 'api_key_renamed', objectType: 'api_key', objectId: id, objectName: name },
      changes: { name: { old: key.name, new: name } },
    });
    emitKeysChanged(emit, user);
    return renamed;
  });
}

/**
 * Revokes an API key. It is invalid immediately, and its open connections end within seconds on every node. If an administrator
 * revokes the key of another user, that person, or the owner of the bot, is notified by email.
 *
 * @throws NotFoundError if the viewer cannot see the key.
 */
export async function revokeApiKey(ctx: Ctx, id: number): Promise<void> {
  await transact(ctx, async (tx, emit) => {
    const { user, name } = await findKey(tx, ctx, id);
    await revokeNamedKeys(tx, emit, user, { id });
    const { viewer } = ctx;
    const person = user.id === viewer.id ? null : await personToNotify(tx, user);
    if (person === null || person.id === viewer.id) return;
    await queueSecurityMail(tx, viewer.organization, person, {
      subject: 'A revoked API key',
      happened: `an administrator revoked ${described(name, user)}. Programs that use the key can no longer connect.`,
      isByAdministrator: true,
    });
  });
}

async function findKey(tx: Tx, ctx: Ctx, id: number): Promise<NamedApiKey & { readonly user: User }> {
  await lockOrganization(tx, ctx.organizationId);
  const now = await asOfNow(tx, ctx);
  const where = { AND: [visibleTo(now), { id }] };
  const found = isRowId(id) ? await tx.namedApiKey.findFirst({ where, include: { user: true } }) : null;
  if (found === null) throw new NotFoundError('Invalid API key ID', { type: 'ApiKey', id, parameter: 'api_key_id' });
  return found;
}
