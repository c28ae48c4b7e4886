import { imageTypeOf } from '../../platform/images/formats.ts';

/** Number of bytes at the start of a file that `detectMediaType` needs. */
export const SNIFFED_BYTES = 4096;

/** Signatures of formats other than those in `imageTypeOf`, as patterns of the first bytes in Latin-1, in the order in which they are compared. */
const SIGNATURES: readonly (readonly [type: string, signature: RegExp])[] = [
  ['image/bmp', /^BM.{4}\0{4}/s],
  ['image/avif', /^.{4}ftypavi[fs]/s],
  ['image/heic', /^.{4}ftyp(?:hei[cxms]|hev[cxms]|mif1|msf1)/s],
  ['video/quicktime', /^.{4}ftypqt {2}/s],
  ['audio/mp4', /^.{4}ftypM4[AB] /s],
  ['video/mp4', /^.{4}ftyp(?:isom|iso[2-9]|mp4[12]|avc1|M4V |dash|3gp)/s],
  ['video/webm', /^.E\xdf\xa3.{0,64}webm/s],
  ['audio/mpeg', /^(?:ID3[^ -~]|\xff[\xfb\xf3\xf2])/],
  ['audio/aac', /^\xff[\xf1\xf9]/],
  ['audio/flac', /^fLaC/],
  ['audio/wav', /^RIFF.{4}WAVE/s],
  ['audio/ogg', /^OggS/],
  ['application/pdf', /^%PDF-/],
  ['application/zip', /^PK[^ -~]{2}/],
  ['application/gzip', /^.\x8b[^ -~]/s],
];

/** Matches control characters that no text file has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters distinguish binary files from texts.
const NOT_TEXT = /[\0-\x08\x0e-\x1a\x1c-\x1f]/;

/**
 * Returns the media type of a file by its first bytes. The name of the file and the type that the client declares are ignored:
 * a file that claims to be an image could be a page with scripts.
 *
 * @param start The first `SNIFFED_BYTES` bytes, or the whole file if it is shorter.
 * @returns `text/plain` for any text, also HTML and SVG, and `application/octet-stream` for unknown binary formats.
 */
export function detectMediaType(start: Uint8Array): string {
  const image = imageTypeOf(start);
  if (image !== undefined) return image;
  const head = Buffer.from(start.buffer, start.byteOffset, Math.min(start.length, SNIFFED_BYTES)).toString('latin1');
  const known = SIGNATURES.find(([, signature]) => signature.test(head));
  if (known !== undefined) return hasOnlySound(known[0], head) ? known[0].replace('video', 'audio') : known[0];
  return !NOT_TEXT.test(head) && isUtf8(start) ? 'text/plain' : 'application/octet-stream';
}

/**
 * Returns whether a file in a format of videos, such as a recording of a browser, has sound and no pictures. False if the list of
 * its tracks is not within the first bytes.
 *
 * @param head The first bytes in Latin-1.
 */
function hasOnlySound(type: string, head: string): boolean {
  if (type === 'video/mp4') {
    const tracks = movieBox(head);
    return /hdlr.{8}soun/s.test(tracks) && !/hdlr.{8}vide/s.test(tracks);
  }
  if (type !== 'video/webm') return false;
  const tracks = tracksElement(head);
  // Codec IDs begin with the kind of the track: https://www.matroska.org/technical/codec_specs.html
  return /\x86.A_/s.test(tracks) && !/\x86.V_/s.test(tracks);
}

/** Returns the box "moov" of an MP4 file. Empty if it is not complete. */
function movieBox(head: string): string {
  const start = head.indexOf('moov') - 4;
  if (start < 0) return '';
  const end = start + Buffer.from(head.slice(start, start + 4), 'latin1').readUInt32BE();
  return end <= head.length ? head.slice(start, end) : '';
}

/** Returns the content of the element "Tracks" of a WebM file. Empty if it is not complete. */
function tracksElement(head: string): string {
  // The index of the file ("SeekHead") also contains the ID of the element, after the bytes "S\xab\x84".
  const start = head.replace('S\xab\x84\x16T\xaek', '       ').indexOf('\x16T\xaek') + 4;
  if (start < 4) return '';
  // The number of leading zeros of the first byte is the number of further bytes of the length.
  const bytes = Buffer.from(head.slice(start, start + 8), 'latin1');
  const more = Math.clz32(bytes[0] ?? 0) - 24;
  if (more > 7 || bytes.length <= more) return '';
  const length = bytes.subarray(1, more + 1).reduce((sum, byte) => sum * 256 + byte, (bytes[0] ?? 0) & (0x7f >> more));
  const end = start + 1 + more + length;
  return end <= head.length ? head.slice(start, end) : '';
}

/** Returns whether bytes are UTF-8. The last character may be cut. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, SNIFFED_BYTES), { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Media types that browsers show without running scripts. All other files are downloaded. */
const SHOWN: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
  'video/mp4',
  'video/webm',
  'audio/mp4',
  'audio/mpeg',
  'audio/aac',
  'audio/flac',
  'audio/wav',
  'audio/webm',
  'audio/ogg',
  'text/plain',
]);

/** Returns whether a browser can show a file of this type, instead of downloading it. */
export const isShown = (mediaType: string): boolean => SHOWN.has(mediaType);
