/**
 * Replaces a range of a field as if the user had typed: listeners receive the input event, and the user can undo it.
 *
 * @param caret Selection afterwards, as offsets from `start`; by default after the text.
 */
export function replaceRange(
  field: HTMLTextAreaElement | HTMLInputElement,
  start: number,
  end: number,
  text: string,
  caret: readonly [from: number, to: number] = [text.length, text.length],
): void {
  field.focus();
  field.setSelectionRange(start, end);
  // `execCommand` is deprecated, but it is the only way to keep the browser's undo history.
  const isDone = text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text);
  if (!isDone && field.value.slice(start, start + text.length) !== text) {
    field.setRangeText(text, start, end, 'end');
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  }
  field.setSelectionRange(start + caret[0], start + caret[1]);
}

/** Replaces the selection of a field. */
export const insert = (field: HTMLTextAreaElement, text: string): void =>
  replaceRange(field, field.selectionStart, field.selectionEnd, text);
