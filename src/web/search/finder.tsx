import type { ReactNode, RefObject } from 'react';
import { SuggestionList } from '../type-ahead/suggestion-list.tsx';
import type { Listbox } from '../type-ahead/use-listbox.ts';
import './search.css';

interface Props {
  /** What the field is for. */
  readonly label: string;
  readonly placeholder: string;
  readonly field: RefObject<HTMLInputElement | null>;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly list: Listbox;
  /** Another caret, or Enter where nothing in the list is marked. */
  readonly onCaret?: () => void;
  readonly onEnter: () => void;
  /** What is said below. */
  readonly children: ReactNode;
}

/** A field with all of what may be meant below it: arrows mark, Enter takes, and the focus stays in the field. */
export function Finder({ label, placeholder, field, text, onText, list, onCaret, onEnter, children }: Props) {
  return (
    <form
      className="finder"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onEnter();
      }}
    >
      <input
        className="input"
        ref={field}
        data-autofocus
        aria-label={label}
        placeholder={placeholder}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        enterKeyHint="search"
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
        onSelect={onCaret}
        // Escape closes the dialog, list and all.
        onKeyDown={(event) => event.key !== 'Escape' && list.onKey(event)}
        {...list.fieldProps}
        role="combobox"
        aria-expanded={list.isOpen}
      />
      <SuggestionList list={list} label="Suggestions" />
      {children}
    </form>
  );
}
