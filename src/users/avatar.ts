import { toSvg } from 'jdenticon';
import type { App } from '../app.ts';
import { findRealm } from '../auth/service.ts';
import { NonexistentSubdomainError } from '../errors.ts';
import type { Realm } from '../generated/prisma/client.ts';
import type { Web } from '../rest/router.ts';

/** Pixels, for clients that do not scale. */
const SMALL = 100;
const MEDIUM = 500;
const MAX_ID = 2_147_483_647;

const HEADERS = {
  'Content-Type': 'image/svg+xml',
  // An image that somebody opens as a page stays an image.
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
  'X-Content-Type-Options': 'nosniff',
} as const;
/** A URL with a version is never used again for another image. */
const FOR_EVER = 'public, max-age=31536000, immutable';
const FOR_NOW = 'public, max-age=300';

/**
 * Adds the images that stand for users and organisations without one of their own: patterns made from ids alone, so
 * that they say nothing of names or addresses. Image tags send no credentials, so they need none.
 *
 * @see endpoints companion B.24
 */
export function addAvatars(web: Web, app: App): void {
  web.get('/avatar/organization', async ({ req }) => {
    const realm = await realmAt(app, req.header('host'));
    return image(realm?.uuid, SMALL, FOR_NOW);
  });
  for (const [path, size] of [
    ['/avatar/:id{[0-9]+}', SMALL],
    ['/avatar/:id{[0-9]+}/medium', MEDIUM],
  ] as const) {
    web.get(path, async ({ req }) => {
      const realm = await realmAt(app, req.header('host'));
      const version = await avatarVersion(app, realm, Number(req.param('id')));
      if (realm === null || version === undefined) return image(undefined, size, FOR_NOW);
      const named = req.query('v') === String(version);
      return image(`${realm.uuid} ${req.param('id')} ${version}`, size, named ? FOR_EVER : FOR_NOW);
    });
  }
}

async function realmAt(app: App, host: string | undefined): Promise<Realm | null> {
  try {
    return await findRealm(app, host);
  } catch (error) {
    if (error instanceof NonexistentSubdomainError) return null;
    throw error;
  }
}

async function avatarVersion({ db }: App, realm: Realm | null, id: number): Promise<number | undefined> {
  if (realm === null || id > MAX_ID) return undefined;
  const user = await db.user.findFirst({ where: { realmId: realm.id, id }, select: { avatarVersion: true } });
  return user?.avatarVersion;
}

/** Grey, and the same for everyone we do not know. */
const neutral = (size: number) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 100 100">` +
  '<rect width="100" height="100" fill="#e4e4e7"/><circle cx="50" cy="38" r="18" fill="#a1a1aa"/>' +
  '<path d="M14 92a36 30 0 0 1 72 0z" fill="#a1a1aa"/></svg>';

function image(seed: string | undefined, size: number, cacheControl: string): Response {
  const svg = seed === undefined ? neutral(size) : toSvg(seed, size, { backColor: '#ffffff' });
  return new Response(svg, { headers: { ...HEADERS, 'Cache-Control': cacheControl } });
}
