import { useLayoutEffect, useRef, useState } from 'react';
import { termsIn } from '../routing/query.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { useListbox } from '../type-ahead/use-listbox.ts';
import { useOptions } from '../type-ahead/use-options.ts';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { replaceRange } from '../ui/write.ts';
import { Finder } from './finder.tsx';
import { optionsFor } from './search-options.ts';

/** Dialog for a search, with suggestions for its terms. */
export function SearchDialog({ initial }: { readonly initial: string }) {
  return (
    <Dialog title="Search messages" size="wide">
      <Line initial={initial} />
    </Dialog>
  );
}

function Line({ initial }: { readonly initial: string }) {
  const close = useClose();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(initial);
  const [caret, setCaret] = useState(initial.length);
  const terms = termsIn(text);
  // The term that contains the character before the caret. After a space, a new term begins.
  const term = terms.find(({ start, end }) => start < caret && caret <= end);
  const options = useOptions(JSON.stringify([text, term]), term?.value ?? '', (client) =>
    optionsFor(client, term, terms),
  );
  const look = () => setCaret(field.current?.selectionEnd ?? 0);
  const list = useListbox({
    options,
    choose: ({ insert }) => {
      if (field.current !== null) replaceRange(field.current, term?.start ?? caret, term?.end ?? caret, insert);
      look();
    },
    dismiss: close,
    marksFirst: false,
  });
  useLayoutEffect(() => field.current?.setSelectionRange(initial.length, initial.length), [initial]);
  const search = () => {
    close();
    const { name } = currentRoute();
    navigate(addressOf({ name: 'search', text: text.trim() }), { replace: name === 'search' });
  };
  return (
    <Finder
      label="Search messages"
      placeholder="Words, or channel:general is:starred…"
      field={field}
      text={text}
      onText={(next) => {
        setText(next);
        look();
      }}
      list={list}
      onCaret={look}
      onEnter={search}
    >
      <p className="finder-hint">
        <kbd className="key">Enter</kbd> to search, <kbd className="key">↓</kbd> to select a suggestion
      </p>
    </Finder>
  );
}
