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
  if (known !== undefined) return known[0];
  return !NOT_TEXT.test(head) && isUtf8(start) ? 'text/plain' : 'application/octet-stream';
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
  'audio/ogg',
  'text/plain',
]);

/** Returns whether a browser can show a file of this type, instead of downloading it. */
export const isShown = (mediaType: string): boolean => SHOWN.has(mediaType);
