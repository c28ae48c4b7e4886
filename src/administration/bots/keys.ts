import type { Ctx } from '../../access/context.ts';
import { asOfNow, replaceKey } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import type { Realm, User } from '../../generated/prisma/client.ts';
import { lockRealm } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { queueSecurityMail } from '../security-mail.ts';
import { requireProof, requireRecentSignIn } from '../sign-in/proof.ts';
import { accessBot } from './service.ts';

/**
 * Replaces the API key of the viewer, a person or a bot. The old key is invalid immediately. In a session, the user is
 * also notified by email.
 *
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 */
export async function regenerateOwnKey(ctx: Ctx, currentPassword?: string): Promise<string> {
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    const { realm, user, credential } = ctx.viewer;
    if (credential?.kind === 'session') await tellOfKey(tx, realm, user, 'your API key was replaced.');
    return replaceKey(tx, emit, ctx, user.id);
  });
}

const tellOfKey = (tx: Tx, realm: Realm, user: User, happened: string) =>
  queueSecurityMail(tx, realm, user, { subject: 'A new API key', happened });

/**
 * Returns a bot's API key.
 *
 * @throws BadRequestError, UnauthorizedPrincipalError as in `accessBot`.
 * @throws PasswordRequiredError in a session whose sign-in is not recent.
 */
export async function readBotKey(ctx: Ctx, botId: number): Promise<string> {
  requireRecentSignIn(ctx);
  const { app } = ctx;
  const bot = await accessBot(app.db, ctx, botId);
  const { sealed } = await app.db.apiKey.findUniqueOrThrow({
    where: { realmId_userId: { realmId: bot.realmId, userId: bot.id } },
  });
  return app.keys.open(sealed);
}

/**
 * Replaces a bot's API key. The old key is invalid immediately.
 *
 * @throws BadRequestError, UnauthorizedPrincipalError as in `accessBot`.
 * @throws PasswordRequiredError and the other errors of `requireProof`.
 */
export async function regenerateBotKey(ctx: Ctx, botId: number, currentPassword?: string): Promise<string> {
  await requireProof(ctx, currentPassword);
  return transact(ctx, async (tx, emit) => {
    // The lock prevents a change of the bot's owner until the key is replaced.
    await lockRealm(tx, ctx.realmId);
    const bot = await accessBot(tx, await asOfNow(tx, ctx), botId);
    const { realm, user, credential } = ctx.viewer;
    const name = oneLine(bot.fullName);
    if (credential?.kind === 'session')
      await tellOfKey(tx, realm, user, `you replaced the API key of the bot ${name}.`);
    return replaceKey(tx, emit, ctx, bot.id);
  });
}
