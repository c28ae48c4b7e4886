import { decodeEntity } from './blocks.ts';
import type { Inline } from './inline-text.ts';

const ENTITY = /&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][\da-zA-Z]{1,31});/g;

/** HTML entities stay entities. */
export function entities(inline: Inline, text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(ENTITY, (source) => {
    const character = decodeEntity(source);
    // What decodes to itself is no entity; control characters are none that HTML knows.
    return character === source || character < ' ' ? source : inline.keep(source, source);
  });
}

/** The text that is meant where entities stand for characters. */
export const withoutEntities = (text: string): string =>
  text.includes('&') ? text.replace(ENTITY, decodeEntity) : text;
