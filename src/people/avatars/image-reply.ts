import type { App } from '../../access/context.ts';
import { findOrganization } from '../../access/sign-in.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { NonexistentSubdomainError } from '../../platform/errors.ts';

/** Cache-Control of a URL whose content never changes. */
export const FOR_EVER = 'public, max-age=31536000, immutable';
/** Cache-Control of a URL whose image can change. Caches can keep the image for five minutes. */
export const FOR_NOW = 'public, max-age=300';

/** Headers that keep an uploaded file from running scripts or loading resources if a browser opens it as a page. */
const SAFE = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  // Without this header, web clients on other origins could not display the images.
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;

/** Returns a response with an image. */
export function imageAnswer(
  image: { readonly mediaType: string; readonly bytes: Uint8Array<ArrayBuffer> | string },
  cacheControl: string,
): Response {
  return new Response(image.bytes, {
    headers: { ...SAFE, 'Content-Type': image.mediaType, 'Cache-Control': cacheControl },
  });
}

/** Returns a redirect to the location of an image. */
export function redirectAnswer(location: string, cacheControl: string = FOR_NOW): Response {
  return new Response(null, { status: 302, headers: { Location: location, 'Cache-Control': cacheControl } });
}

/** Returns a 404 response for a missing image. */
export const noImage = (): Response =>
  new Response('Image not found\n', {
    status: 404,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' },
  });

/** Returns the organization of a host. Null if there is none. */
export async function organizationAt(app: App, host: string | undefined): Promise<Organization | null> {
  try {
    return await findOrganization(app, host);
  } catch (error) {
    if (error instanceof NonexistentSubdomainError) return null;
    throw error;
  }
}
