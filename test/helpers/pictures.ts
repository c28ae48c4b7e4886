import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { open } from './http.ts';
import type { Visitor } from './person.ts';

interface Size {
  readonly width: number;
  readonly height: number;
}

/** A picture of one colour. */
export const plain = (color: string, { width, height }: Size = { width: 8, height: 8 }) =>
  sharp({ create: { width, height, channels: 4, background: color }, limitInputPixels: false });

/** A moving picture with a frame of each colour, 100 ms each. */
export async function animation(colors: readonly string[], size: Size = { width: 100, height: 40 }): Promise<Buffer> {
  const frames = await Promise.all(colors.map((color) => plain(color, size).png().toBuffer()));
  return sharp(frames, { join: { animated: true } })
    .gif({ delay: colors.map(() => 100) })
    .toBuffer();
}

/** The colour of one point, as red, green, blue and opacity. */
export async function colorAt(image: Uint8Array, left: number, top: number): Promise<number[]> {
  const point = sharp(image).ensureAlpha().extract({ left, top, width: 1, height: 1 });
  return [...(await point.raw().toBuffer())];
}

/** What is at an address of the organisation, as an image tag fetches it: without credentials. */
export async function download({ url, host }: Visitor, path: string, headers: Readonly<Record<string, string>> = {}) {
  const incoming = await open(url, { method: 'GET', path, headers: { host, ...headers } });
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: incoming.statusCode, headers: incoming.headers, bytes: Buffer.concat(chunks) };
}

/** Whatever a test needs no picture of its own for. */
export const PNG: Buffer = await plain('red').png().toBuffer();

/** Files that are no pictures to the service, by what is wrong with them. */
export const NO_PICTURES: Readonly<Record<string, Buffer>> = {
  empty: Buffer.alloc(0),
  text: Buffer.from('no picture'),
  'SVG, which can hold a program': Buffer.from(
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>',
  ),
  'half a picture': PNG.subarray(0, PNG.length / 2),
  'of a format nobody needs': await plain('red').tiff().toBuffer(),
  'a bomb: more points than memory': black(20_000),
};

/** A square PNG of one bit a point, made by hand: to draw one of this size takes sharp ten seconds. */
function black(side: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header[8] = 1;
  const rows = deflateSync(Buffer.alloc(side * (1 + side / 8)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

/** Part of a PNG: its length, its name, what it holds, and the checksum of the last two. */
export function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}
