/**
 * Writes into a text as its reader would: what watches the field hears of it, and it can be undone like anything that was
 * typed.
 *
 * @param caret Where the selection is afterwards, counted from `start`; by default behind the text.
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
  // Deprecated, and the only way that keeps the browser's own undo.
  const isDone = text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, text);
  if (!isDone && field.value.slice(start, start + text.length) !== text) {
    field.setRangeText(text, start, end, 'end');
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  }
  field.setSelectionRange(start + caret[0], start + caret[1]);
}

/** Writes in the place of what is selected. */
export const insert = (field: HTMLTextAreaElement, text: string): void =>
  replaceRange(field, field.selectionStart, field.selectionEnd, text);
