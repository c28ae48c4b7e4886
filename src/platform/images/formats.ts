import sharp from 'sharp';

/** A format that images can have: its media type, its signature (the first bytes), and its name in the library's loaders. */
interface ImageFormat {
  readonly mediaType: string;
  readonly signature: RegExp;
  readonly loader: string;
}

const FORMATS: readonly ImageFormat[] = [
  { mediaType: 'image/png', signature: /^\x89PNG\r\n/, loader: 'Png' },
  { mediaType: 'image/jpeg', signature: /^\xff\xd8\xff/, loader: 'Jpeg' },
  { mediaType: 'image/webp', signature: /^RIFF.{4}WEBP/s, loader: 'Webp' },
  { mediaType: 'image/gif', signature: /^GIF8[79]a/, loader: 'Nsgif' },
];
/** Length of the longest signature in `FORMATS`, in bytes. */
const SIGNATURE_BYTES = 12;

// All other loaders of the library stay blocked. The SVG loader draws only images that the service itself makes.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: [...FORMATS.map(({ loader }) => loader), 'Svg'].map((name) => `VipsForeignLoad${name}Buffer`),
});
// A cache in the library would not help: each upload is a new image, and callers cache the images that are drawn.
sharp.cache(false);

/**
 * Returns the media type of an image by its signature. The library then uses the loader of this format. Undefined if the file has
 * none of the formats that images can have.
 */
export function imageTypeOf(file: Uint8Array): string | undefined {
  const start = Buffer.from(file.subarray(0, SIGNATURE_BYTES)).toString('latin1');
  return FORMATS.find(({ signature }) => signature.test(start))?.mediaType;
}

export { sharp };
