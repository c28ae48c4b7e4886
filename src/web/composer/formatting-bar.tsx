import { memo, type RefObject } from 'react';
import { createSwitch } from '../base/remembered.ts';
import { useStore } from '../base/store.ts';
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
  /** Whether the buttons are disabled, because the text field cannot be edited at present. */
  readonly isIdle?: boolean;
  /** Further tools. Must be the same array object in each render. Otherwise each keystroke renders the bar. */
  readonly more?: readonly Tool[];
}

const NOTHING: readonly Tool[] = [];

/** Whether the format buttons are shown. */
const areFormatsShown = createSwitch('formatting shown');

/**
 * Toolbar of a field. Its first button shows and hides a line of buttons that format the selection. The choice applies to all
 * fields, and the device remembers it.
 */
export const FormattingBar = memo(({ field, isIdle = false, more = NOTHING }: Props) => {
  const isOpen = useStore(areFormatsShown);
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
  const fold: Tool = {
    label: 'Format',
    icon: 'format',
    isExpanded: isOpen,
    isDisabled: isIdle,
    keepsFocus: true,
    onPress: () => areFormatsShown.set(!isOpen),
  };
  return (
    <>
      {isOpen && <Toolbar label="Formatting" className="formatting-line" tools={formats} />}
      <Toolbar label="Tools" tools={[fold, ...more]} />
    </>
  );
});
