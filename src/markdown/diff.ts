import { align, BUDGET_STEPS, type Budget, pairElements } from './alignment.ts';
import { type HtmlContent, type HtmlElement, type HtmlUnit, readHtml } from './html-units.ts';

type Mark = 'inserted' | 'deleted';

/** Elements that may hold nothing but others of their kind: no span may stand between them. */
const STRUCTURES = new Set('ul ol table thead tbody tr'.split(' '));
/** The parts of a structure that hold text. */
const CELLS = new Set('li th td'.split(' '));
/** The parts of a table that count as new or gone when all their cells do. */
const GROUPS = new Set('tr thead tbody'.split(' '));

/**
 * The difference of two renderings of a message: what is new stands in `<span class="highlight_text_inserted">`, what
 * is gone in `<span class="highlight_text_deleted">`, everything else is there once.
 *
 * A span holds words or whole elements. Only in lists and tables, which take no spans, a new item or cell holds one
 * span with all that is in it, and a new row or table part holds new cells only; likewise what is gone.
 *
 * So `before` is what remains of the difference when these are taken out, in this order: list items, cells and then
 * rows and table parts that hold nothing but one inserted span, or nothing but such parts, each with the white space
 * after it; the other inserted spans with their content; the tags of the deleted spans. And `after` the other way.
 *
 * @param before HTML of our own renderer, as is `after`.
 * @returns HTML as well formed as both; the work is bounded whatever they have in common.
 */
export function htmlDiff(before: string, after: string): string {
  if (before === after) return before;
  const [old, now] = [readHtml(before), readHtml(after)];
  const out = new Output();
  if (old && now) diffContent(old, now, out, { steps: BUDGET_STEPS });
  else out.edit(before, after);
  return out.html();
}

/** A difference in the making. Neighbouring changes become one deletion and one insertion. */
class Output {
  #written = '';
  #deleted = '';
  #inserted = '';

  keep(html: string): void {
    if (html === '') return;
    this.#flush();
    this.#written += html;
  }

