import type { Ctx } from '../../access/context.ts';
import { asOfNow, replaceKey, requireLiveCredential } from '../../access/sign-in.ts';
import { writeAuditLog } from '../../events/audit.ts';
import { requireLive } from '../../events/context.ts';
import { transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { lockOrganization, lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { personToNotify, queueSecurityMail } from '../security-mail.ts';
import { isDefaultKey, requireLastingKey, requireProof, requireRecentSignIn } from '../sign-in/proof.ts';
import { accessBot } from './service.ts';

/**
 * Replaces the API key of the viewer, a person or a bot. The old key is invalid immediately. If the request does not use the
 * default key, the viewer is also notified by email.
 *
 * @returns The new API key.
 * @throws ForbiddenError with an API key that expires.
 * @throws PasswordRequiredError without a password, in a session whose sign-in was more than ten minutes ago.
 * @throws ValidationError if the password is wrong.
 * @throws RateLimitHitError after 5 wrong passwords within 30 minutes.
 */
export async function regenerateOwnKey(ctx: Ctx, currentPassword?: string): Promise<string> {
  requireLastingKey(ctx);
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    const { organization, user, credential } = ctx.viewer;
    await lockUser(tx, user);
    await requireLiveCredential(tx, ctx);
    if (!isDefaultKey(credential)) {
      const whose = user.botType === null ? 'your API key' : `the API key of the bot ${oneLine(user.fullName)}`;
      await mailNewKey(tx, organization, user, `${whose} was replaced.`);
    }
    return replaceKey(tx, emit, ctx, user.id);
  });
}

async function mailNewKey(tx: Tx, organization: Organization, user: User, happened: string): Promise<void> {
  const person = await personToNotify(tx, user);
  if (person !== null) await queueSecurityMail(tx, organization, person, { subject: 'A new API key', happened });
}

/**
 * Returns a bot's API key. If the viewer is not the owner of the bot, an entry is written to the audit log.
 *
 * @throws ValidationError if the unit of work only reads, and the viewer is not the owner.
 * @throws ForbiddenError with an API key that expires.
 * @throws PasswordRequiredError in a session whose sign-in was more than ten minutes ago.
 * @throws NotFoundError if the bot does not exist.
 * @throws ForbiddenError if the viewer cannot administer the bot.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or if the bot has the owner role and the viewer does not.
 */
export async function readBotKey(ctx: Ctx, botId: number): Promise<string> {
  requireLastingKey(ctx);
  requireRecentSignIn(ctx);
  const { app, work } = ctx;
  const bot = await accessBot(work.db, ctx, botId);
  const { sealed } = await work.db.apiKey.findUniqueOrThrow({
    where: { organizationId_userId: { organizationId: bot.organizationId, userId: bot.id } },
  });
  await auditReadKeys(ctx, [bot]);
  return app.keys.open(sealed);
}

/**
 * Writes entries to the audit log about the API keys of bots that the viewer reads. Own bots have no entry.
 *
 * @throws ValidationError if there are entries, and the unit of work only reads.
 */
export async function auditReadKeys(ctx: Ctx, bots: readonly Pick<User, 'id' | 'botOwnerId'>[]): Promise<void> {
  const ofOthers = bots.filter(({ botOwnerId }) => botOwnerId !== ctx.viewer.id);
  if (ofOthers.length === 0) return;
  const entries = ofOthers.map(({ id }) => ({ action: 'api_key_read', objectType: 'user', objectId: id }) as const);
  await writeAuditLog(ctx.work.db, { ...ctx, app: requireLive(ctx.work).app }, entries);
}

/**
 * Replaces a bot's API key. The old key is invalid immediately. If the request uses a session, the viewer is also notified by
 * email.
 *
 * @returns The new API key.
 * @throws ForbiddenError with an API key that expires.
 * @throws PasswordRequiredError without a password, in a session whose sign-in was more than ten minutes ago.
 * @throws ValidationError if the password is wrong.
 * @throws RateLimitHitError after 5 wrong passwords within 30 minutes.
 * @throws NotFoundError if the bot does not exist.
 * @throws ForbiddenError if the viewer cannot administer the bot.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or if the bot has the owner role and the viewer does not.
 */
export async function regenerateBotKey(ctx: Ctx, botId: number, currentPassword?: string): Promise<string> {
  requireLastingKey(ctx);
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    // The lock prevents a change of the bot's owner until the key is replaced.
    await lockOrganization(tx, ctx.organizationId);
    await lockUser(tx, ctx.viewer.user);
    await requireLiveCredential(tx, ctx);
    const bot = await accessBot(tx, await asOfNow(tx, ctx), botId);
    const { organization, user, credential } = ctx.viewer;
    const name = oneLine(bot.fullName);
    if (!isDefaultKey(credential))
      await mailNewKey(tx, organization, user, `you replaced the API key of the bot ${name}.`);
    return replaceKey(tx, emit, ctx, bot.id);
  });
}
