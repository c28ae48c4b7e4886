import { defineError } from '../errors.ts';

/** Thrown if an uploaded file is not a readable image. */
export class BadImageError extends defineError('BAD_IMAGE', (text?: string) => ({
  message: text ?? 'Could not decode image; did you upload an image file?',
  parameter: 'image',
})) {}
