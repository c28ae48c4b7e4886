import { type RefObject, useEffect, useMemo } from 'react';
import type { Matches } from './use-timeline.ts';

/** Name of the CSS highlight of found words, as in `::highlight(found)` in the styles. */
const FOUND = 'found';
/** Maximum number of highlighted matches. Further matches are not highlighted. */
const MAX_MATCHES = 5_000;

type Match = Matches[number];

/**
 * The parts of a message row that can contain matches: CSS selectors, each with a function that returns the HTML of the part in
 * which the service has marked the matches.
 */
const PARTS: Readonly<Record<string, (match: Match) => string | null>> = {
  '.markdown': ({ highlightedContent }) => highlightedContent,
  '.place-line a:last-child': ({ highlightedTopicName }) => highlightedTopicName,
};

/**
 * Highlights the matches of a search in the message list, as the service marked them. New matches in a message that is edited
 * while it is shown are not highlighted. The document itself is not changed.
 *
 * @param matches Texts of the messages with marked matches.
 */
export function useFoundWords(list: RefObject<HTMLElement | null>, matches: Matches, version: unknown): void {
  const byMessage = useMemo(() => new Map(matches.map((match) => [match.node.id, match])), [matches]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new rows contain new text to search.
  useEffect(() => {
    const element = list.current;
    if (element === null || byMessage.size === 0 || !('highlights' in CSS)) return undefined;
    let frame = 0;
    const mark = () => {
      const found = new Highlight();
      for (const row of element.querySelectorAll<HTMLElement>('[data-id]')) {
        for (const range of rangesIn(row, byMessage.get(row.dataset['id'] ?? ''))) {
          if (found.size < MAX_MATCHES) found.add(range);
          else break;
        }
      }
      CSS.highlights.set(FOUND, found);
    };
    mark();
    // Opened spoilers and new rows change the text.
    const observer = new MutationObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(mark);
    });
    observer.observe(element, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
      CSS.highlights.delete(FOUND);
    };
  }, [list, byMessage, version]);
}

/** Yields the ranges of the matches in a message row. */
function* rangesIn(row: HTMLElement, match: Match | undefined): Generator<Range> {
  if (match === undefined) return;
  for (const [selector, pattern] of patternsOf(match)) {
    for (const text of [...row.querySelectorAll(selector)].flatMap(textsIn)) {
      for (const { 0: found, index } of text.data.matchAll(pattern)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + found.length);
        yield range;
      }
    }
  }
}

type Patterns = readonly (readonly [selector: string, pattern: RegExp])[];

const known = new WeakMap<Match, Patterns>();

/**
 * Returns a pattern of the marked words of each part of a message, with the CSS selector of the part. Omits parts without
 * marks.
 */
function patternsOf(match: Match): Patterns {
  const patterns =
    known.get(match) ??
    Object.entries(PARTS).flatMap(([selector, textOf]) => {
      const pattern = patternOf(textOf(match) ?? '');
      return pattern === undefined ? [] : [[selector, pattern] as const];
    });
  known.set(match, patterns);
  return patterns;
}

/** Returns a pattern that matches the marked words of an HTML text of the service. Undefined if no word is marked. */
function patternOf(html: string): RegExp | undefined {
  const marks = [...new DOMParser().parseFromString(html, 'text/html').querySelectorAll('span.highlight')];
  const sources = new Set(marks.map(sourceOf).filter((source) => source !== ''));
  const longestFirst = [...sources].toSorted((a, b) => b.length - a.length);
  return sources.size === 0 ? undefined : new RegExp(longestFirst.join('|'), 'gu');
}

/**
 * Returns the source of a regular expression that matches the text of a marked element. If the element contains a whole word,
 * only whole words match.
 */
function sourceOf(mark: Element): string {
  const text = (mark.textContent ?? '').replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  if (text === '') return '';
  const isWithin = { before: /[\p{L}\p{N}]$/u, after: /^[\p{L}\p{N}]/u };
  const before = isWithin.before.test(mark.previousSibling?.textContent ?? '') ? '' : '(?<![\\p{L}\\p{N}])';
  const after = isWithin.after.test(mark.nextSibling?.textContent ?? '') ? '' : '(?![\\p{L}\\p{N}])';
  return `${before}${text}${after}`;
}

function textsIn(element: Element): Text[] {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode() !== null) texts.push(walker.currentNode as Text);
  return texts;
}
