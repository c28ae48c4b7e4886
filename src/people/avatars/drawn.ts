import { toSvg } from 'jdenticon';
import { drawPng } from '../../platform/images/draw.ts';

/** Width of an image in pixels, for clients that do not scale images. */
export const PIXELS = { small: 100, medium: 500 } as const;
export type Size = keyof typeof PIXELS;

/** Number of images kept in memory, of 1 to 15 kB each. */
const MAX_KEPT = 500;
const kept = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();

/**
 * Draws the avatar of a user who has not uploaded one, as PNG: mobile clients and bridges cannot show SVG.
 *
 * @param seed The text that the pattern is made from. Undefined: the neutral image, for every unknown user.
 */
export function drawnAvatar(seed: string | undefined, size: Size): Promise<Uint8Array<ArrayBuffer>> {
  const key = `${size} ${seed ?? ''}`;
  const image = kept.get(key) ?? drawPng(svgOf(seed, PIXELS[size]));
  kept.delete(key);
  kept.set(key, image);
  // A failed drawing is tried again at the next request.
  image.catch(() => kept.get(key) === image && kept.delete(key));
  const [oldest] = kept.keys();
  if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  return image;
}

const svgOf = (seed: string | undefined, pixels: number): string =>
  seed === undefined ? neutral(pixels) : toSvg(seed, pixels, { backColor: '#ffffff' });

const neutral = (pixels: number): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${pixels}" height="${pixels}" viewBox="0 0 100 100">` +
  '<rect width="100" height="100" fill="#e4e4e7"/><circle cx="50" cy="38" r="18" fill="#a1a1aa"/>' +
  '<path d="M14 92a36 30 0 0 1 72 0z" fill="#a1a1aa"/></svg>';
