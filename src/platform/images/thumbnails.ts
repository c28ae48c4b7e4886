import { BadImageError } from './errors.ts';
import { imageTypeOf, sharp } from './formats.ts';
import { withoutPrivateMetadata } from './metadata.ts';
import { imageQueue } from './prepare.ts';

/** A format in which the service stores thumbnails of uploaded images. Its name is the last segment of their addresses. */
export interface ThumbnailFormat {
  readonly name: string;
  /** Maximum width and height in pixels. Smaller images keep their size. */
  readonly maxWidth: number;
  readonly maxHeight: number;
  /** Whether the thumbnail has all frames of an animated image. Such a thumbnail exists only for animated images. */
  readonly animated: boolean;
}

/** The formats of thumbnails, all in WebP. */
export const THUMBNAILS = [
  { name: '840x560.webp', maxWidth: 840, maxHeight: 560, animated: false },
  { name: '840x560-anim.webp', maxWidth: 840, maxHeight: 560, animated: true },
  { name: '300x200.webp', maxWidth: 300, maxHeight: 200, animated: false },
] as const satisfies readonly ThumbnailFormat[];

/** Name of the format that messages show. */
export const PREVIEW_FORMAT = '840x560.webp';
/** Name of the format that messages show for animated images. */
export const ANIMATED_PREVIEW_FORMAT = '840x560-anim.webp';

/** Maximum size of a file that is decoded, in bytes. Larger images are stored as other files: without a thumbnail. */
export const MAX_DECODED_BYTES = 25 * 1024 * 1024;
/**
 * Maximum number of pixels of an image with one frame: twice those of the largest camera phones. Rows of the image are decoded
 * one after another, and JPEG files at a reduced size, so that memory does not grow with this number.
 */
const MAX_PIXELS = 200_000_000;
/** Maximum number of pixels in all frames of an animation. All of its frames are in memory: 100 MB. */
const MAX_ANIMATED_PIXELS = 25_000_000;
/** Maximum number of frames that a thumbnail has. Longer animations have a thumbnail of their first frame only. */
const MAX_FRAMES = 250;
/** Maximum width and height of an image in pixels. Reducing a longer image takes seconds, even if its file is tiny. */
const MAX_SIDE = 30_000;
const MAX_SECONDS = 10;
const FORMAT = { quality: 80, effort: 3 } as const;

/** An uploaded image that was decoded. */
export interface PreparedUpload {
  /** The file without private metadata. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Width and height in pixels, after the rotation that the Exif orientation requires. */
  readonly width: number;
  readonly height: number;
  readonly isAnimated: boolean;
  readonly thumbnails: readonly { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> }[];
}

/**
 * Decodes an uploaded image, removes its private metadata and makes its thumbnails. Slow: do not call it inside a transaction.
 *
 * @param readFile Reads the file. Called when it is the turn of the image, so that waiting images are not in memory.
 * @param account Id of the user whose use of the queue is counted.
 * @returns Undefined if the file is not a readable PNG, JPEG, WebP or GIF image, or is too large to be decoded.
 * @throws RequestTimeoutError if too many images are waiting.
 */
export function prepareUpload(
  readFile: () => Promise<Uint8Array>,
  account: number,
): Promise<PreparedUpload | undefined> {
  return imageQueue.run(account, async () => {
    const file = await readFile();
    if (imageTypeOf(file) === undefined || file.length > MAX_DECODED_BYTES) return undefined;
    // Every error of the library means that the file contains no readable image.
    return prepare(file).catch(() => undefined);
  });
}

const read = (file: Uint8Array, animated = false) =>
  sharp(file, { animated, limitInputPixels: animated ? MAX_ANIMATED_PIXELS : MAX_PIXELS, failOn: 'error' }).timeout({
    seconds: MAX_SECONDS,
  });

async function prepare(file: Uint8Array): Promise<PreparedUpload> {
  const given = await read(file).metadata();
  const bytes = withoutPrivateMetadata(file, given.orientation);
  if (bytes === undefined) throw new BadImageError();
  const { width: stored, height: high, pages = 1, orientation = 1 } = await read(bytes).metadata();
  if (Math.max(stored, high) > MAX_SIDE) throw new BadImageError();
  const isTurned = orientation >= 5;
  const [width, height] = isTurned ? [high, stored] : [stored, high];
  const isAnimated = pages > 1 && pages <= MAX_FRAMES && width * height * pages <= MAX_ANIMATED_PIXELS;
  const thumbnails: { name: string; bytes: Uint8Array<ArrayBuffer> }[] = [];
  for (const { name, maxWidth, maxHeight, animated } of THUMBNAILS) {
    if (animated && !isAnimated) continue;
    const upright = animated ? read(bytes, true) : read(bytes).autoOrient();
    const size = { width: maxWidth, height: maxHeight, fit: 'inside', withoutEnlargement: true } as const;
    thumbnails.push({ name, bytes: new Uint8Array(await upright.resize(size).webp(FORMAT).toBuffer()) });
  }
  return { bytes, width, height, isAnimated, thumbnails };
}
