import { ValidationError } from '../../platform/errors.ts';
import { shortValue } from '../../platform/validation.ts';

/** The colors for new subscriptions, in the order of their use. */
export const PALETTE = (
  '#76ce90 #fae589 #a6c7e5 #e79ab5 #bfd56f #f4ae55 #b0a5fd #addfe5 #f5ce6e #c2726a #94c849 #bd86e5 ' +
  '#ee7e4a #a6dcbf #95a5fd #53a063 #9987e1 #e4523d #c2c2c2 #4f8de4 #c6a8ad #e7cc4d #c8bebf #a47462'
).split(' ');

/**
 * Returns the first color of the palette that is not in `used`. If every color is in `used`, returns the colors in turn,
 * starting again from the first.
 */
export function nextColor(used: readonly string[]): string {
  const taken = new Set(used);
  return PALETTE.find((color) => !taken.has(color)) ?? (PALETTE[used.length % PALETTE.length] as string);
}

/**
 * Returns a color as stored: "#rrggbb" in lower case.
 *
 * @param color "#rgb" or "#rrggbb", in any case.
 * @param parameter Parameter with the color.
 * @throws ValidationError for any other format.
 */
export function requireColor(color: string, parameter = 'color'): string {
  if (!/^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(color)) {
    throw new ValidationError('color is not a valid hex color code', { parameter, value: shortValue(color) });
  }
  const digits = color.slice(1).toLowerCase();
  return `#${digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits}`;
}
