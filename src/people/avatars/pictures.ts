import { createHash } from 'node:crypto';
import { toSvg } from 'jdenticon';
import type { App } from '../../access/context.ts';
import { userSetting, VISIBLE_TO_EVERYONE } from '../../access/user-settings.ts';
import { API_PREFIX, type Web } from '../../api/rest/router.ts';
import type { Prisma, Realm } from '../../generated/prisma/client.ts';
import { avatarUrl } from '../wire.ts';
import { FOR_EVER, FOR_NOW, imageAnswer, realmAt, redirectAnswer } from './image-reply.ts';

/** Pixels, for clients that do not scale. */
const PIXELS = { small: 100, medium: 500 } as const;
type Size = keyof typeof PIXELS;
const MAX_ID = 2_147_483_647;

/** What is drawn here. */
const SVG = 'image/svg+xml';

/**
 * Adds the images of users and organisations. Who has uploaded none has a pattern made from ids alone, which says nothing
 * of name or address. Image tags send no credentials, so the images need none.
 *
 * An address that names the version of the image is never used again for another; any other leads to it.
 */
export function addAvatars(web: Web, app: App): void {
  web.get('/avatar/organization', async ({ req }) => {
    const realm = await realmAt(app, req.header('host'));
    return drawn(realm?.uuid, 'small', FOR_NOW);
  });
  for (const size of ['small', 'medium'] as const) {
    const ending = size === 'medium' ? '/medium' : '';
    web.get(`/avatar/:id{[0-9]+}${ending}`, async ({ req }) => {
      const realm = await realmAt(app, req.header('host'));
      const user = await pictured(app, realm, Number(req.param('id')), size);
      if (realm === null || user === null) return drawn(undefined, size, FOR_NOW);
      if (req.query('v') !== String(user.avatarVersion)) return redirectAnswer(addressOf(user, size));
      return imageOf(app, realm, user, size);
    });
    web.get(`${API_PREFIX}/users/:id{[0-9]+}/avatar${ending}`, async ({ req }) => {
      const realm = await realmAt(app, req.header('host'));
      const user = await pictured(app, realm, Number(req.param('id')), size);
      return user === null ? drawn(undefined, size, FOR_NOW) : redirectAnswer(addressOf(user, size));
    });
  }
}

/** A user, with no more of their image than is wanted: what is too large to be read with every user. */
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

async function pictured({ db }: App, realm: Realm | null, id: number, size: Size) {
  if (realm === null || id > MAX_ID) return null;
  return db.user.findFirst({ where: { realmId: realm.id, id }, select: wanted(size) });
}

type Pictured = NonNullable<Awaited<ReturnType<typeof pictured>>>;

const addressOf = (user: Pictured, size: Size) => avatarUrl(user, size === 'medium' ? 'medium' : undefined);

function imageOf({ config }: App, realm: Realm, user: Pictured, size: Size): Response {
  const { id, avatarVersion, avatarImage } = user;
  const bytes = size === 'medium' ? avatarImage?.bytes : avatarImage?.reduced;
  if (avatarImage != null && bytes != null) return imageAnswer({ mediaType: avatarImage.mediaType, bytes }, FOR_EVER);
  const hosted = config.avatarProviderUrl && hostedAddress(config.avatarProviderUrl, user, PIXELS[size]);
  if (hosted !== undefined) return redirectAnswer(hosted);
  // The operator may name a provider later.
  return drawn(`${realm.uuid} ${id} ${avatarVersion}`, size, user.avatarSource === 'G' ? FOR_NOW : FOR_EVER);
}

/**
 * Where the avatar provider has the user's image; undefined for who uses none, and for those whose address is hidden
 * from some: a hash that everybody can ask for would tell who they are to whoever guesses the address.
 *
 * @param pixels The size wanted, under the name by which such providers know it.
 */
function hostedAddress(provider: string, user: Pictured, pixels: number): string | undefined {
  const isKnown = user.botType !== null || userSetting(user, 'email_address_visibility') === VISIBLE_TO_EVERYONE;
  if (user.avatarSource !== 'G' || !isKnown) return undefined;
  const url = new URL(provider);
  url.pathname += createHash('sha256').update(user.email.trim().toLowerCase()).digest('hex');
  url.searchParams.set('s', String(pixels));
  return url.href;
}

/** Grey, and the same for everyone we do not know. */
const neutral = (pixels: number) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="0 0 100 100">` +
  '<rect width="100" height="100" fill="#e4e4e7"/><circle cx="50" cy="38" r="18" fill="#a1a1aa"/>' +
  '<path d="M14 92a36 30 0 0 1 72 0z" fill="#a1a1aa"/></svg>';

function drawn(seed: string | undefined, size: Size, cacheControl: string): Response {
  const pixels = PIXELS[size];
  const svg = seed === undefined ? neutral(pixels) : toSvg(seed, pixels, { backColor: '#ffffff' });
  return imageAnswer({ mediaType: SVG, bytes: svg }, cacheControl);
}
