import { toSvg } from 'jdenticon';
import { LRUCache } from 'lru-cache';
import { drawPng } from '../../platform/images/draw.ts';

/** Width and height of an avatar in pixels, by size. */
export const PIXELS = { small: 100, medium: 500 } as const;
export type Size = keyof typeof PIXELS;

/**
 * Maximum number of drawn avatars that are kept in memory. Beyond it, the one used least recently is dropped, and drawn again
 * when needed. Each takes 1 to 15 kB.
 */
const MAX_KEPT = 500;
const kept = new LRUCache<string, Promise<Uint8Array<ArrayBuffer>>>({ max: MAX_KEPT });

/**
 * Returns a generated image for an organization, or for a user who has not uploaded an avatar. The format is PNG, because
 * mobile clients and bridges cannot show SVG.
 *
 * @param seed The text that determines the pattern. Undefined: the neutral image, which is the same for every unknown user.
 */
export function drawnAvatar(seed: string | undefined, size: Size): Promise<Uint8Array<ArrayBuffer>> {
  const key = `${size} ${seed ?? ''}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const image = drawPng(svgOf(seed, PIXELS[size]));
  kept.set(key, image);
  // If drawing fails, the image is removed from the cache, so that the next request draws it again.
  image.catch(() => kept.peek(key) === image && kept.delete(key));
  return image;
}

const svgOf = (seed: string | undefined, pixels: number): string =>
  seed === undefined ? neutral(pixels) : toSvg(seed, pixels, { backColor: '#ffffff' });

const neutral = (pixels: number): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="0 0 100 100">` +
  '<rect width="100" height="100" fill="#e4e4e7"/><circle cx="50" cy="38" r="18" fill="#a1a1aa"/>' +
  '<path d="M14 92a36 30 0 0 1 72 0z" fill="#a1a1aa"/></svg>';
