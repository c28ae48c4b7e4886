import { type RefObject, useEffect } from 'react';

/** The name of the marks: `::highlight(found)` in the styles. */
const FOUND = 'found';
/** What English words end in: as far as one gets without a dictionary. */
const ENDINGS = /(?:ations?|ings?|ers?|ed|es|ly|[se])$/;
/** What is left of a word is still one. */
const SHORTEST = 3;

/**
 * Marks the words that were looked for in what is shown, in any of their forms, and what stood in quotes as it stands. The
 * service says which messages it found, not where in them: the forms are the page's guess. The text stays as it is.
 *
 * @param version Changes with the list.
 */
export function useFoundWords(
  list: RefObject<HTMLElement | null>,
  words: readonly string[] | undefined,
  version: unknown,
): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the list brings other text to look through.
  useEffect(() => {
    const element = list.current;
    if (element === null || words === undefined || words.length === 0 || !('highlights' in CSS)) return undefined;
    const find = finderOf(words);
    const mark = () => {
      const texts = [...element.querySelectorAll('.markdown, .place-line')].flatMap(textsIn);
      CSS.highlights.set(FOUND, new Highlight(...texts.flatMap(find)));
    };
    mark();
    // Edits, and what unfolds.
    const observer = new MutationObserver(mark);
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      CSS.highlights.delete(FOUND);
    };
  }, [list, words, version]);
}

const WORD = /[\p{L}\p{N}]+/gu;

/** @param words A text of several words stood in quotes. */
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
