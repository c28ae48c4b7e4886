/**
 * Replaces a range of the text in a field as if the user had typed. Event listeners receive an input event, and the user can
 * undo the change.
 *
 * @param caret New selection, as offsets from `start`. By default, the caret is placed after the inserted text.
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
