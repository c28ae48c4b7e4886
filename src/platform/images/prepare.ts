import sharp, { type Sharp } from 'sharp';
import { BadRequestError, RequestTimeoutError } from '../errors.ts';
import { BadImageError } from './errors.ts';

/** An image as it is stored: nothing of the file it was made from is left but what it shows. */
export interface PreparedImage {
  readonly mediaType: 'image/webp';
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A smaller or calmer form, in the same format; null where there is none. */
  readonly reduced: Uint8Array<ArrayBuffer> | null;
}

/** Pixels of an avatar, in its two sizes. */
const AVATAR = { medium: 500, small: 100 } as const;
/** Pixels. */
const EMOJI = 64;

/** Our choice: more than any camera's picture of 5 MiB has, and 100 MB of memory while it is read. All frames count. */
const MAX_PIXELS = 25_000_000;
/** Our choice: ten seconds of a film; each is kept. */
const MAX_FRAMES = 250;
/** Our choice: a hundred times what a photograph takes. */
const MAX_SECONDS = 10;
/** Our choice: WebP is read everywhere, is smaller than the others, and has both transparency and animation. */
const FORMAT = { quality: 85, effort: 4 } as const;
/** Our choice: some seconds of work, and 100 MiB of files that wait for it. */
const MAX_WAITING = 20;
const TRANSPARENT = { r: 0, g: 0, b: 0, alpha: 0 } as const;
/** Of the formats that browsers show: no other reader of the library ever sees an upload, that of SVG above all. */
const READERS = ['Png', 'Jpeg', 'Webp', 'Nsgif'].map((format) => `VipsForeignLoad${format}Buffer`);

sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: READERS });
// What is uploaded differs each time.
sharp.cache(false);

/**
 * Makes an avatar of a PNG, JPEG, WebP or GIF file: a square from its middle, upright, in two sizes. Slow, so not for a
 * transaction.
 *
 * @param limitMib The largest file taken.
 * @throws BadRequestError when the file is larger.
 * @throws BadImageError when it is no such image, or one that is too large to be read.
 * @throws RequestTimeoutError when too many wait to be read already.
 */
export async function prepareAvatar(file: Uint8Array, limitMib: number): Promise<PreparedImage> {
  requireSize(file, limitMib);
  return inTurn(async () => {
    const bytes = await written(read(file).autoOrient().resize(AVATAR.medium, AVATAR.medium, { fit: 'cover' }));
    return { mediaType: 'image/webp', bytes, reduced: await written(read(bytes).resize(AVATAR.small, AVATAR.small)) };
  });
}

/**
 * Makes an emoji of a PNG, JPEG, WebP or GIF file: all of it within a square. An animated one stays so, and has its first
 * frame beside it.
 *
 * @param limitMib The largest file taken.
 * @throws BadRequestError when the file is larger.
 * @throws BadImageError when it is no such image, or one that is too large to be read.
 * @throws RequestTimeoutError when too many wait to be read already.
 */
export async function prepareEmoji(file: Uint8Array, limitMib: number): Promise<PreparedImage> {
  requireSize(file, limitMib);
  return inTurn(async () => {
    const { pages = 1 } = await read(file).metadata();
    if (pages > MAX_FRAMES) throw new BadImageError(`The image has more than ${MAX_FRAMES} frames.`);
    const animated = pages > 1;
    const upright = animated ? read(file, { animated }) : read(file).autoOrient();
    const bytes = await written(upright.resize(EMOJI, EMOJI, { fit: 'contain', background: TRANSPARENT }));
    return { mediaType: 'image/webp', bytes, reduced: animated ? await written(read(bytes)) : null };
  });
}

function requireSize({ length }: Uint8Array, limitMib: number): void {
  if (length > limitMib * 1024 * 1024) {
    throw new BadRequestError(`Uploaded file is larger than the allowed limit of ${limitMib} MiB`);
  }
}

const read = (file: Uint8Array, { animated = false } = {}): Sharp =>
  sharp(file, { animated, limitInputPixels: MAX_PIXELS, failOn: 'error' }).timeout({ seconds: MAX_SECONDS });

const written = async (image: Sharp): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await image.webp(FORMAT).toBuffer());

let last: Promise<unknown> = Promise.resolve();
let waiting = 0;

/**
 * One image at a time: many large ones at once would fill the memory, as would the files of all who wait.
 *
 * @throws RequestTimeoutError when too many wait already.
 * @throws BadImageError for whatever the library throws: it means that there is no image.
 */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (waiting >= MAX_WAITING) throw new RequestTimeoutError();
  waiting++;
  const done = last.then(work);
  last = done.catch(() => undefined);
  try {
    return await done;
  } catch (error) {
    throw error instanceof BadImageError ? error : new BadImageError();
  } finally {
    waiting--;
  }
}
