import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { animation, chunk, NO_PICTURES, PNG, plain } from '../helpers/pictures.ts';
import type { Dice } from './dice.ts';

const size = { width: 24, height: 16 };

/** Small images, one or more of every accepted format. They are small because tens of thousands are processed. */
const PICTURES: readonly Buffer[] = [
  PNG,
  await plain('teal', size).png({ palette: true }).toBuffer(),
  await plain('teal', size)
    .jpeg()
    .withExif({ IFD0: { Copyright: 'x'.repeat(500) } })
    .toBuffer(),
  await plain('teal', size).webp({ lossless: true }).toBuffer(),
  await animation(['red', 'green', 'blue'], size),
  await animation(['red', 'green'], { width: 1, height: 1 }),
];

const OTHERS: readonly Buffer[] = [
  ...Object.values(NO_PICTURES).filter(({ length }) => length < 100_000),
  gzipSync(Buffer.alloc(1_000_000)),
  Buffer.from('PK\x03\x04\x14\0\0\0\x08\0', 'latin1'),
  Buffer.from('%PDF-1.7\n1 0 obj\n<<>>\nendobj'),
  Buffer.from('<!doctype html><script>alert(1)</script>'),
  Buffer.from('\0\0\0\x20ftypavif\0\0\0\0avifmif1', 'latin1'),
  Buffer.from('BM\xff\xff\xff\x7f', 'latin1'),
  Buffer.from('GIF89a'),
  Buffer.from('RIFF\xff\xff\xff\xffWEBPVP8X', 'latin1'),
  Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
];

/** Widths and heights at the limits of integer types. The product of some exceeds 32 bits. */
const SIDES = [0, 1, 2 ** 14, 2 ** 16 - 1, 2 ** 16, 2 ** 24, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];

/** Returns a valid image or, less often, bytes that resemble an image. */
export function picture(dice: Dice): Buffer {
  const good = dice.pick(PICTURES);
  return dice.weighted<() => Buffer>([
    [55, () => good],
    [12, () => flipped(good, dice)],
    [6, () => good.subarray(0, dice.int(0, good.length))],
    [4, () => spliced(good, dice)],
    [4, () => Buffer.concat([good, dice.pick([...OTHERS, ...PICTURES])])],
    [3, () => Buffer.concat([dice.pick(OTHERS), good])],
    [5, () => withSides(good, dice)],
    [4, () => withMetadata(dice)],
    [1, () => manyFrames(dice.pick([100, 249, 251, 2_000]))],
    [6, () => dice.pick(OTHERS)],
  ])();
}

function flipped(good: Buffer, dice: Dice): Buffer {
  const bytes = Buffer.from(good);
  for (let i = dice.int(1, 5); i > 0; i--) bytes[dice.int(0, bytes.length)] = dice.int(0, 256);
  return bytes;
}

function spliced(good: Buffer, dice: Dice): Buffer {
  const [from, to] = [dice.int(0, good.length), dice.int(0, good.length)];
  return Buffer.concat([good.subarray(0, from), good.subarray(to)]);
}

/** Returns the image with another width and height in its header, and with unchanged image data. */
function withSides(good: Buffer, dice: Dice): Buffer {
  const bytes = Buffer.from(good);
  const [width, height] = [dice.pick(SIDES), dice.pick(SIDES)];
  if (bytes.subarray(1, 4).equals(Buffer.from('PNG'))) {
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29);
  } else if (bytes.subarray(0, 3).equals(Buffer.from('GIF'))) {
    bytes.writeUInt16LE(width & 0xffff, 6);
    bytes.writeUInt16LE(height & 0xffff, 8);
  } else if (bytes.subarray(0, 4).equals(Buffer.from('RIFF'))) {
    bytes.writeUInt32LE(dice.number() >>> 0, dice.pick([4, 16, 21]));
  } else {
    const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]));
    bytes.writeUInt16BE(height & 0xffff, frame + 5);
    bytes.writeUInt16BE(width & 0xffff, frame + 7);
  }
  return bytes;
}

/** Uncompressed bytes that precede the compressed data of a PNG chunk, by chunk type. */
const HEADS: Readonly<Record<string, string>> = { zTXt: 'Comment\0\0', iTXt: 'Comment\0\x01\0\0\0', iCCP: 'icc\0\0' };

/**
 * Returns a small PNG with a chunk that decompresses to `length` zeros. Compressed, it has about a thousandth of that length.
 * @param kind Type of the chunk.
 */
export function bloatedPng(kind: string, length: number): Buffer {
  return withPart(chunk(kind, Buffer.concat([Buffer.from(HEADS[kind] ?? ''), deflateSync(Buffer.alloc(length))])));
}

/** Returns the image `PNG` with a chunk inserted after its header, which is 33 bytes long. */
const withPart = (part: Buffer): Buffer => Buffer.concat([PNG.subarray(0, 33), part, PNG.subarray(33)]);

/** Returns a PNG with large or invalid metadata, some of it highly compressed. */
function withMetadata(dice: Dice): Buffer {
  if (dice.chance(0.4)) return bloatedPng(dice.pick(Object.keys(HEADS)), dice.pick([1_000, 4_000_000]));
  const extra = dice.pick([
    () => chunk('tEXt', Buffer.concat([Buffer.from('Comment\0'), Buffer.alloc(200_000, 'x')])),
    () => chunk('eXIf', Buffer.from(dice.text())),
    () => chunk('acTL', Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])),
    () => Buffer.concat(Array.from({ length: 2_000 }, () => chunk('tEXt', Buffer.from('a\0b')))),
    () => chunk(dice.pick(['IDAT', 'IHDR', 'PLTE', 'tRNS', 'gAMA', 'abcd']), Buffer.from(dice.text())),
  ])();
  return withPart(extra);
}

/** Returns a GIF with `count` frames of one pixel each. */
export function manyFrames(count: number): Buffer {
  const head = Buffer.from('GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  const one = Buffer.from('!\xf9\x04\0\x01\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0', 'latin1');
  return Buffer.concat([head, ...Array.from({ length: count }, () => one), Buffer.from(';')]);
}
