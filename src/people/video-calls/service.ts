import type { Ctx, Runtime } from '../../access/context.ts';
import type { VideoProvider } from '../../platform/config.ts';
import { ConflictError } from '../../platform/errors.ts';
import { InvalidVideoCallProviderTokenError } from './errors.ts';
import { ProviderError, requestCall } from './provider.ts';
import { dropToken, heldToken } from './tokens.ts';

/** Returns the provider of video calls. @throws ConflictError if the operator configured none. */
export function requireProvider({ config: { videoProvider } }: Runtime): VideoProvider {
  if (videoProvider === undefined) throw new ConflictError('Video provider credentials have not been configured');
  return videoProvider;
}

/** Returns whether calls can be made in the viewer's name. */
export async function hasCallToken({ work, viewer }: Ctx): Promise<boolean> {
  return (await work.db.callToken.count({ where: { organizationId: viewer.organization.id, userId: viewer.id } })) > 0;
}

/**
 * Creates a video call in the viewer's name.
 *
 * @returns URL to join the call, over http or https.
 * @throws InvalidVideoCallProviderTokenError if the viewer has not allowed video calls in their name, or the provider no longer
 *   accepts the token. In the second case, the viewer's clients are notified that there is no token.
 * @throws ConflictError if no provider is configured, or the provider could not create the call.
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
    throw new ConflictError('Failed to create video call');
  }
  throw new InvalidVideoCallProviderTokenError();
}
