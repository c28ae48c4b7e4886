import sharp from 'sharp';

/** Signatures (first bytes) of the formats that uploads can have, by the name of the format in the library's loaders. */
const UPLOADS: Readonly<Record<string, RegExp>> = {
  Png: /^\x89PNG\r\n/,
  Jpeg: /^\xff\xd8\xff/,
  Webp: /^RIFF.{4}WEBP/s,
  Nsgif: /^GIF8[79]a/,
};
/** Length of the longest signature in `UPLOADS`, in bytes. */
const SIGNATURE_BYTES = 12;

// All other loaders of the library stay blocked. The SVG loader draws only images that the service itself makes.
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: [...Object.keys(UPLOADS), 'Svg'].map((format) => `VipsForeignLoad${format}Buffer`) });
// A cache in the library would not help: each upload is a new image, and callers cache the images that are drawn.
sharp.cache(false);

/**
 * Returns whether a file has the signature of a format that uploads can have. The library then uses the loader of this
 * format.
 */
export function isUploadFormat(file: Uint8Array): boolean {
  const start = Buffer.from(file.subarray(0, SIGNATURE_BYTES)).toString('latin1');
  return Object.values(UPLOADS).some((signature) => signature.test(start));
}

export { sharp };
