import { type KeyboardEvent, useId, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { FindPeopleDocument, GroupNamesDocument } from '../generated/graphql.ts';
import { IconButton } from '../ui/button.tsx';
import { fitOf } from '../ui/name-words.ts';
import { nameOfGroup } from './group-names.ts';
import type { Named } from './named.ts';
import './people-picker.css';
import { isForInputMethod } from '../keyboard/input-method.ts';

interface Props {
  readonly label: string;
  readonly hint?: string;
  readonly initial?: readonly Named[];
  /** Whether groups can be chosen as well. */
  readonly withGroups?: boolean;
  /** Maximum number of chosen entries. A further choice replaces the last one. Default: unlimited. */
  readonly limit?: number;
  /** Whether the field has the focus when its dialog opens. */
  readonly isFirst?: boolean;
  readonly onChange: (chosen: readonly Named[]) => void;
}

const SHOWN = 8;

/**
 * Field in which the viewer chooses users, and optionally groups, by the beginning of their names. Arrows and Enter choose
 * an entry. Backspace in the empty field removes the last chosen entry.
 */
export function PeoplePicker({
  label,
  hint,
  initial = [],
  withGroups = false,
  limit = Number.POSITIVE_INFINITY,
  isFirst = false,
  onChange,
}: Props) {
  const [chosen, setChosen] = useState(initial);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const found = useFound(text, withGroups, chosen);
  const put = (next: readonly Named[]) => {
    setChosen(next);
    onChange(next);
  };
  const choose = (one: Named | undefined) => {
    if (one === undefined) return;
    put([...chosen.slice(0, limit - 1), one]);
    setText('');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isForInputMethod(event.nativeEvent)) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((found.length + at + step) % Math.max(found.length, 1));
    else if (event.key === 'Enter' && text !== '') choose(found[at]);
    else if (event.key === 'Escape' && text !== '') setText('');
    else if (event.key === 'Backspace' && text === '' && chosen.length > 0) return put(chosen.slice(0, -1));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="field picker">
      <label htmlFor={id}>{label}</label>
      <ul className="plain-list picker-chosen" aria-label={`${label}: chosen`}>
        {chosen.map((one) => (
          <li key={one.id} className="chip">
            <bdi>{one.fullName}</bdi>
            <IconButton
              icon="close"
              label={`Remove ${one.fullName}`}
              onClick={() => put(chosen.filter((other) => other.id !== one.id))}
            />
          </li>
        ))}
      </ul>
      <input
        id={id}
        className="input"
        data-autofocus={isFirst || undefined}
        dir="auto"
        role="combobox"
        autoComplete="off"
        placeholder="Type a name"
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="picker-found" id={`${id}-list`} role="listbox" aria-label={label} hidden={found.length === 0}>
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field keeps the focus and handles the keys.
          <div
            key={one.id}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(one)}
          >
            <bdi>{one.fullName}</bdi>
            {one.isGroup === true && <span className="soft"> group</span>}
          </div>
        ))}
      </div>
      {hint !== undefined && hint !== '' && <small className="field-hint">{hint}</small>}
    </div>
  );
}

function useFound(text: string, withGroups: boolean, chosen: readonly Named[]): readonly Named[] {
  const { data } = useData(
    FindPeopleDocument,
    { text: text.trim(), kinds: withGroups ? ['USER', 'USER_GROUP'] : ['USER'] },
    { pause: text.trim() === '' },
  );
  // The service searches role groups by their internal names. The page displays other names, so it matches those itself.
  const { data: named } = useData(GroupNamesDocument, {}, { pause: !withGroups });
  if (text.trim() === '') return [];
  const byRole = (withGroups ? (named?.userGroups?.nodes ?? []) : [])
    .filter((group) => group.isRoleGroup && fitOf(nameOfGroup(group), text) !== undefined)
    .map((group): Named => ({ id: group.id, fullName: nameOfGroup(group), isGroup: true }));
  const all = data?.suggestions?.flatMap((one): Named[] => {
    if (one.__typename === 'User') return [{ id: one.id, fullName: one.fullName }];
    if (one.__typename === 'UserGroup') return [{ id: one.id, fullName: nameOfGroup(one), isGroup: true }];
    return [];
  });
  const found = new Map([...(all ?? []), ...byRole].map((one) => [one.id, one]));
  return [...found.values()].filter(({ id }) => !chosen.some((one) => one.id === id)).slice(0, SHOWN);
}
