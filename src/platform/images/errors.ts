import { defineError } from '../errors.ts';

/** An uploaded file is no image that can be read. */
export class BadImageError extends defineError('BAD_IMAGE', (text?: string) => ({
  message: text ?? 'Could not decode image; did you upload an image file?',
})) {}
