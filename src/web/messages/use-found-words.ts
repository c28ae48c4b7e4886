import { type RefObject, useEffect } from 'react';

/** Name of the highlight, as in `::highlight(found)` in the styles. */
const FOUND = 'found';
/** Endings of English words: an approximate stemming without a dictionary. */
const ENDINGS = /(?:ations?|ings?|ers?|ed|es|ly|[se])$/;
/** Length of the shortest stem. */
const SHORTEST = 3;

/**
 * Highlights the words of a search in the list, in any of their forms, and quoted texts literally. The service returns the
 * matching messages but not the positions, so the forms are a guess. The document itself is not changed.
 *
 * @param version A value that changes whenever the rows of the list change.
 */
export function useFoundWords(
  list: RefObject<HTMLElement | null>,
  words: readonly string[] | undefined,
  version: unknown,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows contain new text to search.
  useEffect(() => {
    const element = list.current;
    if (element === null || words === undefined || words.length === 0 || !('highlights' in CSS)) return undefined;
    const find = finderOf(words);
    const mark = () => {
      const texts = [...element.querySelectorAll('.markdown, .place-line')].flatMap(textsIn);
      CSS.highlights.set(FOUND, new Highlight(...texts.flatMap(find)));
    };
    mark();
    // Edits and opened spoilers change the text.
    const observer = new MutationObserver(mark);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      CSS.highlights.delete(FOUND);
    };
  }, [list, words, version]);
}

const WORD = /[\p{L}\p{N}]+/gu;

/** Returns a function that finds the words in a text node. @param words Entries with white space are quoted texts. */
function finderOf(words: readonly string[]): (text: Text) => Range[] {
  const [literals, single] = [words.filter((word) => /\s/.test(word)), words.filter((word) => !/\s/.test(word))];
  const stems = new Set(single.flatMap((word) => word.match(WORD) ?? []).map(stemOf));
  return (text) => {
    const lower = text.data.toLowerCase();
    const asTheyStand = literals.flatMap((literal) => placesOf(lower, literal.toLowerCase()));
    const inAnyForm = [...text.data.matchAll(WORD)]
      .filter(([word]) => stems.has(stemOf(word)))
      .map(({ 0: word, index }) => [index, index + word.length] as const);
    return [...asTheyStand, ...inAnyForm].map(([start, end]) => {
      const range = document.createRange();
      range.setStart(text, start);
      range.setEnd(text, end);
      return range;
    });
  };
}

function stemOf(word: string): string {
  const lower = word.toLowerCase().replace(/(?:ies|y)$/, 'i');
  const stem = lower.replace(ENDINGS, '');
  return stem.length < SHORTEST ? lower : stem;
}

function placesOf(text: string, wanted: string): (readonly [start: number, end: number])[] {
  const places: (readonly [number, number])[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
    places.push([at, at + wanted.length]);
  }
  return places;
}

function textsIn(element: Element): Text[] {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode() !== null) texts.push(walker.currentNode as Text);
  return texts;
}
