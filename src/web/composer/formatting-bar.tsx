import { memo, type RefObject, useState } from 'react';
import type { IconName } from '../ui/icons.tsx';
import { useIsNarrow } from '../ui/screen.ts';
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
  /** Whether the buttons are disabled, because the text field cannot be edited at present. */
  readonly isIdle?: boolean;
  /** Further tools. Must be the same array object in each render. Otherwise each keystroke renders the bar. */
  readonly more?: readonly Tool[];
}

const NOTHING: readonly Tool[] = [];

/**
 * Toolbar that formats the selection of a field. On narrow screens, the format buttons are on a line of their own, which a
 * button shows and hides.
 */
export const FormattingBar = memo(({ field, isIdle = false, more = NOTHING }: Props) => {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  const formats = FORMATS.map(
    ([kind, label, icon]): Tool => ({
      label,
      icon,
      keys: FORMAT_KEYS[kind],
      isDisabled: isIdle,
      keepsFocus: true,
      onPress: () => field.current !== null && format(field.current, kind),
    }),
  );
  if (!isNarrow) return <Toolbar label="Formatting" tools={[...formats, ...more]} />;
  const fold: Tool = {
    label: 'Format',
    icon: 'format',
    isExpanded: isOpen,
    isDisabled: isIdle,
    keepsFocus: true,
    onPress: () => setOpen(!isOpen),
  };
  return (
    <>
      {isOpen && <Toolbar label="Formatting" className="formatting-line" tools={formats} />}
      <Toolbar label="Tools" tools={[...more, fold]} />
    </>
  );
});
