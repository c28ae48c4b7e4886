import { useEffect, useRef } from 'react';
import { Icon } from '../ui/icons.tsx';
import { Avatar } from '../ui/person.tsx';
import type { Option } from './options.ts';
import './type-ahead.css';
import type { Listbox } from './use-listbox.ts';

/** List of suggestions for a text field, shown above or below the field. */
export function SuggestionList({ list, label }: { readonly list: Listbox; readonly label: string }) {
  const element = useRef<HTMLDivElement>(null);
  const { active, isOpen } = list;
  useEffect(() => {
    if (isOpen) element.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active, isOpen]);
  if (!isOpen) return null;
  return (
    <div className="suggestions" role="listbox" id={list.id} aria-label={label} ref={element}>
      {list.options.map((option, i) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and references the marked option.
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
        <div
          key={option.key}
          className="suggestion"
          role="option"
          id={list.optionId(i)}
          aria-selected={i === active}
          // Otherwise a press on the suggestion would take the focus and the caret from the field.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => list.choose(option)}
        >
          <Picture option={option} />
          <span className="suggestion-name">{option.label}</span>
          {option.detail !== undefined && <span className="suggestion-detail">{option.detail}</span>}
        </div>
      ))}
    </div>
  );
}

function Picture({ option: { glyph, imageUrl, person, icon } }: { readonly option: Option }) {
  if (person !== undefined) return <Avatar person={person} size={20} />;
  if (imageUrl !== undefined) return <img className="avatar" src={imageUrl} alt="" width={20} height={20} />;
  if (glyph !== undefined) return <span aria-hidden="true">{glyph}</span>;
  return icon === undefined ? null : <Icon name={icon} size={16} />;
}
