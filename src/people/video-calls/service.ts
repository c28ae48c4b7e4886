import type { App, Ctx } from '../../access/context.ts';
import type { VideoProvider } from '../../platform/config.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { InvalidVideoCallProviderTokenError } from './errors.ts';
import { ProviderError, requestCall } from './provider.ts';
import { dropToken, heldToken } from './tokens.ts';

/** Returns the provider of video calls. @throws BadRequestError if the operator configured none. */
export function requireProvider({ config: { videoProvider } }: App): VideoProvider {
  if (videoProvider === undefined) throw new BadRequestError('Video provider credentials have not been configured');
  return videoProvider;
}

/** Returns whether calls can be made in the viewer's name. */
export async function hasCallToken({ app, viewer }: Ctx): Promise<boolean> {
  return (await app.db.callToken.count({ where: { realmId: viewer.realm.id, userId: viewer.id } })) > 0;
}

/**
 * Creates a video call in the viewer's name.
 *
 * @returns URL to join the call, over http or https.
 * @throws InvalidVideoCallProviderTokenError if the viewer has not allowed it, or the provider no longer accepts the
 *   token. In the second case, the viewer's clients are notified that there is no token.
 * @throws BadRequestError if no provider is configured, or it could not create the call.
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
    ctx.app.log.warn({ err: error }, 'video call creation failed');
    throw new BadRequestError('Failed to create video call');
  }
  throw new InvalidVideoCallProviderTokenError();
}
