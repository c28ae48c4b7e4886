import { type KeyboardEvent, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from 'react';
import { useClient } from 'urql';
import { useStore } from '../base/store.ts';
import { closePopup, openPopup } from '../ui/popup.tsx';
import './emoji.css';
import { isForInputMethod } from '../keyboard/input-method.ts';
import { CUSTOM, emojiGroups, inGroup, loadGroups, setTone, TONES, tone, withTone } from './emoji-groups.ts';
import { type Emoji, emojiTable, findEmoji, loadEmoji, noteUse, oftenUsed } from './emoji-table.ts';

/** Number of emoji per line. Must match `emoji.css`. */
const IN_LINE = 9;
/** Number of emoji shown at first. The same number is added each time the user scrolls near the end. */
const STEP = 20 * IN_LINE;

interface Props {
  readonly onChoose: (emoji: Emoji) => void;
  /** Whether a skin tone can be chosen. The service has none for reactions and statuses. */
  readonly hasTones?: boolean;
}

/** Opens a picker beside an element. Calls `onChoose` with the emoji that the user chooses. */
export function openEmojiPicker(
  anchor: Element,
  onChoose: (emoji: Emoji) => void,
  options: Pick<Props, 'hasTones'> = {},
): void {
  openPopup(anchor, <EmojiPicker onChoose={onChoose} {...options} />);
}

const RECENT = 'Recently used';

/**
 * A search field, the groups of emoji, and the emoji of a group or the results of the search: arrow keys move through them,
 * Enter chooses one.
 */
function EmojiPicker({ onChoose, hasTones = false }: Props) {
  const client = useClient();
  const [group, setGroup] = useState(RECENT);
  const groups = useStore(emojiGroups)?.groups;
  const chosenTone = useStore(tone);
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const [limit, setLimit] = useState(STEP);
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const all = useStore(emojiTable);
  const wanted = useDeferredValue(text);
  const found = useMemo(
    () =>
      choices(
        all,
        wanted,
        group,
        groups?.map(({ title }) => title),
      ),
    [all, wanted, group, groups],
  );
  const hasCustom = all.some(({ type, isActive }) => type === 'REALM_EMOJI' && isActive);
  useEffect(() => void loadEmoji(client), [client]);
  useEffect(() => void loadGroups().catch(() => undefined), []);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  });
  const choose = (emoji: Emoji | undefined) => {
    if (emoji === undefined) return;
    noteUse(emoji);
    closePopup();
    onChoose(toned(emoji));
  };
  const toned = (emoji: Emoji): Emoji =>
    hasTones && emoji.glyph !== undefined ? { ...emoji, glyph: withTone(emoji.glyph, emoji.code, chosenTone) } : emoji;
  const show = (title: string) => {
    setGroup(title);
    setText('');
    setActive(0);
    setLimit(STEP);
    list.current?.scrollTo(0, 0);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isForInputMethod(event.nativeEvent)) return;
    const step = STEPS[event.key];
    if (event.key === 'Enter') choose(found[active]);
    else if (step === undefined) return;
    else {
      const next = Math.max(0, Math.min(active + step, found.length - 1));
      setActive(next);
      if (next >= limit - IN_LINE) setLimit(limit + STEP);
    }
    event.preventDefault();
  };
  return (
    <div className="emoji-picker">
      <input
        className="input"
        type="text"
        role="combobox"
        aria-label="Search emoji"
        placeholder="Search emoji"
        aria-expanded="true"
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? `${id}-${active}` : undefined}
        autoComplete="off"
        data-autofocus
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
          setLimit(STEP);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="emoji-groups" role="toolbar" aria-label="Groups">
        {[
          { title: RECENT, glyph: '🕘' },
          ...(hasCustom ? [{ title: CUSTOM, glyph: '⭐' }] : []),
          ...(groups ?? []),
        ].map(({ title, glyph }) => (
          <button
            key={title}
            type="button"
            className="icon-button"
            aria-label={title}
            title={title}
            aria-pressed={text === '' && title === group}
            onClick={() => show(title)}
          >
            <span aria-hidden="true">{glyph}</span>
          </button>
        ))}
      </div>
      <div
        className="emoji-list"
        role="listbox"
        id={id}
        aria-label="Emoji"
        ref={list}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) =>
          scrollHeight - scrollTop < 2 * clientHeight &&
          setLimit((before) => Math.min(before + STEP, found.length + STEP))
        }
      >
        {found.slice(0, limit).map((emoji, i) => (
          <Choice
            key={emoji.type + emoji.code}
            emoji={toned(emoji)}
            id={`${id}-${i}`}
            isActive={i === active}
            onChoose={() => choose(emoji)}
          />
        ))}
      </div>
      <div className="emoji-foot">
        <p className="emoji-name" aria-hidden="true">
          {found[active] === undefined
            ? all.length === 0
              ? 'Loading…'
              : 'No emoji found'
            : `:${found[active].names[0]}:`}
        </p>
        {hasTones && (
          <div className="emoji-tones" role="toolbar" aria-label="Skin tone">
            {TONES.map((one, i) => (
              <button
                key={one}
                type="button"
                className="icon-button"
                aria-label={TONE_NAMES[i]}
                title={TONE_NAMES[i]}
                aria-pressed={one === chosenTone}
                onClick={() => setTone(one)}
              >
                <span aria-hidden="true">{withTone('✋', '270b', one)}</span>
              </button>
            ))}
          </div>
        )}
      </div>
    </div>
  );
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowLeft: -1,
  ArrowDown: IN_LINE,
  ArrowUp: -IN_LINE,
};

const TONE_NAMES = [
  'No skin tone',
  'Light skin tone',
  'Medium-light skin tone',
  'Medium skin tone',
  'Medium-dark skin tone',
  'Dark skin tone',
] as const;

/**
 * Returns the emoji to choose from.
 *
 * @param groups Titles of all groups. Undefined until they are loaded.
 */
function choices(
  all: readonly Emoji[],
  text: string,
  group: string,
  groups: readonly string[] | undefined,
): readonly Emoji[] {
  if (text.trim() !== '') return findEmoji(all, text);
  if (group !== RECENT) return inGroup(all, group);
  const often = oftenUsed(all);
  // The table itself is in the order of the codes.
  const ordered =
    groups === undefined ? findEmoji(all, '') : [CUSTOM, ...groups].flatMap((title) => inGroup(all, title));
  return [...often, ...ordered.filter((emoji) => !often.includes(emoji))];
}

interface ChoiceProps {
  readonly emoji: Emoji;
  readonly id: string;
  readonly isActive: boolean;
  readonly onChoose: (emoji: Emoji) => void;
}

function Choice({ emoji, id, isActive, onChoose }: ChoiceProps) {
  const name = emoji.names[0].replaceAll('_', ' ');
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field keeps the focus and handles the keys.
    // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus and references the active option.
    <div role="option" id={id} aria-selected={isActive} aria-label={name} title={name} onClick={() => onChoose(emoji)}>
      <EmojiShown {...emoji} />
    </div>
  );
}

/** The characters or the image of an emoji, hidden from screen readers. */
export function EmojiShown({ names: [name], glyph, imageUrl }: Pick<Emoji, 'names' | 'glyph' | 'imageUrl'>) {
  if (imageUrl !== undefined) return <img className="emoji-image" src={imageUrl} alt="" width={20} height={20} />;
  return <span aria-hidden="true">{glyph ?? `:${name}:`}</span>;
}
