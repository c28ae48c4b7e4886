import { type KeyboardEvent, type MouseEvent, useLayoutEffect, useRef, useState } from 'react';
import { Icon } from './icons.tsx';
import { placeBeside } from './popup.tsx';
import { useIsCoarse } from './screen.ts';
import './select.css';

/** Value of an option, and its name. */
export type SelectOption<T extends string> = readonly [value: T, name: string];

export interface SelectProps<T extends string> {
  readonly id: string;
  /** ID of the element with the label of the control. */
  readonly labelId: string;
  /** Values with their names, in display order. */
  readonly options: readonly SelectOption<T>[];
  /** The current value. If undefined, the control keeps its value itself and begins with the first option. */
  readonly value?: T;
  readonly onChoose?: ((value: T) => void) | undefined;
  readonly disabled?: boolean | undefined;
  /** Name of the value in the data of the form. */
  readonly name?: string | undefined;
  readonly describedBy?: string | undefined;
  /** Whether the control has the focus when its dialog opens. */
  readonly 'data-autofocus'?: boolean | undefined;
}

/** Lists with more options than this have a field that filters them. */
const MAX_UNFILTERED = 14;
/** Number of options that Page Up and Page Down move by. */
const PAGE = 10;
/** Pause in milliseconds after which a typed character begins a new word. */
const WORD_PAUSE_MS = 700;

/**
 * Field with a fixed set of values, as a button with a list of options. On touch screens it is a native select box, for which
 * phones show their own list.
 */
export function Select<T extends string>(props: SelectProps<T>) {
  const { options, value, onChoose } = props;
  const isCoarse = useIsCoarse();
  const [own, setOwn] = useState(options[0]?.[0]);
  const choose = (next: T) => {
    setOwn(next);
    onChoose?.(next);
  };
  const control = { ...props, value: value ?? own, choose };
  return isCoarse ? <NativeSelect {...control} /> : <ListSelect {...control} />;
}

interface ControlProps<T extends string> extends Omit<SelectProps<T>, 'value' | 'onChoose'> {
  readonly value: T | undefined;
  readonly choose: (value: T) => void;
}

