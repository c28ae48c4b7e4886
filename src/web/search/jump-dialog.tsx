import { useRef, useState } from 'react';
import { navigate } from '../routing/router.tsx';
import { useListbox } from '../type-ahead/use-listbox.ts';
import { useOptions } from '../type-ahead/use-options.ts';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Finder } from './finder.tsx';
import { jumpOptions } from './jump-options.ts';

/** Dialog that navigates to a channel, a user or a view. */
export function JumpDialog() {
  return (
    <Dialog title="Jump to">
      <Places />
    </Dialog>
  );
}

function Places() {
  const close = useClose();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const options = useOptions(`to ${text}`, text.trim(), (client) => jumpOptions(client, text));
  const list = useListbox({
    options,
    choose: ({ insert }) => {
      close();
      navigate(insert);
    },
    dismiss: close,
    marksFirst: true,
  });
  return (
    <Finder
      label="Jump to"
      placeholder="A channel, a person or a view"
      field={field}
      text={text}
      onText={setText}
      list={list}
      onEnter={() => undefined}
    >
      <p className="finder-hint">
        <kbd className="key">↑</kbd> <kbd className="key">↓</kbd> to select, <kbd className="key">Enter</kbd> to open
      </p>
    </Finder>
  );
}
