import type { RefObject } from 'react';
import { Button } from './button.tsx';
import { copyText } from './copy.ts';
import { notify } from './notices.tsx';

interface Props {
  /** Word for the text, such as "link". */
  readonly of: string;
  readonly text: string;
  /** Field that shows the text. If the browser does not allow copying the text, the field is selected. */
  readonly field?: RefObject<HTMLInputElement | null>;
}

/** Button that copies a text to the clipboard. */
export function CopyButton({ of, text, field }: Props) {
  const copy = async () => {
    if (await copyText(text)) return notify(`The ${of} was copied.`);
    if (field === undefined) return notify(`Your browser did not allow copying the ${of}: ${text}`);
    field.current?.focus();
    field.current?.select();
    notify(`Your browser did not allow copying the ${of}. It is selected: copy it with the keyboard.`);
  };
  return <Button onClick={() => void copy()}>{`Copy ${of}`}</Button>;
}
