import type { App } from '../../access/context.ts';
import { findRealm } from '../../access/sign-in.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { NonexistentSubdomainError } from '../../platform/errors.ts';

/** For an address that is never used again for anything else. */
export const FOR_EVER = 'public, max-age=31536000, immutable';
/** Our choice: for an address whose image may become another. */
export const FOR_NOW = 'public, max-age=300';

/** What somebody uploaded stays an image, whoever opens it as a page: it runs nothing and loads nothing. */
const SAFE = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  // Front ends of other origins show it.
  'Cross-Origin-Resource-Policy': 'cross-origin',
} as const;

/** An image as an answer. */
export function imageAnswer(
  image: { readonly mediaType: string; readonly bytes: Uint8Array<ArrayBuffer> | string },
  cacheControl: string,
): Response {
  return new Response(image.bytes, {
    headers: { ...SAFE, 'Content-Type': image.mediaType, 'Cache-Control': cacheControl },
  });
}

/** Sends on to where the image is. */
export function redirectAnswer(location: string): Response {
  return new Response(null, { status: 302, headers: { Location: location, 'Cache-Control': FOR_NOW } });
}

/** There is no such image. */
export const noImage = (): Response =>
  new Response('There is no such image\n', {
    status: 404,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' },
  });

/** The organisation that a host names; null when there is none. */
export async function realmAt(app: App, host: string | undefined): Promise<Realm | null> {
  try {
    return await findRealm(app, host);
  } catch (error) {
    if (error instanceof NonexistentSubdomainError) return null;
    throw error;
  }
}
