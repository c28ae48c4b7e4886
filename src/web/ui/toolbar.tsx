import { type KeyboardEvent, useState } from 'react';
import { IconButton } from './button.tsx';
import type { IconName } from './icons.tsx';
import './toolbar.css';

export interface Tool {
  readonly label: string;
  readonly icon: IconName;
  /** Keyboard shortcut of the tool. */
  readonly keys?: string | undefined;
  /** For tools that switch something on and off: whether the tool is on. */
  readonly isPressed?: boolean;
  readonly isDisabled?: boolean;
  readonly hasMenu?: boolean;
  /** For tools that show further tools: whether the further tools are visible. */
  readonly isExpanded?: boolean;
  /** Whether the text field keeps the focus when the tool is pressed, so that the on-screen keyboard of a phone stays open. */
  readonly keepsFocus?: boolean;
  /** Runs the tool. @param button The pressed button, beside which a popup can be opened. */
  readonly onPress: (button: HTMLButtonElement) => void;
}

interface Props {
  readonly label: string;
  readonly tools: readonly Tool[];
  readonly className?: string;
}

/** Row of buttons that together are one tab stop. Left and right arrows move the focus through the buttons. */
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
