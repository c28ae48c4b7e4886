/**
 * Text that replaces the signature in the URL of an image, because signatures differ between the compared responses. It is as
 * long as a signature.
 */
export const UNSIGNED = 'x'.repeat(22);

/** Returns a response in which the signatures of image URLs are replaced. */
export const withoutSignatures = (reply: string): string =>
  reply.replaceAll(/(\/avatar\/\d+\/)[\w-]{22}/g, `$1${UNSIGNED}`);
