import type { Ctx } from '../../access/context.ts';
import { asOfNow, replaceKey, rotateKey } from '../../access/sign-in.ts';
import { transact } from '../../events/log.ts';
import { lockRealm } from '../../people/locks.ts';
import { accessBot } from './service.ts';

/** Gives the viewer, a person or a bot, a new API key. The old one is void at once. */
export const regenerateOwnKey = (ctx: Ctx): Promise<string> => rotateKey(ctx, ctx.viewer.id);

/**
 * A bot's API key.
 *
 * @throws BadRequestError, UnauthorizedPrincipalError as `accessBot`.
 */
export async function readBotKey(ctx: Ctx, botId: number): Promise<string> {
  const { app } = ctx;
  const bot = await accessBot(app.db, ctx, botId);
  const { sealed } = await app.db.apiKey.findUniqueOrThrow({
    where: { realmId_userId: { realmId: bot.realmId, userId: bot.id } },
  });
  return app.keys.open(sealed);
}

/**
 * Gives a bot a new API key. The old one is void at once.
 *
 * @throws BadRequestError, UnauthorizedPrincipalError as `accessBot`.
 */
export function regenerateBotKey(ctx: Ctx, botId: number): Promise<string> {
  return transact(ctx, async (tx, emit) => {
    // Whose the bot is stays so until its key is another.
    await lockRealm(tx, ctx.realmId);
    const bot = await accessBot(tx, await asOfNow(tx, ctx), botId);
    return replaceKey(tx, emit, ctx, bot.id);
  });
}
