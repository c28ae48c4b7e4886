import { sharp } from './formats.ts';

let last: Promise<unknown> = Promise.resolve();

/**
 * Draws an SVG image as PNG, outside the event loop. Images are drawn one at a time, because password hashing shares the
 * threads that draw images.
 *
 * @param svg Made by the service itself, never by a user.
 */
export function drawPng(svg: string): Promise<Uint8Array<ArrayBuffer>> {
  const drawing = last.then(async () => new Uint8Array(await sharp(Buffer.from(svg)).png().toBuffer()));
  last = drawing.catch(() => undefined);
  return drawing;
}
