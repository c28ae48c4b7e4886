import type { App } from '../../access/context.ts';
import type { Web } from '../../api/rest/router.ts';
import { fileAnswer } from '../../api/shared-file.ts';
import { noImage, organizationAt } from '../../people/avatars/image-reply.ts';
import { EXTERNAL_CONTENT, isSigned, SIGNATURE } from './address.ts';
import { ExternalImages } from './images.ts';

/** Headers of all images. If a browser opens an image as a page, it runs no scripts and loads no resources. */
const SAFE = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'Content-Disposition': 'inline',
  'Referrer-Policy': 'no-referrer',
  // Without this header, web clients on other origins could not display the images.
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;
/** Caches keep an image for a day: readers who return see it without another request to the website. */
const CACHE_CONTROL = 'public, max-age=86400';

/** Returns whether requests for a path are counted as requests for files, of which a page needs many. */
export const isExternalImage = (path: string): boolean => path.startsWith(EXTERNAL_CONTENT);

/**
 * Adds the route of images of other websites. The signature of the address is enough, without credentials, as for the images of
 * users: image tags of clients send none, and the images are public. The service signs only addresses in content that its users
 * have written, so the route reads no other URL.
 */
export function addExternalImages(web: Web, app: App): void {
  const images = new ExternalImages(app);
  web.get(`${EXTERNAL_CONTENT}:signature{${SIGNATURE}}/:url{(?:[0-9a-f]{2})+}`, async ({ req, env }) => {
    const url = Buffer.from(req.param('url'), 'hex').toString();
    const organization = await organizationAt(app, req.header('host'));
    if (organization === null || organization.deactivatedAt !== null) return noImage();
    if (!isSigned(app, organization, { url, signature: req.param('signature') })) return noImage();
    const image = await images.read(organization.id, url);
    if (image === null) return noImage();
    const headers = { ...SAFE, 'Content-Type': image.mediaType, 'Cache-Control': CACHE_CONTROL };
    return fileAnswer(image.file, env.incoming.headers, headers);
  });
}
