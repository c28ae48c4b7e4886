import { type KeyboardEvent, useId, useState } from 'react';
import { isForInputMethod } from '../keyboard/input-method.ts';
import type { Option } from './options.ts';

export interface Listbox {
  readonly id: string;
  readonly options: readonly Option[];
  readonly isOpen: boolean;
  /** Index of the marked option; -1 if none is marked. */
  readonly active: number;
  readonly optionId: (index: number) => string;
  readonly choose: (option: Option) => void;
  /** Handles a key that the user has pressed in the field. @returns Whether the key was for the list. */
  readonly onKey: (event: KeyboardEvent) => boolean;
  /** Attributes that make the field a combobox while the list is open. */
  readonly fieldProps: Readonly<Record<string, string | boolean | undefined>>;
}

interface Given {
  readonly options: readonly Option[];
  readonly choose: (option: Option) => void;
  readonly dismiss: () => void;
  /** Whether the first option is marked initially, so that Enter chooses it. */
  readonly marksFirst: boolean;
}

/**
 * Handles the keys of a list of options while the focus stays in its text field. Arrows mark an option, Enter and Tab choose
 * it, and Escape closes the list.
 */
export function useListbox({ options, choose, dismiss, marksFirst }: Given): Listbox {
  const id = useId();
  const [marked, setMarked] = useState<{ readonly of: readonly Option[]; readonly index: number }>();
  const first = marksFirst ? 0 : -1;
  const active = marked?.of === options ? marked.index : first;
  const isOpen = options.length > 0;
  const optionId = (index: number) => `${id}-${index}`;
  const onKey = (event: KeyboardEvent): boolean => {
    if (!isOpen || isForInputMethod(event.nativeEvent) || event.altKey || event.ctrlKey || event.metaKey) return false;
    const step = STEPS[event.key];
    const chosen = options[active];
    // A typed character unmarks the option, because the user continues to type.
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

/** Returns the next or previous index, with wraparound. If no option is marked, returns the first or the last one. */
const nextOf = (active: number, step: number, count: number): number =>
  (Math.max(active, step > 0 ? -1 : 0) + step + count) % count;

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