function NativeSelect<T extends string>({ id, name, value, options, disabled, choose, ...rest }: ControlProps<T>) {
  return (
    <select
      className="input"
      id={id}
      name={name}
      value={value}
      disabled={disabled}
      aria-labelledby={rest.labelId}
      aria-describedby={rest.describedBy}
      data-autofocus={rest['data-autofocus']}
      onChange={({ currentTarget: { selectedIndex } }) => {
        const chosen = options[selectedIndex];
        if (chosen !== undefined) choose(chosen[0]);
      }}
    >
      {options.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  );
}

/**
 * The state and the keys of a list of options. The button has the focus while the list is open, or the field that filters a long
 * list. Arrow keys, Home, End, Page Up, Page Down and the first letters of a name mark an option. Enter, Tab and the space bar
 * choose it, and Escape closes the list.
 */
function useList<T extends string>({ options, value, choose }: ControlProps<T>) {
  const button = useRef<HTMLButtonElement>(null);
  const popup = useRef<HTMLDivElement>(null);
  const typed = useRef({ word: '', at: 0 });
  const [isOpen, setOpen] = useState(false);
  const [filter, setFilter] = useState('');
  const [active, setActive] = useState(0);
  const isLong = options.length > MAX_UNFILTERED;
  const shown = isOpen ? options.filter(([, text]) => isMatch(text, filter)) : [];
  const marked = Math.min(active, shown.length - 1);
  const chosen = options.findIndex(([one]) => one === value);
  /** Called before the list is opened or closed, even if the browser does this by itself. */
  const onBeforeToggle = ({ newState }: { readonly newState: string }) => {
    setOpen(newState === 'open');
    setFilter('');
    setActive(Math.max(0, chosen));
  };
  const filterBy = (text: string) => {
    setFilter(text);
    setActive(0);
  };
  const open = () => !isOpen && popup.current?.showPopover();
  const close = () => {
    popup.current?.hidePopover();
    button.current?.focus();
  };
  const take = (option: SelectOption<T> | undefined) => {
    close();
    if (option !== undefined && option[0] !== value) choose(option[0]);
  };
  /** Marks the next option whose name begins with the letters that were typed. */
  const type = ({ key, timeStamp }: KeyboardEvent) => {
    const { word, at } = typed.current;
    const next = timeStamp - at > WORD_PAUSE_MS ? key : word + key;
    typed.current = { word: next, at: timeStamp };
    open();
    const found = indexByPrefix(options, next, isOpen ? marked : chosen);
    if (found >= 0) setActive(found);
  };
  // `popoverTarget` only keeps the browser from closing the list before the click. If the browser opened the list too, the list
  // would be rendered before it is visible, when it has no size and nothing in it can be focused.
  const onClick = (event: MouseEvent) => {
    event.preventDefault();
    if (isOpen) close();
    else open();
  };
  const actions: Readonly<Record<Action, (event: KeyboardEvent) => void>> = {
    open,
    close,
    choose: () => take(shown[marked]),
    type,
    filter: ({ key }) => {
      open();
      filterBy(key);
    },
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = isOpen ? indexAfter(event.key, marked, shown.length, isLong) : undefined;
    const action = actionOf(event, isOpen, isLong);
    if (next !== undefined) setActive(next);
    else if (action === undefined) return;
    else actions[action](event);
    // Tab also moves the focus.
    if (event.key !== 'Tab') event.preventDefault();
    event.stopPropagation();
  };
  return {
    button,
    popup,
    isOpen,
    isLong,
    filter,
    filterBy,
    shown,
    marked,
    setActive,
    take,
    onClick,
    onKeyDown,
    onBeforeToggle,
  };
}

/** A button that shows the current value, and opens a list of the options. */
function ListSelect<T extends string>(control: ControlProps<T>) {
  const { id, labelId, name, value, options, disabled, describedBy } = control;
  const list = useList(control);
  const { button, popup, isOpen, marked } = list;
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (!isOpen || popup.current === null || button.current === null) return undefined;
    field.current?.focus({ preventScroll: true });
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
    return follow(popup.current, button.current);
  }, [isOpen, popup, button]);
  const combobox = {
    role: 'combobox',
    'aria-haspopup': 'listbox',
    'aria-expanded': isOpen,
    'aria-controls': `${id}-list`,
    'aria-activedescendant': marked < 0 ? undefined : `${id}-${marked}`,
  } as const;
  return (
    <div className="select">
      {name !== undefined && <input type="hidden" name={name} value={value ?? ''} disabled={disabled} />}
      <button
        type="button"
        className="input select-button"
        id={id}
        ref={button}
        disabled={disabled}
        popoverTarget={`${id}-popup`}
        {...combobox}
        aria-labelledby={labelId}
        aria-describedby={describedBy}
        data-autofocus={control['data-autofocus']}
        onClick={list.onClick}
        onKeyDown={list.onKeyDown}
        // Some browsers click the button when the space bar is released.
        onKeyUp={(event) => event.key === ' ' && event.preventDefault()}
      >
        <span dir="auto">{options.find(([one]) => one === value)?.[1] ?? ''}</span>
        <Icon name="open" size={12} />
      </button>
      <div className="select-popup" id={`${id}-popup`} ref={popup} popover="auto" onBeforeToggle={list.onBeforeToggle}>
        {isOpen && list.isLong && (
          <input
            className="input"
            type="text"
            aria-label="Filter"
            aria-describedby={labelId}
            placeholder="Type to filter"
            autoComplete="off"
            spellCheck={false}
            {...combobox}
            aria-autocomplete="list"
            ref={field}
            value={list.filter}
            onChange={({ currentTarget: { value: text } }) => list.filterBy(text)}
            onKeyDown={list.onKeyDown}
          />
        )}
        <div className="select-list" role="listbox" id={`${id}-list`} aria-labelledby={labelId}>
          {list.shown.map((option, i) => (
            <Option
              key={option[0]}
              id={`${id}-${i}`}
              name={option[1]}
              isChosen={option[0] === value}
              isMarked={i === marked}
              onMark={() => list.setActive(i)}
              onChoose={() => list.take(option)}
            />
          ))}
        </div>
        {isOpen && list.shown.length === 0 && <p className="select-none">No matches.</p>}
      </div>
    </div>
  );
}

