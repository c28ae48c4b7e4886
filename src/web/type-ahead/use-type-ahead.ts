import { type RefObject, useRef, useState } from 'react';
import { isForInputMethod } from '../keyboard/input-method.ts';
import { replaceRange } from '../ui/write.ts';
import { type Option, optionsFor } from './options.ts';
import { isSameToken, type Token, tokenAt } from './token.ts';
import { type Listbox, useListbox } from './use-listbox.ts';
import { useOptions } from './use-options.ts';

export interface TypeAhead extends Listbox {
  /** Updates the suggestions for the name before the caret. Must be called when the text or the caret changes. */
  readonly look: () => void;
}

/**
 * Suggests completions of the name before the caret: users and groups after "@", channels after "#", topics of a channel after
 * ">", emoji after ":". The user can ignore the suggestions and keep typing.
 */
export function useTypeAhead(field: RefObject<HTMLTextAreaElement | null>, isChannel: boolean): TypeAhead {
  const [token, setToken] = useState<Token>();
  const dismissed = useRef<Token>(undefined);
  /** Offset in the text after the space that was just inserted together with a name; otherwise -1. */
  const spaceAt = useRef(-1);
  const key = token === undefined ? undefined : `${token.kind} ${token.channelName ?? ''} ${token.text}`;
  const options = useOptions(key, token?.text ?? '', async (client) =>
    token === undefined ? [] : optionsFor(client, token, { isChannel }),
  );
  const look = () => {
    const element = field.current;
    if (element === null) return;
    const { value, selectionStart, selectionEnd } = element;
    const found = selectionStart === selectionEnd ? tokenAt(value.slice(0, selectionStart)) : undefined;
    // If the user has closed the list, it stays closed until the next name.
    const isDismissed =
      found !== undefined && dismissed.current?.start === found.start && dismissed.current.kind === found.kind;
    if (!isDismissed) dismissed.current = undefined;
    const next = isDismissed ? undefined : found;
    setToken((before) => (isSameToken(before, next) ? before : next));
  };
  const write = (text: string) => {
    const element = field.current;
    if (element === null || token === undefined) return;
    replaceRange(element, token.start, element.selectionEnd, text);
    spaceAt.current = text.endsWith(' ') ? token.start + text.length : -1;
    look();
  };
  const list = useListbox({
    options,
    choose: ({ insert }: Option) => write(insert),
    dismiss: () => {
      dismissed.current = token;
      setToken(undefined);
    },
    marksFirst: true,
  });
  const onKey: Listbox['onKey'] = (event) => {
    if (isForInputMethod(event.nativeEvent)) return false;
    if (event.key === ' ' && field.current?.selectionEnd === spaceAt.current) {
      // A space typed after an inserted name is dropped, because a space was inserted with the name.
      spaceAt.current = -1;
      event.preventDefault();
      return true;
    }
    spaceAt.current = -1;
    const channel = event.key === '>' && token?.kind === 'channel' ? list.options[list.active] : undefined;
    if (channel === undefined) return list.onKey(event);
    event.preventDefault();
    write(channel.insert.replace(/\*\* $/, '>'));
    return true;
  };
  return { ...list, onKey, look };
}
