import { type KeyboardEvent, useId, useState } from 'react';
import type { Option } from './options.ts';

export interface Listbox {
  readonly id: string;
  readonly options: readonly Option[];
  readonly isOpen: boolean;
  /** Which is marked: the first, until somebody goes on. -1 where none is. */
  readonly active: number;
  readonly optionId: (index: number) => string;
  readonly choose: (option: Option) => void;
  /** @returns Whether the key was for the list. */
  readonly onKey: (event: KeyboardEvent) => boolean;
  /** What the field needs to be a combobox while the list is open. */
  readonly fieldProps: Readonly<Record<string, string | boolean | undefined>>;
}

interface Given {
  readonly options: readonly Option[];
  readonly choose: (option: Option) => void;
  readonly dismiss: () => void;
  /** Whether the first is marked from the start, so that Enter takes it. */
  readonly marksFirst: boolean;
}

/** The keys of a list that hangs on a field in which the focus stays: arrows, Enter, Tab, Escape. */
export function useListbox({ options, choose, dismiss, marksFirst }: Given): Listbox {
  const id = useId();
  const [marked, setMarked] = useState<{ readonly of: readonly Option[]; readonly index: number }>();
  const first = marksFirst ? 0 : -1;
  const active = marked?.of === options ? marked.index : first;
  const isOpen = options.length > 0;
  const optionId = (index: number) => `${id}-${index}`;
  const onKey = (event: KeyboardEvent): boolean => {
    if (!isOpen || event.nativeEvent.isComposing || event.altKey || event.ctrlKey || event.metaKey) return false;
    const step = STEPS[event.key];
    const chosen = options[active];
    // Whoever writes on has not chosen.
    if (event.key.length === 1) setMarked(undefined);
    if (step !== undefined) setMarked({ of: options, index: nextOf(active, step, options.length) });
    else if ((event.key === 'Enter' || event.key === 'Tab') && !event.shiftKey && chosen !== undefined) choose(chosen);
    else if (event.key === 'Escape') dismiss();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const fieldProps = isOpen
    ? {
        role: 'combobox',
        'aria-expanded': true,
        'aria-controls': id,
        'aria-activedescendant': active < 0 ? undefined : optionId(active),
      }
    : {};
  return { id, options, isOpen, active, optionId, choose, onKey, fieldProps };
}

/** The one after, or before, and round again; of none the first, or the last. */
const nextOf = (active: number, step: number, count: number): number =>
  (Math.max(active, step > 0 ? -1 : 0) + step + count) % count;

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
