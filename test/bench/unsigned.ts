/**
 * Replaces the signature in the URL of an image, because signatures differ between the compared responses. It has the length of
 * a signature.
 */
export const UNSIGNED = 'x'.repeat(22);

/** Returns a response without the signatures in its image URLs. */
export const withoutSignatures = (reply: string): string =>
  reply.replaceAll(/(\/avatar\/\d+\/)[\w-]{22}/g, `$1${UNSIGNED}`);
