/**
 * Returns an image file without the metadata that can contain a position or other private data: Exif, XMP, IPTC, comments and
 * further images behind the first one. The pixels, the color profile and the orientation stay as they are.
 *
 * @param file JPEG, PNG, WebP or GIF.
 * @param orientation Orientation in the Exif data, from 1 to 8. It is kept for JPEG and WebP.
 * @returns Undefined if the structure of the file is malformed.
 */
export function withoutPrivateMetadata(file: Uint8Array, orientation = 1): Uint8Array<ArrayBuffer> | undefined {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length);
  const parts = partsOf(bytes, orientation);
  return parts === undefined ? undefined : new Uint8Array(Buffer.concat(parts));
}

function partsOf(bytes: Buffer, orientation: number): Buffer[] | undefined {
  if (bytes.length < 12) return undefined;
  if (bytes.readUInt16BE(0) === 0xffd8) return jpegParts(bytes, orientation);
  if (bytes.readUInt32BE(0) === 0x89504e47) return pngParts(bytes);
  if (bytes.toString('latin1', 0, 4) === 'RIFF') return webpParts(bytes, orientation);
  return bytes.toString('latin1', 0, 3) === 'GIF' ? gifParts(bytes) : undefined;
}

/** Exif data that contains only an orientation: a big-endian TIFF with one entry. */
function exifOf(orientation: number): Buffer {
  const tiff = Buffer.alloc(26);
  tiff.write('MM\0*', 0, 'latin1');
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(0x0112, 10);
  tiff.writeUInt16BE(3, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  return tiff;
}

const isTurned = (orientation: number): boolean => orientation > 1 && orientation <= 8;

/**
 * Returns the segments of the first image in a JPEG file, without comments, and without application segments other than JFIF
 * (APP0), color profile (APP2 `ICC_PROFILE`) and Adobe (APP14). Adds an Exif segment with the orientation if needed.
 */
function jpegParts(bytes: Buffer, orientation: number): Buffer[] | undefined {
  const parts = [bytes.subarray(0, 2)];
  if (isTurned(orientation)) {
    const exif = Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), exifOf(orientation)]);
    const head = Buffer.from([0xff, 0xe1, 0, 0]);
    head.writeUInt16BE(exif.length + 2, 2);
    parts.push(head, exif);
  }
  let at = 2;
  while (at + 4 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] as number;
    if (marker === 0xff) {
      at++;
      continue;
    }
    if (marker === 0xd9) {
      parts.push(bytes.subarray(at, at + 2));
      return parts;
    }
    const length = bytes.readUInt16BE(at + 2);
    const end = at + 2 + length;
    if (length < 2 || end > bytes.length) return undefined;
    const segment = bytes.subarray(at, end);
    if (isKeptInJpeg(marker, segment)) parts.push(segment);
    at = end;
    if (marker === 0xda) {
      // Entropy-coded data. It ends at the next marker that is neither an escaped byte nor a restart marker.
      const start = at;
      while (at < bytes.length) {
        at = bytes.indexOf(0xff, at);
        if (at === -1) at = bytes.length;
        const next = bytes[at + 1] ?? 0xd9;
        if (next !== 0 && !(next >= 0xd0 && next <= 0xd7) && next !== 0xff) break;
        at += next === 0xff ? 1 : 2;
      }
      parts.push(bytes.subarray(start, Math.min(at, bytes.length)));
    }
  }
  parts.push(Buffer.from([0xff, 0xd9]));
  return parts;
}

function isKeptInJpeg(marker: number, segment: Buffer): boolean {
  if (marker === 0xfe) return false;
  if (marker < 0xe0 || marker > 0xef) return true;
  if (marker === 0xe0) return segment.toString('latin1', 4, 8) === 'JFIF';
  if (marker === 0xe2) return segment.toString('latin1', 4, 15) === 'ICC_PROFILE';
  return marker === 0xee && segment.toString('latin1', 4, 9) === 'Adobe';
}

/** Chunks of PNG without private data: those that determine the pixels, the colors, the size and the animation. */
const PNG_CHUNKS = new Set(
  'IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP bKGD pHYs acTL fcTL fdAT'.split(' '),
);

function pngParts(bytes: Buffer): Buffer[] | undefined {
  const parts = [bytes.subarray(0, 8)];
  for (let at = 8; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end > bytes.length) return undefined;
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (PNG_CHUNKS.has(type)) parts.push(bytes.subarray(at, end));
    if (type === 'IEND') return parts;
    at = end;
  }
  return undefined;
}

const WEBP_CHUNKS = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);
/** Flags of the extended header of WebP that say whether the file has Exif and XMP. */
const WEBP_EXIF = 0x08;
const WEBP_XMP = 0x04;

function webpParts(bytes: Buffer, orientation: number): Buffer[] | undefined {
  const chunks: Buffer[] = [];
  let isExtended = false;
  const total = Math.min(bytes.length, 8 + bytes.readUInt32LE(4));
  for (let at = 12; at + 8 <= total; ) {
    const length = bytes.readUInt32LE(at + 4);
    const end = at + 8 + length + (length % 2);
    if (at + 8 + length > bytes.length) return undefined;
    const type = bytes.toString('latin1', at, at + 4);
    if (WEBP_CHUNKS.has(type)) {
      const chunk = Buffer.from(bytes.subarray(at, Math.min(end, bytes.length)));
      if (type === 'VP8X') {
        isExtended = true;
        const flags = (chunk[8] ?? 0) & ~(WEBP_EXIF | WEBP_XMP);
        chunk[8] = isTurned(orientation) ? flags | WEBP_EXIF : flags;
      }
      chunks.push(chunk);
    }
    at = end;
  }
  if (chunks.length === 0) return undefined;
  if (isExtended && isTurned(orientation)) {
    const exif = exifOf(orientation);
    const head = Buffer.from('EXIF\0\0\0\0', 'latin1');
    head.writeUInt32LE(exif.length, 4);
    chunks.push(head, exif);
  }
  const body = Buffer.concat(chunks);
  const head = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1');
  head.writeUInt32LE(body.length + 4, 4);
  return [head, body];
}

/** Length of a color table in a GIF, by the flags of its descriptor. */
const tableLength = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1));

/** Returns the blocks of a GIF file, without comments and application data other than the number of repetitions. */
function gifParts(bytes: Buffer): Buffer[] | undefined {
  if (bytes.length < 14) return undefined;
  let at = 13 + tableLength(bytes[10] as number);
  const parts = [bytes.subarray(0, at)];
  const skipBlocks = (from: number): number => {
    let end = from;
    while (end < bytes.length && bytes[end] !== 0) end += 1 + (bytes[end] as number);
    return end + 1;
  };
  while (at < bytes.length) {
    const start = at;
    const kind = bytes[at];
    if (kind === 0x3b) {
      parts.push(bytes.subarray(at, at + 1));
      return parts;
    }
    if (kind === 0x21) {
      const label = bytes[at + 1];
      at = skipBlocks(at + 2);
      const isLoop =
        label === 0xff && /^(?:NETSCAPE2\.0|ANIMEXTS1\.0)$/.test(bytes.toString('latin1', start + 3, start + 14));
      if (label === 0xf9 || isLoop) parts.push(bytes.subarray(start, at));
    } else if (kind === 0x2c) {
      at = skipBlocks(at + 10 + tableLength(bytes[at + 9] ?? 0) + 1);
      parts.push(bytes.subarray(start, at));
    } else return undefined;
    if (at > bytes.length) return undefined;
  }
  parts.push(Buffer.from([0x3b]));
  return parts;
}
