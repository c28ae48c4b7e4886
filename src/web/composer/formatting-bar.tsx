import { memo, type RefObject } from 'react';
import type { IconName } from '../ui/icons.tsx';
import { type Tool, Toolbar } from '../ui/toolbar.tsx';
import { FORMAT_KEYS, type Format, format } from './formatting.ts';

const FORMATS = [
  ['bold', 'Bold', 'bold'],
  ['italic', 'Italic', 'italic'],
  ['strike', 'Strikethrough', 'strike'],
  ['code', 'Code', 'code'],
  ['link', 'Link', 'link'],
  ['quote', 'Quote', 'quote'],
  ['list', 'List', 'list'],
  ['spoiler', 'Spoiler', 'spoiler'],
  ['math', 'Formula', 'math'],
] as const satisfies readonly (readonly [Format, string, IconName])[];

interface Props {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  /** Whether the field is not there to be written in. */
  readonly isIdle?: boolean;
  /** What else there is for what is written. The same list, or the bar is drawn with each key stroke. */
  readonly more?: readonly Tool[];
}

const NOTHING: readonly Tool[] = [];

/** Formats what is selected in a field. */
export const FormattingBar = memo(({ field, isIdle = false, more = NOTHING }: Props) => {
  const tools = FORMATS.map(
    ([kind, label, icon]): Tool => ({
      label,
      icon,
      keys: FORMAT_KEYS[kind],
      isDisabled: isIdle,
      onPress: () => field.current !== null && format(field.current, kind),
    }),
  );
  return <Toolbar label="Formatting" tools={[...tools, ...more]} />;
});
