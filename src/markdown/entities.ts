import { decodeEntity } from './blocks.ts';
import type { Inline } from './inline-text.ts';

const ENTITY = /&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[a-zA-Z][\da-zA-Z]{1,31});/g;

/** Replaces HTML entities in a text by placeholders, so that the rendered HTML contains the entities unescaped. */
export function entities(inline: Inline, text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(ENTITY, (source) => {
    const character = decodeEntity(source);
    // If a text decodes to itself, it is not an entity. HTML has no entities for control characters.
    return character === source || character < ' ' ? source : inline.keep(source, source);
  });
}

/** Replaces HTML entities in a text by the characters for which they stand. */
export const withoutEntities = (text: string): string =>
  text.includes('&') ? text.replace(ENTITY, decodeEntity) : text;
