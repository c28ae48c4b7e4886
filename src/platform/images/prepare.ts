import type { Sharp } from 'sharp';
import { ValidationError } from '../errors.ts';
import { BadImageError } from './errors.ts';
import { imageTypeOf, sharp } from './formats.ts';
import { ImageQueue } from './queue.ts';

/** An image as it is stored: encoded again, without any other data of the uploaded file. */
export interface PreparedImage {
  readonly mediaType: 'image/webp';
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A second version, also in WebP: a smaller avatar, or the first frame of an animated emoji. Null if there is none. */
  readonly reduced: Uint8Array<ArrayBuffer> | null;
}

/** The account of the user who uploads an image, and the maximum size of the upload. */
interface Upload {
  /** Id of the user who uploads the file. If a bot uploads it, the id of the bot's owner. */
  readonly account: number;
  /** Maximum size of the file, in MiB. A larger file is refused with `ValidationError`. */
  readonly limitMib: number;
}

/** Width and height of an avatar in pixels, in its two sizes. */
const AVATAR = { medium: 500, small: 100 } as const;
/** Width and height of a custom emoji in pixels. */
const EMOJI = 64;

/**
 * Maximum number of pixels in all frames together: more than a photograph of 5 MiB has. An image with more is refused with
 * `BadImageError`. Decoding so many pixels takes 100 MB of memory.
 */
const MAX_PIXELS = 25_000_000;
/**
 * Maximum width and height in pixels, the limits of WebP. A larger image is refused with `BadImageError`. Reducing an image of
 * 16,777,216 × 1 pixels takes seconds, though it has no more pixels than a photograph and its file can have 96 bytes.
 */
const MAX_SIDE = 16_383;
/**
 * Maximum number of frames of an animation, enough for ten seconds of film. An animation with more is refused with
 * `BadImageError`. The stored emoji has all frames of the uploaded file.
 */
const MAX_FRAMES = 250;
/**
 * Maximum time for decoding an image, in seconds: a hundred times as long as decoding a photograph takes. An image that takes
 * longer is refused with `BadImageError`.
 */
const MAX_SECONDS = 10;
/**
 * Options of WebP, which all clients can read. WebP is smaller than the other formats and supports transparency and animation.
 */
const FORMAT = { quality: 85, effort: 4 } as const;
/**
 * Maximum number of images that wait to be decoded: several seconds of work, and 100 MiB of files. Further images are refused
 * with `RequestTimeoutError`.
 */
const MAX_WAITING = 20;
/**
 * Maximum number of images of one account that wait to be decoded: as many as the account can have requests in progress.
 * Further images are refused with `RequestTimeoutError`.
 */
const MAX_WAITING_OF_ACCOUNT = 8;
const TRANSPARENT = { r: 0, g: 0, b: 0, alpha: 0 } as const;

/**
 * Converts a PNG, JPEG, WebP or GIF file to an avatar: a square from the middle of the upright image, in two sizes. Slow: do
 * not call it inside a transaction.
 *
 * @throws ValidationError if the file is larger than `limitMib`.
 * @throws BadImageError if the file is not such an image, or is too large to be decoded.
 * @throws RequestTimeoutError if too many images are waiting.
 */
export async function prepareAvatar(file: Uint8Array, { account, limitMib }: Upload): Promise<PreparedImage> {
  requireSize(file, limitMib);
  return inTurn(account, async () => {
    await framesOf(file);
    const bytes = await written(read(file).autoOrient().resize(AVATAR.medium, AVATAR.medium, { fit: 'cover' }));
    return { mediaType: 'image/webp', bytes, reduced: await written(read(bytes).resize(AVATAR.small, AVATAR.small)) };
  });
}

/**
 * Converts a PNG, JPEG, WebP or GIF file to an emoji: the whole image within a square. An animation stays animated, and
 * `reduced` is its first frame.
 *
 * @throws ValidationError if the file is larger than `limitMib`.
 * @throws BadImageError if the file is not such an image, is too large to be decoded, or has too many frames.
 * @throws RequestTimeoutError if too many images are waiting.
 */
export async function prepareEmoji(file: Uint8Array, { account, limitMib }: Upload): Promise<PreparedImage> {
  requireSize(file, limitMib);
  return inTurn(account, async () => {
    const pages = await framesOf(file);
    if (pages > MAX_FRAMES) throw new BadImageError(`The image has more than ${MAX_FRAMES} frames.`);
    const animated = pages > 1;
    const upright = animated ? read(file, { animated }) : read(file).autoOrient();
    const bytes = await written(upright.resize(EMOJI, EMOJI, { fit: 'contain', background: TRANSPARENT }));
    return { mediaType: 'image/webp', bytes, reduced: animated ? await written(read(bytes)) : null };
  });
}

function requireSize({ length }: Uint8Array, limitMib: number): void {
  if (length > limitMib * 1024 * 1024) {
    throw new ValidationError(`Uploaded file is larger than the allowed limit of ${limitMib} MiB`, {
      parameter: 'image',
    });
  }
}

/**
 * Returns the number of frames of an image, from its header.
 *
 * @throws BadImageError if a side is longer than `MAX_SIDE`.
 */
async function framesOf(file: Uint8Array): Promise<number> {
  const { width, height, pages = 1 } = await read(file).metadata();
  if (Math.max(width, height) > MAX_SIDE) {
    throw new BadImageError(`The image is wider or higher than ${MAX_SIDE.toLocaleString('en')} pixels.`);
  }
  return pages;
}

function read(file: Uint8Array, { animated = false } = {}): Sharp {
  if (imageTypeOf(file) === undefined) throw new BadImageError();
  return sharp(file, { animated, limitInputPixels: MAX_PIXELS, failOn: 'error' }).timeout({ seconds: MAX_SECONDS });
}

const written = async (image: Sharp): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await image.webp(FORMAT).toBuffer());

/** Queue of uploaded images that wait to be decoded. */
export const imageQueue = new ImageQueue({ ofAccount: MAX_WAITING_OF_ACCOUNT, total: MAX_WAITING });

/**
 * Decodes one image at a time: several large images at the same time would fill the memory.
 *
 * @throws RequestTimeoutError if too many images are waiting.
 * @throws BadImageError for every error of the library: it means that the file contains no readable image.
 */
export function inTurn<T>(account: number, work: () => Promise<T>): Promise<T> {
  return imageQueue.run(account, async () => {
    try {
      return await work();
    } catch (error) {
      throw error instanceof BadImageError ? error : new BadImageError();
    }
  });
}
