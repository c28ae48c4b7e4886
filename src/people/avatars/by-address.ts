import type { IncomingMessage, ServerResponse } from 'node:http';
import type { App, Viewer } from '../../access/context.ts';
import { countRequest, setBudgetHeaders } from '../../api/rate-limits.ts';
import type { Bindings, Web } from '../../api/rest/router.ts';
import { signInBy } from '../../api/sessions.ts';
import type { Budget } from '../../platform/budget.ts';
import { isRowId } from '../../platform/ids.ts';
import { userIdsByAddress } from '../by-address.ts';
import { avatarUrl } from '../wire.ts';
import { drawnAvatar, type Size } from './drawn.ts';
import { imageAnswer } from './image-reply.ts';

/** Cache control of a response that depends on the viewer. */
const PRIVATE = 'private, no-store';

/**
 * Adds routes for the images of users whose path contains the user's email address, for clients that do not have the user's id.
 * Redirects a signed-in client to the image of a user whose email address it can see. Without credentials, and for any other
 * email address, the response is the neutral image.
 */
export function addAvatarsByAddress(web: Web, app: App): void {
  for (const size of ['small', 'medium'] as const) {
    const ending = size === 'medium' ? '/medium' : '';
    web.get(`/avatar/:address{[^/]*(?:@|%40)[^/]*}${ending}`, async ({ env, req }) => {
      const viewer = await viewerOf(app, env);
      const location = viewer && (await locationFor(app, viewer, req.param('address'), size));
      return location === undefined
        ? imageAnswer({ mediaType: 'image/png', bytes: await drawnAvatar(undefined, size) }, PRIVATE)
        : new Response(null, { status: 302, headers: { Location: location, 'Cache-Control': PRIVATE } });
    });
  }
}

/**
 * Authenticates a request, and counts it for the rate limits.
 *
 * @returns The viewer. Undefined without credentials.
 * @throws The errors of `signInBy` and `countRequest`, for example if the credentials are wrong.
 */
async function viewerOf(app: App, { incoming, outgoing }: Bindings): Promise<Viewer | undefined> {
  const answer = outgoing as ServerResponse;
  const signIn = () => signInBy(app, incoming as IncomingMessage, { allowBearer: true, answer });
  const onBudget = (budget: Budget) => setBudgetHeaders(answer, budget);
  const { viewer } = await countRequest(app, incoming as IncomingMessage, signIn, { answer, onBudget });
  return viewer ?? undefined;
}

async function locationFor({ db }: App, viewer: Viewer, address: string, size: Size): Promise<string | undefined> {
  const id = (await userIdsByAddress(db, viewer, [address])).get(address);
  if (id === undefined || !isRowId(id)) return undefined;
  const user = await db.user.findFirst({ where: { realmId: viewer.realm.id, id } });
  return user === null ? undefined : avatarUrl(user, size === 'medium' ? 'medium' : undefined);
}