  edit(before: string, after: string): void {
    if (before === after && this.#deleted === '' && this.#inserted === '') this.keep(before);
    else {
      this.#deleted += before;
      this.#inserted += after;
    }
  }

  html(): string {
    this.#flush();
    return this.#written;
  }

  /** White space that both end with stays outside. */
  #flush(): void {
    const [gone, rest] = splitTail(this.#deleted);
    const [come, sameRest] = splitTail(this.#inserted);
    const shared = rest === sameRest;
    const [deleted, inserted] = shared ? [gone, come] : [this.#deleted, this.#inserted];
    if (deleted !== '') this.#written += span('deleted', deleted);
    if (inserted !== '') this.#written += span('inserted', inserted);
    if (shared) this.#written += rest;
    this.#deleted = '';
    this.#inserted = '';
  }
}

function splitTail(html: string): [string, string] {
  const text = html.trimEnd();
  return [text, html.slice(text.length)];
}

function span(mark: Mark, html: string): string {
  return `<span class="highlight_text_${mark}">${html}</span>`;
}

function diffContent(before: HtmlContent, after: HtmlContent, out: Output, budget: Budget): void {
  out.edit(before.head, after.head);
  for (const { same, old, new: now } of align(before.units, after.units, budget)) {
    if (same) {
      old.forEach(({ html, tail }, i) => {
        out.keep(html);
        out.edit(tail, now[i]?.tail ?? '');
      });
      continue;
    }
    for (const { gone, come, pair } of stretches(old, now, budget)) {
      out.edit(htmlOf(gone), htmlOf(come));
      if (!pair) continue;
      const [a, b] = pair;
      const changed = diffElement(a.element, b.element, budget);
      if (changed === undefined) {
        out.edit(a.html + a.tail, b.html + b.tail);
      } else {
        out.keep(changed);
        out.edit(a.tail, b.tail);
      }
    }
  }
}

function htmlOf(units: readonly HtmlUnit[]): string {
  return units.map(({ html, tail }) => html + tail).join('');
}

type ElementUnit = HtmlUnit & { readonly element: HtmlElement };

interface Stretch {
  readonly gone: readonly HtmlUnit[];
  readonly come: readonly HtmlUnit[];
  /** An element that comes after these and what became of it; only the last stretch may be without. */
  readonly pair?: readonly [ElementUnit, ElementUnit];
}

function* stretches(old: readonly HtmlUnit[], now: readonly HtmlUnit[], budget: Budget): Generator<Stretch> {
  let [i, j] = [0, 0];
  for (const [k, l] of pairElements(old, now, budget)) {
    const [a, b] = [old[k], now[l]];
    if (!isElement(a) || !isElement(b)) continue;
    yield { gone: old.slice(i, k), come: now.slice(j, l), pair: [a, b] };
    [i, j] = [k + 1, l + 1];
  }
  yield { gone: old.slice(i), come: now.slice(j) };
}

function isElement(unit: HtmlUnit | undefined): unit is ElementUnit {
  return unit?.element !== undefined;
}

/** @returns undefined when no difference within the element would say what became of it. */
function diffElement(before: HtmlElement, after: HtmlElement, budget: Budget): string | undefined {
  const content = STRUCTURES.has(before.name)
    ? diffStructure(before, after, budget)
    : diffPhrases(before, after, budget);
  return content === undefined ? undefined : before.open + content + before.close;
}

function diffPhrases(before: HtmlElement, after: HtmlElement, budget: Budget): string {
  const out = new Output();
  diffContent(before.content, after.content, out, budget);
  const content = out.html();
  if (!CELLS.has(before.name)) return content;
  // A cell that was empty would pass for a new one: the empty span says that it was there.
  if (isEmpty(before)) return span('deleted', '') + content;
  return isEmpty(after) ? content + span('inserted', '') : content;
}

function isEmpty({ content }: HtmlElement): boolean {
  return content.head === '' && content.units.length === 0;
}

function diffStructure(before: HtmlElement, after: HtmlElement, budget: Budget): string | undefined {
  if (before.content.head !== after.content.head) return undefined;
  const parts: (string | undefined)[] = [before.content.head];
  const seen = { kept: 0, inserted: 0, deleted: 0 };
  const marked = (mark: Mark, units: readonly HtmlUnit[]) => {
    seen[mark] += units.length;
    parts.push(...units.map((unit) => markPart(unit, mark)));
  };
  const pairOf = (a: HtmlUnit, b: HtmlUnit) => {
    const changed = a.tail !== b.tail ? undefined : a.html === b.html ? a.html : diffPart(a, b, budget);
    if (changed === undefined) {
      marked('deleted', [a]);
      marked('inserted', [b]);
    } else {
      seen.kept++;
      parts.push(changed + a.tail);
    }
  };
  for (const { same, old, new: now } of align(before.content.units, after.content.units, budget)) {
    if (same) {
      old.forEach((unit, i) => {
        pairOf(unit, now[i] ?? unit);
      });
      continue;
    }
    for (const { gone, come, pair } of stretches(old, now, budget)) {
      marked('deleted', gone);
      marked('inserted', come);
      if (pair) pairOf(...pair);
    }
  }
  // With nothing of the other side in it, the structure itself would pass for a new one, or for one that is gone.
  if (seen.kept === 0 && (seen.inserted === 0 || seen.deleted === 0)) return undefined;
  return parts.includes(undefined) ? undefined : parts.join('');
}

function diffPart(a: HtmlUnit, b: HtmlUnit, budget: Budget): string | undefined {
  return a.element && b.element && diffElement(a.element, b.element, budget);
}

/** A part of a structure, marked, with the white space after it; undefined for what is none. */
function markPart({ element, tail }: HtmlUnit, mark: Mark): string | undefined {
  if (!element) return undefined;
  const { name, open, close, content } = element;
  if (CELLS.has(name)) return open + span(mark, content.head + htmlOf(content.units)) + close + tail;
  if (!GROUPS.has(name) || content.units.length === 0) return undefined;
  const parts = content.units.map((unit) => markPart(unit, mark));
  return parts.includes(undefined) ? undefined : open + content.head + parts.join('') + close + tail;
}
