import type { App, Ctx } from '../../access/context.ts';
import type { VideoProvider } from '../../platform/config.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { InvalidVideoCallProviderTokenError } from './errors.ts';
import { ProviderError, requestCall } from './provider.ts';
import { dropToken, heldToken } from './tokens.ts';

/** Where video calls are made. @throws BadRequestError when the server's operator has set up no provider. */
export function requireProvider({ config: { videoProvider } }: App): VideoProvider {
  if (videoProvider === undefined) throw new BadRequestError('Video provider credentials have not been configured');
  return videoProvider;
}

/** Whether calls can be made in the viewer's name. */
export async function hasCallToken({ app, viewer }: Ctx): Promise<boolean> {
  return (await app.db.callToken.count({ where: { realmId: viewer.realm.id, userId: viewer.id } })) > 0;
}

/**
 * Makes a video call in the viewer's name.
 *
 * @returns Where to join it, over http or https.
 * @throws InvalidVideoCallProviderTokenError when the viewer has not allowed it, or the provider does no longer take
 *   that: the viewer's clients are then told that there is no token.
 * @throws BadRequestError when there is no provider, or it could not make the call.
 */
export async function createVideoCall(ctx: Ctx): Promise<string> {
  const provider = requireProvider(ctx.app);
  try {
    const held = await heldToken(ctx, provider);
    const url = await requestCall(provider, held.accessToken);
    if (url !== 'refused') return url;
    await dropToken(ctx, held);
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    ctx.app.log.warn({ err: error }, 'a video call could not be made');
    throw new BadRequestError('Failed to create video call');
  }
  throw new InvalidVideoCallProviderTokenError();
}
