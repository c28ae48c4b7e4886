import type { ReactNode, RefObject } from 'react';
import { SuggestionList } from '../type-ahead/suggestion-list.tsx';
import type { Listbox } from '../type-ahead/use-listbox.ts';
import './search.css';

interface Props {
  /** Accessible name of the field. */
  readonly label: string;
  readonly placeholder: string;
  readonly field: RefObject<HTMLInputElement | null>;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly list: Listbox;
  /** Called when the caret moves. */
  readonly onCaret?: () => void;
  /** Called for the Enter key if no suggestion is marked. */
  readonly onEnter: () => void;
  /** Content below the suggestions. */
  readonly children: ReactNode;
}

/** Text field with suggestions below it. Arrows mark a suggestion, and Enter takes it. The focus stays in the field. */
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
        // The list does not handle Escape: it closes the whole dialog, not only the list.
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
