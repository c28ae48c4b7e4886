import { align, BUDGET_STEPS, type Budget, pairElements } from './alignment.ts';
import { type HtmlContent, type HtmlElement, type HtmlUnit, readHtml } from './html-units.ts';

type Mark = 'inserted' | 'deleted';

/** Elements that can contain only certain elements. Spans cannot be placed directly in them. */
const STRUCTURES = new Set('ul ol table thead tbody tr'.split(' '));
/** Names of the elements of lists and tables that contain text. */
const CELLS = new Set('li th td'.split(' '));
/**
 * Elements of tables that contain only cells or rows. They count as inserted or deleted if all of their cells are inserted or
 * deleted.
 */
const GROUPS = new Set('tr thead tbody'.split(' '));

/** Creates a budget for the work of several comparisons. It is enough for 4,000 ordinary edits. */
export const sharedBudget = (): Budget => ({ steps: 4 * BUDGET_STEPS });

/**
 * Returns the difference of two renderings of a message, as HTML. Inserted content is in spans of the class
 * `highlight_text_inserted`, deleted content in spans of the class `highlight_text_deleted`. Unchanged content occurs once.
 *
 * A span contains words or whole elements. Lists and tables cannot contain spans directly. In them, a new item or cell contains
 * one span around all of its content, and a new row or table part contains only new cells. The same holds for deleted items,
 * cells, rows and table parts.
 *
 * To get `before` from the difference, remove in this order:
 * 1. List items and cells that contain only one inserted span, and then rows and table parts that contain only such cells. Each
 * is removed with the white space after it.
 * 2. All other inserted spans with their content.
 * 3. The tags of the deleted spans, but not their content.
 *
 * To get `after`, swap inserted and deleted.
 *
 * @param before HTML that this renderer wrote. The same holds for `after`.
 * @param shared Budget for this comparison and later ones. The work of this comparison is subtracted from it.
 * @returns HTML as well formed as both inputs. The work is bounded for any inputs.
 */
export function htmlDiff(before: string, after: string, shared: Budget = sharedBudget()): string {
  if (before === after) return before;
  const steps = Math.min(BUDGET_STEPS, shared.steps);
  const own = { steps };
  const [old, now] = [readHtml(before), readHtml(after)];
  const out = new Output();
  if (old && now) diffContent(old, now, out, own);
  else out.edit(before, after);
  shared.steps -= steps - Math.max(0, own.steps);
  return out.html();
}

/** Collects the HTML of a difference. Adjacent changes are merged into one deletion and one insertion. */
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

  /**
   * Writes the pending changes. If the deleted and the inserted content end with the same white space, this white space is
   * written once, outside of the spans.
   */
  #flush(): void {
    const [removed, rest] = splitTail(this.#deleted);
    const [added, sameRest] = splitTail(this.#inserted);
    const shared = rest === sameRest;
    const [deleted, inserted] = shared ? [removed, added] : [this.#deleted, this.#inserted];
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
    for (const { removed, added, pair } of stretches(old, now, budget)) {
      out.edit(htmlOf(removed), htmlOf(added));
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
  readonly removed: readonly HtmlUnit[];
  readonly added: readonly HtmlUnit[];
  /** Old and new version of the element that follows these units. Undefined for the last stretch of a replaced section. */
  readonly pair?: readonly [ElementUnit, ElementUnit];
}

function* stretches(old: readonly HtmlUnit[], now: readonly HtmlUnit[], budget: Budget): Generator<Stretch> {
  let [i, j] = [0, 0];
  for (const [k, l] of pairElements(old, now, budget)) {
    const [a, b] = [old[k], now[l]];
    if (!isElement(a) || !isElement(b)) continue;
    yield { removed: old.slice(i, k), added: now.slice(j, l), pair: [a, b] };
    [i, j] = [k + 1, l + 1];
  }
  yield { removed: old.slice(i), added: now.slice(j) };
}

function isElement(unit: HtmlUnit | undefined): unit is ElementUnit {
  return unit?.element !== undefined;
}

/**
 * Returns the difference between two elements whose start tags are identical, as HTML.
 *
 * @returns Undefined if no difference within the element can show the change.
 */
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
  // A cell that was empty would look like a new cell. The empty span shows that the cell existed.
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
    for (const { removed, added, pair } of stretches(old, now, budget)) {
      marked('deleted', removed);
      marked('inserted', added);
      if (pair) pairOf(...pair);
    }
  }
  // If all parts are inserted, or all parts are deleted, the list or table itself would look inserted or deleted.
  if (seen.kept === 0 && (seen.inserted === 0 || seen.deleted === 0)) return undefined;
  return parts.includes(undefined) ? undefined : parts.join('');
}

function diffPart(a: HtmlUnit, b: HtmlUnit, budget: Budget): string | undefined {
  return a.element && b.element && diffElement(a.element, b.element, budget);
}

/**
 * Returns a part of a list or table marked as inserted or deleted, with the white space after it. Undefined if the unit is not
 * a list item, a cell, a row or another part of a list or table.
 */
function markPart({ element, tail }: HtmlUnit, mark: Mark): string | undefined {
  if (!element) return undefined;
  const { name, open, close, content } = element;
  if (CELLS.has(name)) return open + span(mark, content.head + htmlOf(content.units)) + close + tail;
  if (!GROUPS.has(name) || content.units.length === 0) return undefined;
  const parts = content.units.map((unit) => markPart(unit, mark));
  return parts.includes(undefined) ? undefined : open + content.head + parts.join('') + close + tail;
}
