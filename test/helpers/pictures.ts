import { crc32, deflateSync, gzipSync } from 'node:zlib';
import sharp from 'sharp';
import { open } from './http.ts';
import type { Visitor } from './person.ts';

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Returns an image of one color. */
export const plain = (color: string, { width, height }: Size = { width: 8, height: 8 }) =>
  sharp({ create: { width, height, channels: 4, background: color }, limitInputPixels: false });

/** Returns an animated GIF with a frame of 100 ms for each color. */
export async function animation(colors: readonly string[], size: Size = { width: 100, height: 40 }): Promise<Buffer> {
  const frames = await Promise.all(colors.map((color) => plain(color, size).png().toBuffer()));
  return sharp(frames, { join: { animated: true } })
    .gif({ delay: colors.map(() => 100) })
    .toBuffer();
}

/** Returns the color of one pixel, as red, green, blue and alpha. */
export async function colorAt(image: Uint8Array, left: number, top: number): Promise<number[]> {
  const point = sharp(image).ensureAlpha().extract({ left, top, width: 1, height: 1 });
  return [...(await point.raw().toBuffer())];
}

/** Downloads a file of the organization as an image tag does: without credentials. */
export async function download({ url, host }: Visitor, path: string, headers: Readonly<Record<string, string>> = {}) {
  const incoming = await open(url, { method: 'GET', path, headers: { host, ...headers } });
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: incoming.statusCode, headers: incoming.headers, bytes: Buffer.concat(chunks) };
}

/** An image for tests that need no particular one. */
export const PNG: Buffer = await plain('red').png().toBuffer();

/** Files that the service must refuse as images, by their fault. */
export const NO_PICTURES: Readonly<Record<string, Buffer>> = {
  empty: Buffer.alloc(0),
  text: Buffer.from('no picture'),
  'SVG, which can hold a program': Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>',
  ),
  'SVG behind the signature of another format': Buffer.from(
    'GIF89a<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>',
  ),
  'compressed SVG': gzipSync('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'),
  'half a picture': PNG.subarray(0, PNG.length / 2),
  'of a format nobody needs': await plain('red').tiff().toBuffer(),
  'a bomb: more points than memory': black(20_000),
};

/**
 * Returns a black PNG with one bit per pixel, encoded without sharp, which needs ten seconds for 20,000 pixels a side.
 *
 * @param isWhole Whether the file contains all rows. If false, it contains some bytes of the first.
 */
export function black(width: number, height = width, { isWhole = true } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const rows = deflateSync(Buffer.alloc(isWhole ? height * (1 + Math.ceil(width / 8)) : 10));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

/** Returns a chunk of a PNG: length, name, data, and the checksum of name and data. */
export function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}