interface OptionProps {
  readonly id: string;
  readonly name: string;
  /** Whether the option is the current value. */
  readonly isChosen: boolean;
  /** Whether Enter chooses the option. */
  readonly isMarked: boolean;
  readonly onMark: () => void;
  readonly onChoose: () => void;
}

function Option({ id, name, isChosen, isMarked, onMark, onChoose }: OptionProps) {
  const option = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (isMarked) option.current?.scrollIntoView({ block: 'nearest' });
  }, [isMarked]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the control that has the focus handles the keys.
    <div
      className="select-option"
      role="option"
      tabIndex={-1}
      id={id}
      ref={option}
      aria-selected={isChosen}
      data-marked={isMarked}
      // The focus stays in the control.
      onMouseDown={(event) => event.preventDefault()}
      onMouseMove={onMark}
      onClick={onChoose}
    >
      <span dir="auto">{name}</span>
      {isChosen && <Icon name="check" size={16} />}
    </div>
  );
}

type Action = 'open' | 'close' | 'choose' | 'type' | 'filter';

/** Returns the effect of a key that does not move through the options. Undefined if it has none. */
function actionOf(event: KeyboardEvent, isOpen: boolean, isLong: boolean): Action | undefined {
  const { key } = event;
  if (event.ctrlKey || event.metaKey || event.nativeEvent.isComposing) return undefined;
  const isText = key.length === 1 && !event.altKey;
  if (!isOpen && OPENING.has(key)) return 'open';
  if (!isOpen && !isText) return undefined;
  if (!isOpen) return isLong ? 'filter' : 'type';
  if (key === 'Escape') return 'close';
  if (key === 'Enter' || key === 'Tab' || (key === ' ' && !isLong)) return 'choose';
  return isText && !isLong ? 'type' : undefined;
}

/** Keys that open the list. */
const OPENING: ReadonlySet<string> = new Set(['ArrowDown', 'ArrowUp', 'Home', 'End', 'Enter', ' ']);

/** Returns the index of the option that a key moves to. Undefined for other keys, and for those that move in a text field. */
function indexAfter(key: string, from: number, count: number, hasField: boolean): number | undefined {
  const within = (index: number) => Math.max(0, Math.min(index, count - 1));
  if (key === 'ArrowDown') return within(from + 1);
  if (key === 'ArrowUp') return within(from - 1);
  if (key === 'PageDown') return within(from + PAGE);
  if (key === 'PageUp') return within(from - PAGE);
  if (hasField) return undefined;
  if (key === 'Home') return 0;
  return key === 'End' ? within(count) : undefined;
}

const folded = (text: string): string => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();

/** Returns whether a name contains all words of a filter, whatever their case and accents. */
function isMatch(name: string, filter: string): boolean {
  const text = folded(name);
  return folded(filter)
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/**
 * Returns the index of the next option whose name begins with a text; -1 if none does. A repeated letter moves through the
 * options that begin with the letter.
 */
function indexByPrefix(options: readonly SelectOption<string>[], text: string, from: number): number {
  const isRepeated = new Set(text).size === 1;
  const prefix = folded(isRepeated ? text.slice(0, 1) : text);
  const first = isRepeated ? from + 1 : Math.max(0, from);
  const order = options.map((_, i) => (first + i) % options.length);
  return order.find((index) => folded(options[index]?.[1] ?? '').startsWith(prefix)) ?? -1;
}

/** Keeps a list below or above its button when either is moved or resized. @returns A function that stops this. */
function follow(popup: HTMLElement, button: HTMLElement): () => void {
  const put = () => {
    popup.style.setProperty('--select-width', `${button.offsetWidth}px`);
    placeBeside(popup, button, 'start');
  };
  put();
  const observer = new ResizeObserver(put);
  observer.observe(popup);
  const stop = new AbortController();
  addEventListener('scroll', put, { capture: true, passive: true, signal: stop.signal });
  addEventListener('resize', put, stop);
  return () => {
    observer.disconnect();
    stop.abort();
  };
}
