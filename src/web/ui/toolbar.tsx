import { type KeyboardEvent, useState } from 'react';
import { IconButton } from './button.tsx';
import type { IconName } from './icons.tsx';
import './toolbar.css';

export interface Tool {
  readonly label: string;
  readonly icon: IconName;
  /** The keys that do the same. */
  readonly keys?: string | undefined;
  /** Of one that is on or off. */
  readonly isPressed?: boolean;
  readonly isDisabled?: boolean;
  readonly hasMenu?: boolean;
  /** Of one that shows others behind it, or not. */
  readonly isExpanded?: boolean;
  /** Whether the focus stays in the field when it is pressed, and with it the keyboard of a phone. */
  readonly keepsFocus?: boolean;
  /** @param button Which was pressed: what it opens stands beside it. */
  readonly onPress: (button: HTMLButtonElement) => void;
}

interface Props {
  readonly label: string;
  readonly tools: readonly Tool[];
  readonly className?: string;
}

/** Buttons that are one stop of the Tab key: arrows go through them. */
export function Toolbar({ label, tools, className = '' }: Props) {
  const [stop, setStop] = useState(0);
  const stopAt = canPress(tools[stop]) ? stop : tools.findIndex(canPress);
  return (
    <div className={`toolbar ${className}`} role="toolbar" aria-label={label} onKeyDown={goOn}>
      {tools.map((tool, i) => (
        <IconButton
          key={tool.label}
          icon={tool.icon}
          label={tool.label}
          title={tool.keys === undefined ? tool.label : `${tool.label} (${tool.keys})`}
          aria-keyshortcuts={tool.keys?.replace('Ctrl', 'Control')}
          aria-pressed={tool.isPressed}
          aria-haspopup={tool.hasMenu === true ? 'menu' : undefined}
          aria-expanded={tool.isExpanded}
          disabled={tool.isDisabled}
          tabIndex={i === stopAt ? 0 : -1}
          onFocus={() => setStop(i)}
          onMouseDown={(event) => tool.keepsFocus === true && event.preventDefault()}
          onClick={({ currentTarget }) => tool.onPress(currentTarget)}
        />
      ))}
    </div>
  );
}

const canPress = (tool: Tool | undefined): boolean => tool !== undefined && tool.isDisabled !== true;

const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };

function goOn(event: KeyboardEvent<HTMLElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('button:not(:disabled)')];
  const here = buttons.indexOf(document.activeElement as HTMLElement);
  const step = STEPS[event.key];
  const next =
    step !== undefined
      ? buttons.at((here + step) % buttons.length)
      : ({ Home: buttons[0], End: buttons.at(-1) } as Record<string, HTMLElement | undefined>)[event.key];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
