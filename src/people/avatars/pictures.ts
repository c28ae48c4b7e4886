import type { IncomingMessage } from 'node:http';
import { type App, signedIn } from '../../access/context.ts';
import { userSetting, VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { countRefusal } from '../../api/rate-limits.ts';
import { API_PREFIX, type Web } from '../../api/rest/router.ts';
import { signInBy } from '../../api/sessions.ts';
import type { Organization, Prisma, User } from '../../generated/prisma/client.ts';
import {
  BadRequestError,
  InsufficientScopeError,
  NonexistentSubdomainError,
  requireScopes,
} from '../../platform/errors.ts';
import { type ImageVersion, isSigned, SIGNATURE } from '../avatar-signature.ts';
import { accessUser, accessUserByEmail } from '../users.ts';
import { avatarUrl } from '../wire.ts';
import { drawnAvatar, PIXELS, type Size } from './drawn.ts';
import { FOR_EVER, FOR_NOW, imageAnswer, organizationAt, redirectAnswer } from './image-reply.ts';
import { hostedImage } from './provider.ts';

/**
 * Adds routes for the images of users and organizations. These routes require no credentials, because image tags send none.
 * Instead, the URLs of users' images are signed, and only users of the organization receive these URLs.
 *
 * A signed URL contains the version of the image, and is never reused for another version. Unsigned URLs of users' images
 * redirect signed-in users to the signed URL. Without credentials, an unsigned URL returns a neutral image, which does not
 * reveal whether the user exists.
 */
export function addAvatars(web: Web, app: App): void {
  web.get('/avatar/organization', async ({ req }) => {
    const organization = await organizationAt(app, req.header('host'));
    if (organization?.iconImageId == null) return drawn(organization?.uuid, 'small', FOR_NOW);
    const { id: organizationId, iconImageId: id, iconVersion, uuid } = organization;
    const select = { mediaType: true, reduced: true };
    const image = await app.db.image.findFirst({ where: { organizationId, id }, select });
    if (image?.reduced == null) return drawn(uuid, 'small', FOR_NOW);
    const isCurrent = Number(req.query('v')) === iconVersion;
    return imageAnswer({ mediaType: image.mediaType, bytes: image.reduced }, isCurrent ? FOR_EVER : FOR_NOW);
  });
  for (const size of ['small', 'medium'] as const) {
    const ending = size === 'medium' ? '/medium' : '';
    web.get(`/avatar/:id{[0-9]+}/:signature{${SIGNATURE}}${ending}`, async ({ req }) => {
      const version = { id: Number(req.param('id')), avatarVersion: Number(req.query('v')) };
      if (!isSigned(version, req.param('signature'))) return neutral(size);
      const organization = await organizationAt(app, req.header('host'));
      const user = await pictured(app, organization, version.id, size);
      if (organization === null || user === null) return neutral(size);
      return user.avatarVersion === version.avatarVersion
        ? imageOf(app, organization, user, size)
        : redirectAnswer(addressOf(user, size));
    });
    for (const route of [`/avatar/:user${ending}`, `${API_PREFIX}/users/:user/avatar${ending}`]) {
      web.get(route, async ({ req, env }) => {
        const user = await named(app, env.incoming, req.param('user') ?? '');
        return user === undefined ? neutral(size) : redirectAnswer(addressOf(user, size), PRIVATE);
      });
    }
  }
}

/** Cache control of a response that depends on the viewer. */
const PRIVATE = 'private, no-store';

const neutral = (size: Size): Promise<Response> => drawn(undefined, size, PRIVATE);

/**
 * Finds a user of the viewer's organization by id, or by an email address that the viewer can see.
 *
 * @returns Undefined without credentials, and if there is no such user.
 */
async function named(
  app: App,
  incoming: IncomingMessage,
  name: string,
): Promise<Pick<User, keyof ImageVersion> | undefined> {
  try {
    const signingIn = signInBy(app, incoming, { allowBearer: true });
    const request = await signingIn.catch((error: unknown) => countRefusal(app, incoming, error));
    if (request.viewer === null) return undefined;
    const ctx = signedIn(request);
    requireScopes(ctx.viewer, 'read');
    return await (/^[0-9]+$/.test(name) ? accessUser(ctx, Number(name)) : accessUserByEmail(ctx, name));
  } catch (error) {
    if (error instanceof InsufficientScopeError) throw error;
    if (error instanceof NonexistentSubdomainError || error instanceof BadRequestError) return undefined;
    throw error;
  }
}

/**
 * Returns the selection of the columns that the image of a user depends on. An uploaded image is read in one size only, because
 * images are large.
 */
const wanted = (size: Size) =>
  ({
    id: true,
    email: true,
    botType: true,
    settings: true,
    avatarSource: true,
    avatarVersion: true,
    avatarImage: { select: { mediaType: true, bytes: size === 'medium', reduced: size === 'small' } },
  }) satisfies Prisma.UserSelect;

async function pictured({ db }: App, organization: Organization | null, id: number, size: Size) {
  if (organization === null) return null;
  return db.user.findFirst({ where: { organizationId: organization.id, id }, select: wanted(size) });
}

type Pictured = NonNullable<Awaited<ReturnType<typeof pictured>>>;

const addressOf = (user: ImageVersion, size: Size) => avatarUrl(user, size === 'medium' ? 'medium' : undefined);

async function imageOf({ config }: App, organization: Organization, user: Pictured, size: Size): Promise<Response> {
  const { id, avatarVersion, avatarImage } = user;
  const bytes = size === 'medium' ? avatarImage?.bytes : avatarImage?.reduced;
  if (avatarImage != null && bytes != null) return imageAnswer({ mediaType: avatarImage.mediaType, bytes }, FOR_EVER);
  const hosted = await hostedFor(config.avatarProviderUrl, user, PIXELS[size]);
  if (hosted !== undefined) return imageAnswer(hosted, FOR_NOW);
  // With source `G` (the avatar provider), the generated image is only a substitute. It is cached for a short time, because the
  // operator can configure a provider later.
  return drawn(`${organization.uuid} ${id} ${avatarVersion}`, size, user.avatarSource === 'G' ? FOR_NOW : FOR_EVER);
}

/**
 * Returns the image of a user from the avatar provider. Undefined if the provider has no image of the user. Also undefined for
 * users who hide their email address from some viewers: a viewer who knows the image from elsewhere could infer the address.
 */
async function hostedFor(provider: string | undefined, user: Pictured, pixels: number) {
  const isKnown = user.botType !== null || userSetting(user, 'email_address_visibility') === VISIBLE_TO_EVERYONE;
  return provider === undefined || user.avatarSource !== 'G' || !isKnown
    ? undefined
    : hostedImage(provider, user.email, pixels);
}

/** Returns a response with a generated image. @param seed Text that determines the image. Undefined: the neutral image. */
async function drawn(seed: string | undefined, size: Size, cacheControl: string): Promise<Response> {
  return imageAnswer({ mediaType: 'image/png', bytes: await drawnAvatar(seed, size) }, cacheControl);
}
