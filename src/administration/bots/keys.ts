import type { Ctx } from '../../access/context.ts';
import { asOfNow, replaceKey } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { lockOrganization } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { requireProof, requireRecentSignIn } from '../sign-in/proof.ts';
import { accessBot } from './service.ts';

/**
 * Replaces the API key of the viewer, a person or a bot. The old key is invalid immediately. If the request uses a session,
 * the viewer is also notified by email.
 *
 * @returns The new API key.
 * @throws PasswordRequiredError without a password, in a session whose sign-in was more than ten minutes ago.
 * @throws ValidationError if the password is wrong.
 * @throws RateLimitHitError after 5 wrong passwords within 30 minutes.
 */
export async function regenerateOwnKey(ctx: Ctx, currentPassword?: string): Promise<string> {
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    const { organization, user, credential } = ctx.viewer;
    if (credential?.kind === 'session') await mailNewKey(tx, organization, user, 'your API key was replaced.');
    return replaceKey(tx, emit, ctx, user.id);
  });
}

const mailNewKey = (tx: Tx, organization: Organization, user: User, happened: string) =>
  queueSecurityMail(tx, organization, user, { subject: 'A new API key', happened });

/**
 * Returns a bot's API key.
 *
 * @throws PasswordRequiredError in a session whose sign-in was more than ten minutes ago.
 * @throws NotFoundError if the bot does not exist.
 * @throws ForbiddenError if the viewer cannot administer the bot.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or if the bot has the owner role and the viewer does not.
 */
export async function readBotKey(ctx: Ctx, botId: number): Promise<string> {
  requireRecentSignIn(ctx);
  const { app, work } = ctx;
  const bot = await accessBot(work.db, ctx, botId);
  const { sealed } = await work.db.apiKey.findUniqueOrThrow({
    where: { organizationId_userId: { organizationId: bot.organizationId, userId: bot.id } },
  });
  return app.keys.open(sealed);
}

/**
 * Replaces a bot's API key. The old key is invalid immediately. If the request uses a session, the viewer is also notified by
 * email.
 *
 * @returns The new API key.
 * @throws PasswordRequiredError without a password, in a session whose sign-in was more than ten minutes ago.
 * @throws ValidationError if the password is wrong.
 * @throws RateLimitHitError after 5 wrong passwords within 30 minutes.
 * @throws NotFoundError if the bot does not exist.
 * @throws ForbiddenError if the viewer cannot administer the bot.
 * @throws UnauthorizedPrincipalError if the viewer is a guest, or if the bot has the owner role and the viewer does not.
 */
export async function regenerateBotKey(ctx: Ctx, botId: number, currentPassword?: string): Promise<string> {
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    // The lock prevents a change of the bot's owner until the key is replaced.
    await lockOrganization(tx, ctx.organizationId);
    const bot = await accessBot(tx, await asOfNow(tx, ctx), botId);
    const { organization, user, credential } = ctx.viewer;
    const name = oneLine(bot.fullName);
    if (credential?.kind === 'session')
      await mailNewKey(tx, organization, user, `you replaced the API key of the bot ${name}.`);
    return replaceKey(tx, emit, ctx, bot.id);
  });
}
